"""grad-of-checkify (CMP104)

## What it does
Finds a derivative of a function that checkify made.

## Why is this bad?
checkify returns (error, value). A derivative needs one number and meets a
pair: JAX raises a TypeError that shows the whole error object.

## Example
```python
import jax.numpy as jnp
from jax.experimental import checkify

def f(x):
    checkify.check(x > 0, "x must be positive")
    return jnp.log(x)
```
```yaml
composer: 1
function: m:f
args: {x: "f32[]"}
stack:
  - checkify
  - grad
```

## Use instead
checkify outside the derivative.
```yaml
composer: 1
function: m:f
args: {x: "f32[]"}
stack:
  - grad
  - checkify
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, Fix, error, rule
from composer._view import StackView


@rule("grad-of-checkify", "CMP104", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("grad", "value_and_grad", "jacfwd", "jacrev", "hessian"):
        inner = view.inside.of("checkify")
        if not inner or view.inside.has("select", "then", "apply"):
            continue
        move = Fix((inner[-1].removed(), view.insert_outside(inner[-1].layer.to_data())))
        yield error(
            f"{view.word} differentiates the pair (error, value) that {inner[-1].title} returns",
            place=view.place,
            cure=f"- checkify     # outside {view.word}",
            fix=move,
        )
