"""donation-by-keyword (CMP407)

## What it does
Finds donation of a keyword-only argument in pmap.

## Why is this bad?
JAX's pmap donates by position only: the memory is kept, and nothing says so.
jit does donate keyword arguments.

## Example
```python
def f(x, *, state):
    return x + state
```
```yaml
composer: 1
function: m:f
args: {x: "f32[4]", state: "f32[4]"}
stack:
  - pmap: {donate_argnums: state}
```

## Use instead
The argument by position.
```python
def f(x, state):
    return x + state
```
```yaml
composer: 1
function: m:f
args: {x: "f32[4]", state: "f32[4]"}
stack:
  - pmap: {donate_argnums: state}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, error, rule
from composer._view import StackView


@rule("donation-by-keyword", "CMP407", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("pmap"):
        donated = view.get("donate_argnums")
        for name in view.names(donated) if donated else ():
            if name in view.signature.keyword_only:
                yield error(
                    f"pmap: {name!r} is passed by keyword only, and pmap donates by position only",
                    place=view.place,
                    cure=f"def {view.signature.title}(..., {name}): without the `*` before it",
                )
