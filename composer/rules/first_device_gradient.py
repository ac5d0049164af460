"""first-device-gradient (CMP316)

## What it does
Finds a gradient that differs between devices, of which one is handed out.

## Why is this bad?
Unsplit outputs come from one device. Without check_vma nobody proves that all
devices hold the same, and the gradient of the other devices' rows is lost,
silently.

## Example
```python
import jax.numpy as jnp

def f(w, x):
    return jnp.mean((w * x) ** 2)
```
```yaml
composer: 1
function: m:f
args: {w: "f32[]", x: "f32[8]"}
mesh: {data: 4}
stack:
  - collective: {op: pmean, axis_name: data}
  - grad: {argnums: w}
  - shard_map: {in_specs: {x: [data]}, out_specs: [], check_vma: false}
```

## Use instead
The mean outside the derivative.
```yaml
composer: 1
function: m:f
args: {w: "f32[]", x: "f32[8]"}
mesh: {data: 4}
stack:
  - grad: {argnums: w}
  - collective: {op: pmean, axis_name: data}
  - shard_map: {in_specs: {x: [data]}, out_specs: [], check_vma: false}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._order import problems
from composer._rule import Finding, rule
from composer._view import StackView


@rule("first-device-gradient", "CMP316", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for problem in problems(stack):
        if problem.code == "CMP316":
            yield problem.finding
