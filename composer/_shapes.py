"""Shapes of arguments as the file declares them, at each place of a stack. No JAX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from composer._sources import (
    Arange,
    Eye,
    Full,
    Geomspace,
    Key,
    Linspace,
    Logspace,
    Ones,
    Random,
    Shape,
    ShapeTree,
    Source,
    Value,
    Zeros,
    leaves,
)
from composer._view import LayerView, StackView

Shapes = Mapping[str, ShapeTree]
"""Declared shapes by argument name; an argument that is missing has no known shape."""

_NUMBERS: Final = {bool: "bool", int: "i32", float: "f32"}
_KEEPS: Final = frozenset(
    {"grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "jvp", "vjp", "jit", "checkpoint"}
    | {"partial", "reduce", "select", "collective", "stop_gradient", "then", "checkify", "repeat"}
)
"""Layers that hand arguments on with the shapes that they have."""


def declared(source: Source) -> ShapeTree:
    """What a source says of its value's shape; None where it says nothing."""
    if source.shape is not None:
        return source.shape
    if isinstance(source, Value):
        return _literal(source.value)
    if isinstance(source, Zeros):
        return source.zeros
    if isinstance(source, Ones):
        return source.ones
    if isinstance(source, Full):
        return source.full
    if isinstance(source, Random):
        return source.size
    if isinstance(source, Key):
        split = source.split
        dims = () if split is None else split if isinstance(split, tuple) else (split,)
        return Shape("key", dims)
    return _range(source)


def _range(source: Source) -> ShapeTree:
    if isinstance(source, Linspace | Logspace | Geomspace):
        count = getattr(source, source.word)[2]
        return Shape(source.dtype or "f32", (int(count),))
    if isinstance(source, Arange):
        whole = all(isinstance(n, int) for n in source.arange)
        given = [int(n) for n in source.arange] if whole else None
        count = len(range(*given)) if given is not None else _float_count(source.arange)
        return Shape(source.dtype or ("i32" if whole else "f32"), (count,))
    if isinstance(source, Eye):
        return Shape(source.dtype or "f32", (source.eye, source.eye))
    return None


