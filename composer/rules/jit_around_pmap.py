"""jit-around-pmap (CMP102)

## What it does
Finds a jit directly around a plain pmap.

## Why is this bad?
pmap compiles by itself. The jit around it changes no number; it skips the 20
to 50 microseconds of Python that a pmap call takes.

## Example
```python
def f(x):
    return x * x
```
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
stack:
  - pmap
  - jit
```

## Use instead
The pmap alone, unless those microseconds count.
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
stack:
  - pmap
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, Fix, info, rule
from composer._view import StackView


@rule("jit-around-pmap", "CMP102", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("jit"):
        below = view.inside[-1] if view.inside else None
        if below is not None and below.word == "pmap" and not below.get("split"):
            plain = not list(view.transform.items())
            yield info(
                "pmap compiles already; a jit around it only saves the overhead of a pmap call",
                place=view.place,
                cure="remove - jit, or leave it for the microseconds",
                fix=Fix((view.removed(),)) if plain else None,
            )
