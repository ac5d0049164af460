"""pmean-of-summed-gradient (CMP314)

## What it does
Finds a collective around a gradient that shard_map has summed already.

## Why is this bad?
With check_vma, JAX's default, shard_map sums the gradient of an argument that
every device has whole. The mean of equal sums is the sum: as many times too
large as there are devices.

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
  - collective: {op: pmean, axis_name: data}
  - shard_map: {in_specs: {x: [data]}, out_specs: []}
```

## Use instead
The mean inside the derivative; or `check_vma: false`, and the mean outside.
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


@rule("pmean-of-summed-gradient", "CMP314", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for problem in problems(stack):
        if problem.code == "CMP314":
            yield problem.finding
