"""rows-averaged-across-devices (CMP311)

## What it does
Finds a mean over devices of outputs that still have the axis of a vmap.

## Why is this bad?
Each device has rows of its own. The mean over devices of row i averages rows
that have nothing to do with each other, and as many rows come out as one
device has.

## Example
```python
def f(w, x):
    return (w * x) ** 2
```
```yaml
composer: 1
function: m:f
args: {w: "f32[]", x: "f32[8]"}
stack:
  - grad: {argnums: w}
  - vmap: {in_axes: {x: 0}}
  - pmap: {in_axes: {x: 0}, split: true, sync: pmean}
```

## Use instead
`reduce: mean` between the two: the mean over a device's rows, then over
devices.
```yaml
composer: 1
function: m:f
args: {w: "f32[]", x: "f32[8]"}
stack:
  - grad: {argnums: w}
  - vmap: {in_axes: {x: 0}}
  - reduce: mean
  - pmap: {in_axes: {x: 0}, split: true, sync: pmean}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._order import AVERAGES, axes_of, split_names
from composer._rule import Finding, Fix, error, rule
from composer._view import LayerView, StackView


@rule("rows-averaged-across-devices", "CMP311", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for layer in stack.of("pmap", "shard_map"):
        split = split_names(layer)
        sync = layer.get("sync") if layer.word == "pmap" else None
        if split is None:
            continue
        if sync in AVERAGES:
            yield from _averaged(layer, layer, str(sync), split)
        for inner in layer.inside.of("collective"):
            if inner.get("op") in AVERAGES and inner.get("axis_name") in axes_of(layer):
                yield from _averaged(inner, layer, str(inner.get("op")), split)


def _averaged(at: LayerView, layer: LayerView, op: str, split: set[str]) -> Iterator[Finding]:
    """Rows of a vmap that stand in what is combined, if they are rows of a split argument."""
    if not at.below.known:
        return
    for number in at.below.rows:
        vmap = layer.stack.layers[number]
        mapped = split_names(vmap) if vmap.word == "vmap" else None
        if not mapped or not mapped <= split:
            continue
        yield error(
            f"{op} over the devices of an output that still has the rows of {vmap.title}: row i of"
            " every device is combined with row i of the others, which are other rows",
            place=at.place,
            cure=f"- reduce: mean     # between {vmap.word} and {at.word}",
            fix=Fix((vmap.insert_outside({"reduce": "mean"}),)),
        )
