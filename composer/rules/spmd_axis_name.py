"""spmd-axis-name (CMP319)

## What it does
Says that `spmd_axis_name` is used.

## Why is this bad?
It changes how sharding constraints inside are read, breaks with shard_map and
captured values on some versions of JAX, and is silent where there is no
constraint inside.

## Example
```python
def f(x):
    return x + 1.0
```
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
mesh: {data: 1}
stack:
  - vmap: {spmd_axis_name: data}
  - jit
```

## Use instead
The layout on the jit.
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
mesh: {data: 1}
stack:
  - vmap
  - jit: {in_shardings: {x: [data]}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, Fix, info, rule
from composer._view import StackView


@rule("spmd-axis-name", "CMP319", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("vmap"):
        if view.get("spmd_axis_name") is not None:
            inside = stack.facts is not None and not stack.facts.constraints
            yield info(
                "vmap: spmd_axis_name is about sharding constraints inside the function"
                + (", and there are none" if inside and not view.inside.has("jit") else ""),
                place=view.place,
                cure="jit: {in_shardings: ...}     # in its place",
                fix=Fix((view.unset("spmd_axis_name"),)),
            )
