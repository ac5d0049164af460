"""same-key-on-every-device (CMP510)

## What it does
Finds a random key that a layer over devices hands to every device as it is.

## Why is this bad?
Every device draws the same numbers for its rows, silently.

## Example
```python
import jax

def f(x, key):
    return x + jax.random.normal(key, x.shape)
```
```yaml
composer: 1
function: m:f
args: {x: "f32[8]", key: {key: 0}}
stack:
  - pmap: {in_axes: {x: 0}, split: true, merge: true}
```

## Use instead
A key for each device: the device's number folded in.
```yaml
composer: 1
function: m:f
args: {x: "f32[8]", key: {key: 0}}
stack:
  - split_key: {key: key, axis_name: d}
  - pmap: {axis_name: d, in_axes: {x: 0}, split: true, merge: true}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._change import layer_data
from composer._keys import shared_keys
from composer._order import axes_of
from composer._rule import Finding, Fix, rule, warning
from composer._view import StackView


@rule("same-key-on-every-device", "CMP510", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("pmap", "shard_map"):
        for name, split in shared_keys(view):
            named = axes_of(view)
            axis = named[0] if view.transform.binds_axes() else "devices"
            edits = [view.insert_inside(layer_data("split_key", key=name, axis_name=axis))]
            if not view.transform.binds_axes():
                edits.append(view.set("axis_name", axis))
            yield warning(
                f"{view.word} splits {', '.join(sorted(split))}, but every device gets the same key"
                f" {name!r}: all draw the same numbers",
                place=view.place,
                cure=f"- split_key: {{key: {name}, axis_name: {axis}}}     # inside {view.word}",
                fix=Fix(tuple(edits)),
            )