def _float_count(numbers: tuple[int | float, ...]) -> int:
    start, stop, step = 0.0, 0.0, 1.0
    if len(numbers) == 1:
        stop = numbers[0]
    elif len(numbers) == 2:
        start, stop = numbers
    else:
        start, stop, step = numbers
    return max(0, -int(-(stop - start) // step))


def _literal(value: object) -> ShapeTree:
    """A literal's shape, as reading it makes an array of it."""
    if isinstance(value, Mapping):
        parts = {str(key): _literal(item) for key, item in value.items()}
        return None if None in parts.values() else parts
    if isinstance(value, tuple | list):
        return _list(tuple(value))
    for kind, dtype in _NUMBERS.items():
        if type(value) is kind:
            return Shape(dtype)
    return None


def _list(value: tuple[object, ...]) -> ShapeTree:
    parts = [_literal(item) for item in value]
    if not parts or any(part is None for part in parts):
        return Shape("f32", (0,)) if not parts else None
    first = parts[0]
    if isinstance(first, Shape) and all(
        isinstance(part, Shape) and part.dims == first.dims for part in parts
    ):
        kinds = {part.dtype for part in parts if isinstance(part, Shape)}
        if "bool" in kinds and len(kinds) > 1:
            return None
        return Shape("f32" if "f32" in kinds else first.dtype, (len(parts), *first.dims))
    return tuple(parts)


def outer_shapes(stack: StackView) -> dict[str, ShapeTree]:
    """Declared shapes of the arguments of the whole; static ones have none."""
    found: dict[str, ShapeTree] = {}
    for name, source in stack.sources.items():
        tree = declared(source)
        if tree is not None and name not in stack.static:
            found[name] = tree
    return found


def shapes_taken(stack: StackView) -> list[Shapes]:
    """For each layer, what it is called with, and last what the function is.

    The list begins with the innermost layer, as `stack.layers` does; the function's own
    shapes are its last entry.
    """
    found: list[Shapes] = []
    now: Shapes = outer_shapes(stack)
    for view in reversed(stack.layers):
        found.append(now)
        now = inside(view, now)
    return [*reversed(found), now]


def inside(view: LayerView, shapes: Shapes) -> Shapes:
    """What the callable inside a layer is called with."""
    known = {name: tree for name, tree in shapes.items() if name in view.signature.names}
    if view.word in ("vmap", "pmap"):
        return _mapped(view, known)
    return known if view.word in _KEEPS else {}


def _mapped(view: LayerView, shapes: Shapes) -> Shapes:
    found = {}
    for name, tree in shapes.items():
        axis = axis_of(view, name)
        if axis is None:
            found[name] = tree
        elif isinstance(axis, int):
            inner = _without(tree, axis) if not view.get("split") else _unsized(tree, axis)
            if inner is not None:
                found[name] = inner
    return found


def axis_of(view: LayerView, name: str) -> object:
    """The entry of `in_axes` for an argument: a number, null, or a tree of them."""
    axes = view.get("in_axes")
    if isinstance(axes, Mapping):
        return axes.get(name)
    order = view.signature.positional
    if isinstance(axes, tuple):
        if name not in order:
            return 0
        number = order.index(name)
        return axes[number] if number < len(axes) else None
    return axes


def _without(tree: ShapeTree, axis: int) -> ShapeTree:
    """Every leaf without one axis; None where some leaf has no such axis."""
    if isinstance(tree, Shape):
        rank = len(tree.dims)
        if not -rank <= axis < rank:
            return None
        at = axis % rank
        return replace_dims(tree, tree.dims[:at] + tree.dims[at + 1 :])
    if isinstance(tree, tuple):
        parts = [_without(item, axis) for item in tree]
        return None if None in parts else tuple(parts)
    if isinstance(tree, Mapping):
        named = {key: _without(item, axis) for key, item in tree.items()}
        return None if None in named.values() else named
    return None


def _unsized(tree: ShapeTree, axis: int) -> ShapeTree:
    """Every leaf with one axis of a size of its own: a part of the whole."""
    if isinstance(tree, Shape):
        rank = len(tree.dims)
        if not -rank <= axis < rank:
            return None
        at = axis % rank
        return replace_dims(
            tree, (*tree.dims[:at], f"part of {tree.dims[at]}", *tree.dims[at + 1 :])
        )
    if isinstance(tree, tuple):
        return tuple(_unsized(item, axis) for item in tree)
    if isinstance(tree, Mapping):
        return {key: _unsized(item, axis) for key, item in tree.items()}
    return None


def replace_dims(shape: Shape, dims: tuple[int | str, ...]) -> Shape:
    """The same dtype with other dimensions."""
    return Shape(shape.dtype, dims)


def paths(tree: ShapeTree, path: str = "") -> Iterator[tuple[str, Shape]]:
    """Every leaf with its path, such as `['w']`."""
    if isinstance(tree, Shape):
        yield path, tree
    elif isinstance(tree, tuple):
        for number, item in enumerate(tree):
            yield from paths(item, f"{path}[{number}]")
    elif isinstance(tree, Mapping):
        for key, item in tree.items():
            yield from paths(item, f"{path}[{key!r}]")


def mapped_sizes(view: LayerView, shapes: Shapes) -> dict[str, tuple[int, int | str]]:
    """Of each argument mapped along one axis: the axis and its size, by its first leaf."""
    found = {}
    for name, tree in shapes.items():
        axis = axis_of(view, name)
        if not isinstance(axis, int) or name not in view.signature.names:
            continue
        for leaf in leaves(tree):
            if -len(leaf.dims) <= axis < len(leaf.dims):
                found[name] = (axis, leaf.dims[axis])
                break
    return found


def traced_names(stack: StackView) -> set[str] | None:
    """Arguments of the function whose values are tracers there, for certain.

    None: none is. Layers that compile trace every argument; a vmap those that it maps, a
    derivative those that it differentiates.
    """
    names = set(stack.signature.names) - set(stack.static)
    for view in stack.layers:
        bound = getattr(view.transform, "keywords", None) if view.word == "partial" else None
        names -= set(bound or ())
        if view.word == "apply":
            return None
    whole = any(view.word in ("jit", "pmap", "shard_map", "checkpoint") for view in stack.layers)
    if whole:
        marked = {n for view in stack.layers for n in layer_static(view)}
        return names - marked
    found: set[str] = set()
    for view in stack.layers:
        if view.word == "vmap":
            found |= {name for name in names if axis_of(view, name) is not None}
        elif view.get("argnums") is not None:
            found |= set(view.names(view.get("argnums")))
    return found & names


def layer_static(view: LayerView) -> set[str]:
    """Arguments that a layer itself declares static."""
    found: set[str] = set()
    for field in ("static_argnums", "static_argnames", "static_broadcasted_argnums"):
        value = view.get(field)
        if value is not None:
            found |= set(view.names(value))
    return found
