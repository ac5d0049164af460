"""rows-do-not-divide (CMP301)

## What it does
Finds rows that do not divide over the devices.

## Why is this bad?
`split` gives each device the same number of rows; a plain pmap wants a leading
axis as long as there are devices. JAX raises a ValueError, or leaves devices
idle, silently.

## Example
```python
def f(x):
    return x * x
```
```yaml
composer: 1
function: m:f
args: {x: "f32[30]"}
run: {simulate_devices: 4}
stack:
  - pmap: {split: true}
```

## Use instead
A remainder: drop the last rows, or pad and weigh them.
```yaml
composer: 1
function: m:f
args: {x: "f32[30]"}
run: {simulate_devices: 4}
stack:
  - pmap: {split: true, remainder: drop}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, Fix, error, rule
from composer._shapes import mapped_sizes, shapes_taken
from composer._view import LayerView, StackView


@rule("rows-do-not-divide", "CMP301", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view, shapes in zip(stack.layers, shapes_taken(stack), strict=False):
        if view.word != "pmap":
            continue
        devices = _devices(view, stack)
        for name, (_, size) in mapped_sizes(view, shapes).items():
            if devices is None or not isinstance(size, int):
                continue
            if view.get("split") and size % devices and view.get("remainder") == "error":
                yield error(
                    f"pmap: the {size} rows of {name} do not divide over {devices} devices:"
                    f" {size % devices} are left over",
                    place=view.place,
                    cure="remainder: drop     # or remainder: pad, weights: NAME",
                    fix=Fix((view.set("remainder", "drop"),)),
                )
                break
            if not view.get("split") and size > devices:
                yield error(
                    f"pmap: {name} has a leading axis of {size}, but there are {devices}"
                    " devices, and a"
                    " plain pmap does not split a batch",
                    place=view.place,
                    cure="split: true",
                    fix=Fix((view.set("split", True),)),
                )
                break


def _devices(view: LayerView, stack: StackView) -> int | None:
    size, chosen = view.get("axis_size"), view.get("devices")
    if isinstance(size, int):
        return size
    return len(chosen) if isinstance(chosen, tuple) else stack.devices
