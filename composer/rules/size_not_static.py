"""size-not-static (CMP404)

## What it does
Finds an argument that decides a shape, but is traced.

## Why is this bad?
A compiled program has fixed shapes. JAX raises a TypeError about concrete
values.

## Example
```python
import jax.numpy as jnp

def f(x, n):
    return x + jnp.zeros(n)
```
```yaml
composer: 1
function: m:f
args: {x: 1.0, n: 3}
stack:
  - jit
```

## Use instead
The argument in `static:`.
```yaml
composer: 1
function: m:f
args: {x: 1.0, n: 3}
static: [n]
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._change import Edit
from composer._rule import Finding, Fix, error, rule
from composer._shapes import traced_names
from composer._view import StackView


@rule("size-not-static", "CMP404", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None:
        return
    traced = traced_names(stack) or set()
    said: set[str] = set()
    for fact in stack.facts.sizes:
        if fact.what not in traced or fact.what in said:
            continue
        said.add(fact.what)
        yield error(
            f"{fact.what!r} decides a shape, but it is traced: a compiled program has fixed shapes",
            place=fact.place,
            cure=f"static: [{', '.join([*stack.static, fact.what])}]",
            fix=Fix((Edit("set", ("static",), [*stack.static, fact.what]),)),
        )
