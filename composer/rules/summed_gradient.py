"""summed-gradient (CMP315)

## What it does
Finds a gradient that is summed over devices where the loss is a mean over
rows.

## Why is this bad?
Each device's loss is the mean of its own rows, and the sum of their gradients
is as many times the gradient of all rows as there are devices. shard_map with
check_vma, JAX's default, sums by itself.

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
  - grad: {argnums: w}
  - shard_map: {in_specs: {x: [data]}, out_specs: []}
```

## Use instead
A mean over the devices inside the derivative.
```yaml
composer: 1
function: m:f
args: {w: "f32[]", x: "f32[8]"}
mesh: {data: 4}
stack:
  - collective: {op: pmean, axis_name: data}
  - grad: {argnums: w}
  - shard_map: {in_specs: {x: [data]}, out_specs: []}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._order import problems
from composer._rule import Finding, rule
from composer._view import StackView


@rule("summed-gradient", "CMP315", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for problem in problems(stack):
        if problem.code == "CMP315":
            yield problem.finding
