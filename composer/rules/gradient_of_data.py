"""gradient-of-data (CMP229)

## What it does
Warns where a derivative that is given by position differentiates data while
another argument is called parameters.

## Why is this bad?
`argnums` counts positions. When an argument is put in front, the gradient is
with respect to another one, silently.

## Example
```python
import jax.numpy as jnp

def f(x, params):
    return jnp.mean((x @ params) ** 2)
```
```yaml
composer: 1
function: m:f
args: {x: "f32[4, 2]", params: "f32[2]"}
stack:
  - grad
```

## Use instead
The argument by name.
```yaml
composer: 1
function: m:f
args: {x: "f32[4, 2]", params: "f32[2]"}
stack:
  - grad: {argnums: params}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from composer._order import FIRST_ORDER
from composer._rule import Finding, Fix, rule, warning
from composer._view import StackView


@rule("gradient-of-data", "CMP229", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.layers:
        if view.word not in FIRST_ORDER:
            continue
        given = view.get("argnums")
        if not isinstance(given, int):
            continue
        names, order = view.names(given), view.signature.positional
        meant = [name for name in order if name in _PARAMETERS]
        if not names or not meant or names[0] in _PARAMETERS:
            continue
        yield warning(
            f"{view.word} differentiates {names[0]!r}, by its position {given}; is"
            f" {meant[0]!r} meant?",
            place=view.place,
            cure=f"argnums: {meant[0]}     # or argnums: {names[0]}, which says that it is meant",
            fix=Fix((view.set("argnums", meant[0]),)),
        )


_PARAMETERS: Final = frozenset(
    {"params", "parameters", "param", "weights", "theta", "variables", "model", "coefficients"}
)
