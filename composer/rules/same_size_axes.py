"""same-size-axes (CMP225)

## What it does
Warns where a mapped array hides a mistake: all its axes have one size, or an
argument that is mapped by default has the batch's size by chance.

## Why is this bad?
With `in_axes` left at its default every argument is mapped on axis 0. A square
array fits along each of its axes, and parameters whose first size is that of
the batch are split row by row: no error, wrong numbers.

## Example
```python
def f(w, x):
    return w @ x
```
```yaml
composer: 1
function: m:f
args: {w: "f32[3, 3]", x: "f32[3, 3]"}
stack:
  - vmap
```

## Use instead
The axes by name.
```yaml
composer: 1
function: m:f
args: {w: "f32[3, 3]", x: "f32[3, 3]"}
stack:
  - vmap: {in_axes: {x: 0}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, rule, warning
from composer._shapes import mapped_sizes, shapes_taken
from composer._sources import ShapeTree, leaves
from composer._view import StackView


@rule("same-size-axes", "CMP225", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view, shapes in zip(stack.layers, shapes_taken(stack), strict=False):
        if view.word != "vmap" or "in_axes" in dict(view.transform.items()):
            continue
        found = mapped_sizes(view, shapes)
        square = [name for name in found if _square(shapes[name])]
        if not square:
            continue
        names = ", ".join(square)
        others = [name for name in view.signature.positional if name not in square[:1]]
        example = f"{others[-1]}: 0" if others else f"{square[0]}: 1"
        yield warning(
            "vmap maps every argument on axis 0, since in_axes is not given; all axes of"
            f" {names} have"
            " one size, so another axis, or none, would fit as well",
            place=view.place,
            cure=f"in_axes: {{{example}}}     # by name, what has rows and along which axis",
            notes=["if axis 0 is meant, write it: in_axes: 0"],
        )


def _square(tree: ShapeTree) -> bool:
    return any(
        len(leaf.dims) > 1 and len(set(leaf.dims)) == 1 and leaf.dims[0] != 1
        for leaf in leaves(tree)
    )
