"""layer-without-effect (CMP101)

## What it does
Finds a layer that changes nothing where it stands.

## Why is this bad?
`checkpoint` says what the backward pass computes again. With no derivative
outside there is no backward pass, and no memory is saved.

## Example
```python
import jax.numpy as jnp

def f(x):
    return jnp.sin(x)
```
```yaml
composer: 1
function: m:f
args: {x: "f32[]"}
stack:
  - grad
  - checkpoint
  - jit
```

## Use instead
checkpoint inside the derivative.
```yaml
composer: 1
function: m:f
args: {x: "f32[]"}
stack:
  - checkpoint
  - grad
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, Fix, rule, warning
from composer._view import DERIVATIVES, StackView


@rule("layer-without-effect", "CMP101", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("checkpoint"):
        if view.outside.differentiates or view.outside.has("apply", "then") or stack.path:
            continue
        inner = view.inside.of(*DERIVATIVES)
        if not inner:
            continue
        first = inner[0]
        yield warning(
            f"checkpoint outside {first.title}: no derivative is taken outside it, so nothing is"
            " computed again and no memory is saved",
            place=view.place,
            cure=f"- checkpoint     # inside {first.word}",
            fix=Fix((view.removed(), first.insert_inside(view.layer.to_data()))),
        )
