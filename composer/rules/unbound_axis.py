"""unbound-axis (CMP112)

## What it does
Finds a collective over an axis that no layer around it binds.

## Why is this bad?
JAX knows an axis only while the layer that binds it is traced, and raises a
NameError deep in the trace.

## Example
```python
from jax import lax

def f(x):
    return x - lax.pmean(x, "batch")
```
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
stack:
  - vmap: {axis_name: rows}
```

## Use instead
The name of a layer around it.
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
stack:
  - vmap: {axis_name: batch}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, Fix, error, rule
from composer._view import LayerView, StackView
from composer.errors import Place, nearest


@rule("unbound-axis", "CMP112", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.path:
        return
    bound = stack.whole.axes
    for fact in stack.facts.collectives if stack.facts is not None else ():
        if fact.axis is not None and fact.axis not in bound and not stack.whole.has("apply"):
            yield _unbound(fact.op, fact.axis, bound, fact.place, stack.of("pmap", "vmap"))
    for view in stack.of("collective"):
        names = view.get("axis_name")
        for name in names if isinstance(names, tuple) else (names,):
            if name not in view.outside.axes and not view.outside.has("apply"):
                axes = view.outside.axes
                yield _unbound(str(view.get("op")), str(name), axes, view.place, [])


def _unbound(
    op: str, axis: str, bound: tuple[str, ...], place: Place | None, layers: list[LayerView]
) -> Finding:
    text = f"{op} over axis {axis!r}, but no layer around it binds that axis"
    notes = [f"bound: {', '.join(map(repr, bound)) or 'none'}"]
    close = nearest(axis, bound) or (bound[0] if len(bound) == 1 else None)
    nameless = [view for view in layers if view.get("axis_name") is None]
    if close is None and len(nameless) == 1:
        cure, fix = f"{nameless[0].word}: {{axis_name: {axis}}}", nameless[0].set("axis_name", axis)
        return error(text, place=place, notes=notes, cure=cure, fix=Fix((fix,)))
    if close is None:
        return error(text, place=place, notes=notes, cure=f"vmap: {{axis_name: {axis}}}")
    cure = f'"{close}"     # or axis_name: {axis} on the layer'
    return error(text, place=place, notes=notes, cure=cure)
