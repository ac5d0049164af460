"""jit-in-loop (CMP411)

## What it does
Finds a jit that the function itself makes in a Python loop, of a new function
each time.

## Why is this bad?
Each turn makes another function, which JAX traces and compiles anew.

## Example
```python
import jax

def f(x):
    for scale in (1.0, 2.0):
        x = jax.jit(lambda v: v * scale)(x)
    return x
```
```yaml
composer: 1
function: m:f
args: {x: "f32[2]"}
stack:
  - vmap
```

## Use instead
The jit around the whole: as a layer.
```python
def f(x):
    for scale in (1.0, 2.0):
        x = x * scale
    return x
```
```yaml
composer: 1
function: m:f
args: {x: "f32[2]"}
stack:
  - vmap
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, rule, warning
from composer._view import StackView


@rule("jit-in-loop", "CMP411", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for fact in stack.facts.compiled if stack.facts is not None else ():
        if fact.what.endswith(" in a loop"):
            yield warning(
                f"{fact.what}: each turn makes a new function, which is traced and compiled anew",
                place=fact.place,
                cure="- jit     # as a layer around the whole; none in the function's loop",
            )
