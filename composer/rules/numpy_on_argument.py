"""numpy-on-argument (CMP504)

## What it does
Finds a NumPy function on a traced argument.

## Why is this bad?
NumPy needs values, and a traced argument has none. JAX raises a
TracerArrayConversionError.

## Example
```python
import numpy as np

def f(x):
    return np.sin(x)
```
```yaml
composer: 1
function: m:f
args: {x: 0.0}
stack:
  - jit
```

## Use instead
`jax.numpy`.
```python
import jax.numpy as jnp

def f(x):
    return jnp.sin(x)
```
```yaml
composer: 1
function: m:f
args: {x: 0.0}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, error, rule
from composer._shapes import traced_names
from composer._view import StackView


@rule("numpy-on-argument", "CMP504", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None:
        return
    traced = traced_names(stack) or set()
    for fact in stack.facts.numpy_calls:
        function, _, name = fact.what.partition(" on ")
        if name in traced:
            last = function.removeprefix("numpy.")
            yield error(
                f"{function} needs the value of {name!r}, which has none while JAX traces",
                place=fact.place,
                cure=f"jnp.{last}     # import jax.numpy as jnp",
            )
