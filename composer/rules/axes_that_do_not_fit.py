"""axes-that-do-not-fit (CMP209)

## What it does
Finds a mapped argument without the axis: a number, or too few dimensions; and
an in_axes list that leaves required arguments out.

## Why is this bad?
There is nothing to map along. JAX raises a ValueError when it traces.

## Example
```python
def f(x, s):
    return x * s
```
```yaml
composer: 1
function: m:f
args: {x: "f32[2]", s: 3.0}
stack:
  - vmap
```

## Use instead
The arguments that have rows, by name.
```yaml
composer: 1
function: m:f
args: {x: "f32[2]", s: 3.0}
stack:
  - vmap: {in_axes: {x: 0}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, Fix, error, rule
from composer._shapes import Shapes, axis_of, paths, shapes_taken
from composer._view import LayerView, StackView


@rule("axes-that-do-not-fit", "CMP209", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view, shapes in zip(stack.layers, shapes_taken(stack), strict=False):
        if view.word in ("vmap", "pmap"):
            yield from _list_too_short(view)
            yield from _no_such_axis(view, shapes)


def _list_too_short(view: LayerView) -> Iterator[Finding]:
    axes, sig = view.get("in_axes"), view.signature
    if not isinstance(axes, tuple) or sig.parameters is None or sig.open_ended:
        return
    missing = [n for n in sig.positional[len(axes) :] if sig.required(n)]
    if not missing:
        return
    mapped = {n: a for n, a in zip(sig.positional, axes, strict=False) if a is not None}
    shown = ", ".join(f"{name}: {axis}" for name, axis in mapped.items())
    yield error(
        f"{view.word}: in_axes has {len(axes)} entries, but {sig.title} needs"
        f" {len(axes) + len(missing)} arguments: {', '.join(missing)} has none",
        place=view.place,
        cure=f"in_axes: {{{shown}}}     # by name; what is not listed is not mapped",
        fix=Fix((view.set("in_axes", mapped),)),
    )


def _no_such_axis(view: LayerView, shapes: Shapes) -> Iterator[Finding]:
    for name, tree in shapes.items():
        axis = axis_of(view, name)
        if not isinstance(axis, int) or name not in view.signature.names:
            continue
        for path, leaf in paths(tree):
            if -len(leaf.dims) <= axis < len(leaf.dims):
                continue
            what = "is one number" if not leaf.dims else f"has no axis {axis}"
            kept = {
                n: axis_of(view, n)
                for n in view.signature.positional
                if n != name and axis_of(view, n) is not None
            }
            shown = ", ".join(f"{n}: {a}" for n, a in kept.items())
            yield error(
                f"{view.word}: {name}{path} is mapped on axis {axis}, but it is {leaf} and {what}",
                place=view.place,
                cure=f"in_axes: {{{shown}}}",
                fix=Fix((view.set("in_axes", kept),)) if kept else None,
            )
            break
