"""integer-derivative (CMP212)

## What it does
Finds a derivative with respect to integers.

## Why is this bad?
Integers have no derivative. JAX raises a TypeError that does not name the
leaf.

## Example
```python
def f(params, x):
    return params['w'] * x
```
```yaml
composer: 1
function: m:f
args: {params: {w: "f32[]", n: "i32[]"}, x: "f32[]"}
stack:
  - grad: {argnums: params}
```

## Use instead
Only floating leaves; the others as an argument of their own.
```yaml
composer: 1
function: m:f
args: {params: {w: "f32[]"}, x: "f32[]"}
stack:
  - grad: {argnums: params}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._order import FIRST_ORDER
from composer._rule import Finding, error, rule
from composer._shapes import paths, shapes_taken
from composer._sources import Shape
from composer._view import LayerView, StackView


@rule("integer-derivative", "CMP212", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view, shapes in zip(stack.layers, shapes_taken(stack), strict=False):
        if view.word not in FIRST_ORDER - {"vjp"} or view.get("allow_int"):
            continue
        for name in view.names(view.get("argnums")):
            for path, leaf in paths(shapes.get(name)):
                if leaf.dtype == "bool" or leaf.dtype[0] in "iu":
                    yield _finding(view, name, path, leaf, stack)


def _finding(view: LayerView, name: str, path: str, leaf: Shape, stack: StackView) -> Finding:
    cure = f"{name}: a floating value, such as 3.0"
    if path:
        cure = f"only floating leaves in {name}; {path} as an argument of its own"
    return error(
        f"{view.word}: {name}{path} is {leaf}, and integers have no derivative",
        place=view.place,
        cure=cure,
        notes=[f"declared at {stack.places[name]}"] if name in stack.places else [],
    )
