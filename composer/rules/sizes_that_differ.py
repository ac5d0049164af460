"""sizes-that-differ (CMP214)

## What it does
Finds mapped axes of different declared sizes.

## Why is this bad?
All mapped axes are one axis, row by row, so they have one size. JAX raises a
ValueError when it traces.

## Example
```python
def f(a, b):
    return a.sum() * b.sum()
```
```yaml
composer: 1
function: m:f
args: {a: "f32[10, 4]", b: "f32[10, 2]"}
stack:
  - vmap: {in_axes: [0, 1]}
```

## Use instead
The axes of one size.
```yaml
composer: 1
function: m:f
args: {a: "f32[10, 4]", b: "f32[10, 2]"}
stack:
  - vmap: {in_axes: [0, 0]}
```
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from composer._rule import Finding, Fix, error, rule
from composer._shapes import Shapes, mapped_sizes, shapes_taken
from composer._sources import leaves
from composer._view import LayerView, StackView


@rule("sizes-that-differ", "CMP214", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view, shapes in zip(stack.layers, shapes_taken(stack), strict=False):
        if view.word not in ("vmap", "pmap"):
            continue
        sizes = {n: s for n, s in mapped_sizes(view, shapes).items() if isinstance(s[1], int)}
        if len({size for _, size in sizes.values()}) < 2:
            continue
        said = ", ".join(f"{n} on axis {axis} has {size}" for n, (axis, size) in sizes.items())
        cure, fix = _fitting(view, shapes, sizes)
        yield error(
            f"{view.word}: the mapped axes have different sizes: {said}",
            place=view.place,
            cure=cure,
            fix=fix,
        )


def _fitting(
    view: LayerView, shapes: Shapes, sizes: dict[str, tuple[int, int | str]]
) -> tuple[str, Fix | None]:
    """Other axes that all have one size, if there are any."""
    counts = Counter(
        size
        for name in sizes
        for size in {dim for leaf in leaves(shapes[name]) for dim in leaf.dims}
    )
    common = [size for size, count in counts.most_common() if count == len(sizes)]
    axes = {name: axis for name, (axis, _) in sizes.items()}
    for size in common:
        for name in sizes:
            first = next(leaves(shapes[name]))
            if first.dims[axes[name]] != size:
                axes[name] = first.dims.index(size)
        shown = ", ".join(f"{name}: {axis}" for name, axis in axes.items())
        return f"in_axes: {{{shown}}}", Fix((view.set("in_axes", axes),))
    largest = max(sizes, key=lambda name: str(sizes[name][1]))
    return f"in_axes: {{{largest}: {axes[largest]}}}     # or arguments of one size", None
