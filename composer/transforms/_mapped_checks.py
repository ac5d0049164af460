"""What mapping over an axis needs of the arguments, said before JAX says it.

Imports no JAX at the top.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from composer.plugin import ComposeError, Context, fail
from composer.transforms._outputs import children


def check_mapped(
    ctx: Context,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    axes: Any,
    behind: Mapping[str, Any],
) -> dict[str, int]:
    """Refuse axes that do not exist, trees that do not fit, and sizes that differ.

    Returns:
        The size of each mapped leaf's axis, by words such as `x on axis 0`.

    Raises:
        ComposeError: CMP209, CMP213, CMP214.
    """
    whole = axes if isinstance(axes, tuple) else (axes,) * len(args)
    names = [*ctx.arguments, *(f"argument {i}" for i in range(len(ctx.arguments), len(args)))]
    sizes: dict[str, tuple[int, Any]] = {}
    given = [(name, axis, arg) for name, arg, axis in zip(names, args, whole, strict=False)]
    given += [(name, axis, kwargs[name]) for name, axis in behind.items()]
    try:
        for name, axis, arg in given:
            _collect(name, axis, arg, ctx, sizes)
    except _NoSuchAxis as error:
        message = f"{ctx.word}: {error}"
        cure = _fitting(given, ctx.word)
        raise fail(ComposeError, "CMP209", message, place=ctx.place, cure=cure) from None
    if len({size for size, _ in sizes.values()}) > 1:
        raise _different(sizes, ctx)
    return {name: size for name, (size, _) in sizes.items()}


def _collect(
    name: str, axis: Any, value: Any, ctx: Context, sizes: dict[str, tuple[int, Any]]
) -> None:
    """Walk the prefix of axes down the argument's tree, and note each mapped leaf's size."""
    if axis is None:
        return
    if isinstance(axis, int):
        _leaves(name, axis, value, ctx, sizes)
    elif isinstance(axis, Mapping):
        _same_keys(name, axis, value, ctx)
        for key, below in axis.items():
            _collect(f"{name}[{key!r}]", below, value[key], ctx, sizes)
    elif isinstance(axis, tuple | list):
        if not isinstance(value, tuple | list) or len(axis) != len(value):
            raise _tree(f"{name} has {len(axis)} axes, but is {_kind(value)}", None, ctx)
        for position, (below, part) in enumerate(zip(axis, value, strict=True)):
            _collect(f"{name}[{position}]", below, part, ctx, sizes)
    else:
        # A container that `conform` made, such as a dataclass: its parts are the value's.
        for (key, below), (_, part) in zip(children(axis), children(value), strict=True):
            _collect(f"{name}.{key}", below, part, ctx, sizes)


def _same_keys(name: str, axis: Mapping[str, Any], value: Any, ctx: Context) -> None:
    have = list(value) if isinstance(value, Mapping) else [key for key, _ in children(value)]
    if not isinstance(value, Mapping) and not any(isinstance(key, str) for key in have):
        raise _tree(f"{name} has axes by key, but is {_kind(value)}", None, ctx)
    missing = [key for key in have if key not in axis]
    unknown = [key for key in axis if key not in have]
    if missing:
        raise _tree(
            f"{name}[{missing[0]!r}] has no axis", f"{missing[0]}: null     # not mapped; or 0", ctx
        )
    if unknown:
        known = ", ".join(map(str, have))
        raise _tree(f"{name} has no part {unknown[0]!r}; it has {known}", None, ctx)


class _NoSuchAxis(Exception):
    """A leaf is mapped on an axis that it does not have; the text says which."""


def _fitting(given: list[tuple[str, Any, Any]], word: str) -> str:
    """What to write: all axes that exist, and 0 or null for the others."""
    axes = {name: _existing(axis, value) for name, axis, value in given}
    if all(axis is None for axis in axes.values()):
        return f"the stack without {word}, or an argument that has an axis"
    if not all(name.isidentifier() for name in axes):
        return f"in_axes: {_yaml(list(axes.values()))}"
    return f"in_axes: {_yaml({name: axis for name, axis in axes.items() if axis is not None})}"


def _existing(axis: Any, value: Any) -> Any:
    """The axis where the value has it, else 0 where it has that, else None; in trees alike."""
    import jax
    import numpy as np

    if isinstance(axis, Mapping) and isinstance(value, Mapping) and set(axis) <= set(value):
        parts = {key: _existing(below, value[key]) for key, below in axis.items()}
        return parts if any(part is not None for part in parts.values()) else None
    if not isinstance(axis, int):
        return axis
    ranks = [np.ndim(leaf) for leaf in jax.tree.leaves(value)]
    fits = (new for new in (axis, 0) if all(-rank <= new < rank for rank in ranks))
    return next(fits, None)


def _yaml(axes: Any) -> str:
    if isinstance(axes, Mapping):
        return f"{{{', '.join(f'{name}: {_yaml(axis)}' for name, axis in axes.items())}}}"
    if isinstance(axes, tuple | list):
        return f"[{', '.join(map(_yaml, axes))}]"
    return "null" if axes is None else str(axes)


def _leaves(
    name: str, axis: int, value: Any, ctx: Context, sizes: dict[str, tuple[int, Any]]
) -> None:
    import jax
    import numpy as np

    for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
        shown = name + jax.tree_util.keystr(path)
        if not hasattr(leaf, "shape") and not np.isscalar(leaf):
            continue
        shape = np.shape(leaf)
        if not -len(shape) <= axis < len(shape):
            raise _NoSuchAxis(f"{shown} is mapped on axis {axis}, but it is {_kind(leaf)}")
        sizes[f"{shown} on axis {axis}"] = (shape[axis], (name, shape))


def _different(sizes: dict[str, tuple[int, Any]], ctx: Context) -> Exception:
    """All sizes, and the axis that would fit where there is one."""
    counts = [size for size, _ in sizes.values()]
    cure = None
    for common in sorted(set(counts), key=counts.count):
        others = [(name, shape) for size, (name, shape) in sizes.values() if size != common]
        # A part of an argument, such as `params.w`, is no key of in_axes.
        if all(name.isidentifier() and common in shape for name, shape in others):
            fixed = ", ".join(f"{name}: {shape.index(common)}" for name, shape in others)
            cure = f"in_axes: {{{fixed}}}     # the others as they are"
    return fail(
        ComposeError,
        "CMP214",
        f"{ctx.word}: the mapped axes have different sizes",
        place=ctx.place,
        notes=[f"{name}: {size}" for name, (size, _) in sizes.items()],
        cure=cure or "in_axes with the batch axis of each argument, null where there is none",
    )


def _tree(message: str, cure: str | None, ctx: Context) -> Exception:
    return fail(
        ComposeError, "CMP213", f"{ctx.word}: in_axes: {message}", place=ctx.place, cure=cure
    )


def _kind(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return f"a {type(value).__name__}"
