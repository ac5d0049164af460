"""nested-devices (CMP309)

## What it does
Finds a layer over devices inside another one.

## Why is this bad?
Inside the outer layer each device runs a program of its own, and has no other
devices to map over. JAX raises a ValueError about meshes.

## Example
```python
def f(x):
    return x * x
```
```yaml
composer: 1
function: m:f
args: {x: "f32[2, 2]"}
stack:
  - pmap: {axis_size: 2}
  - pmap: {axis_size: 2}
```

## Use instead
A vmap inside; or one shard_map over a mesh with two axes.
```yaml
composer: 1
function: m:f
args: {x: "f32[2, 2]"}
stack:
  - vmap
  - pmap: {axis_size: 2}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, error, rule
from composer._view import StackView


@rule("nested-devices", "CMP309", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("pmap", "shard_map"):
        outer = view.outside.of("pmap", "shard_map")
        if outer:
            yield error(
                f"{view.word} stands inside {outer[0].title}, where each device runs a program"
                " of its"
                " own and has no other devices",
                place=view.place,
                cure="- vmap     # in its place; or one shard_map over a mesh with two axes",
            )
