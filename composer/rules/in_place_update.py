"""in-place-update (CMP505)

## What it does
Finds `x[0] = ...` on a traced argument.

## Why is this bad?
Arrays of JAX do not change. JAX raises a TypeError.

## Example
```python
def f(x):
    x[0] = 5.0
    return x
```
```yaml
composer: 1
function: m:f
args: {x: "f32[2]"}
stack:
  - jit
```

## Use instead
`.at[...].set(...)`, which gives a new array.
```python
def f(x):
    return x.at[0].set(5.0)
```
```yaml
composer: 1
function: m:f
args: {x: "f32[2]"}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, error, rule
from composer._shapes import traced_names
from composer._view import StackView


@rule("in-place-update", "CMP505", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None:
        return
    traced = traced_names(stack) or set()
    for fact in stack.facts.argument_writes:
        name, _, key = fact.what.partition("[")
        if name not in traced:
            continue
        shown = f"[{key}" if key else "[...]"
        yield error(
            f"{name}{shown} is assigned to, and arrays of JAX do not change",
            place=fact.place,
            cure=f"{name} = {name}.at{shown}.set(...)",
        )
