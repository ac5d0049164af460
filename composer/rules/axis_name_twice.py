"""axis-name-twice (CMP310)

## What it does
Finds two layers that bind one axis name.

## Why is this bad?
A collective over that name means the inner layer only, silently: the outer
axis, often the devices, is never combined.

## Example
```python
from jax import lax

def centred(x):
    return x - lax.pmean(x, "batch")
```
```yaml
composer: 1
function: m:centred
args: {x: "f32[4, 8]"}
stack:
  - vmap: {axis_name: batch}
  - pmap: {axis_name: batch}
```

## Use instead
Two names, and the collective over both or over the one that is meant.
```python
from jax import lax

def centred(x):
    return x - lax.pmean(x, ("rows", "devices"))
```
```yaml
composer: 1
function: m:centred
args: {x: "f32[4, 8]"}
stack:
  - vmap: {axis_name: rows}
  - pmap: {axis_name: devices}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, error, rule
from composer._view import LayerView, StackView


@rule("axis-name-twice", "CMP310", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each layer that binds a name which a layer inside it binds too."""
    bound: dict[str, LayerView] = {}
    for view in stack.layers:
        for name in view.transform.binds_axes():
            if name in bound:
                yield error(
                    f"{view.word} binds the axis {name!r}, as {bound[name].title} inside it does:"
                    " a collective over it means the inner one only",
                    place=view.place,
                    cure=f"axis_name: outer_{name}",
                    notes=[f"also bound by: {bound[name].title}"],
                )
            bound.setdefault(name, view)
