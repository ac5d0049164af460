"""Axes by position or by argument name, for one call: shared by vmap and pmap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from composer.plugin import ComposeError, Context, Transform, fail, nearest
from composer.transforms._outputs import children

Axes = int | None | tuple[object, ...] | dict[str, object]


def check_axes(
    layer: Transform, field: str, value: object, path: tuple[str | int, ...] = ()
) -> None:
    """Refuse anything but ints and null inside a tree of axes.

    Raises:
        ParameterError: CMP037.
    """
    if isinstance(value, tuple):
        for number, item in enumerate(value):
            check_axes(layer, field, item, (*path, number))
    elif isinstance(value, dict):
        for key, item in value.items():
            check_axes(layer, field, item, (*path, key))
    elif value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        message = f"holds {shown}; an axis is a whole number or null"
        raise layer.wrong(field, message, path=path)


def axes_for_call(
    value: Axes, ctx: Context, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The axes of this call's positional arguments, and those of its keyword arguments.

    A mapping goes by name and leaves unlisted arguments unmapped. A tuple goes by
    position in the full signature. Keyword-only arguments that no mapping names are
    mapped on axis 0, which is JAX's own rule.

    Raises:
        ComposeError: CMP209, if a tuple does not fit the number of arguments; CMP201, if a
            mapping names what the function takes as `**kwargs` only, and the call does not give.
    """
    names = ctx.arguments
    if isinstance(value, dict):
        check_given(value, "in_axes", ctx, kwargs)
        by_name = tuple(value.get(name) for name in names[: len(args)])
        extra = (None,) * (len(args) - len(by_name))
        found = (*by_name, *extra), {name: value.get(name) for name in kwargs}
    elif isinstance(value, tuple):
        whole = ctx.by_position(value, "in_axes", len(args))
        full = dict(zip(ctx.signature.positional, value, strict=False))
        found = whole, {name: full.get(name, 0) for name in kwargs}
    else:
        behind = {name: value if name in names else 0 for name in kwargs}
        return value, behind
    fitted = tuple(conform(axes, arg) for axes, arg in zip(found[0], args, strict=True))
    return fitted, {name: conform(axes, kwargs[name]) for name, axes in found[1].items()}


def check_given(
    value: Mapping[str, Any], what: str, ctx: Context, kwargs: Mapping[str, Any]
) -> None:
    """Refuse a name that only `**kwargs` could take, where the call does not give it.

    Raises:
        ComposeError: CMP201. A slip of the pen would leave the argument unmapped, unseen.
    """
    for name, entry in value.items():
        if name in kwargs or name in ctx.signature.names or not _has_axis(entry):
            continue
        close = nearest(name, (*ctx.arguments, *kwargs))
        raise fail(
            ComposeError,
            "CMP201",
            f"{ctx.word}: {what} names {name!r}, but the call gives no such argument",
            place=ctx.place,
            notes=[f"given by keyword: {', '.join(kwargs) or 'nothing'}"],
            cure=f"{what}: {{{close}: ...}}" if close else None,
        )


def as_tuple(axes: Any, count: int) -> tuple[Any, ...]:
    """One entry for each of `count` arguments."""
    return axes if isinstance(axes, tuple) else (axes,) * count


def conform(prefix: Any, value: Any) -> Any:
    """The prefix with the container types of the value: YAML has lists and mappings only.

    A mapping goes by the field names of a named tuple or dataclass.

    >>> conform((0, None), [1.0, 2.0])
    [0, None]
    """
    if isinstance(prefix, tuple) and isinstance(value, list | tuple) and len(prefix) == len(value):
        parts = [conform(p, v) for p, v in zip(prefix, value, strict=True)]
        if hasattr(value, "_fields"):
            return type(value)(*parts)
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(prefix, dict) and isinstance(value, Mapping):
        return {key: conform(entry, value.get(key)) for key, entry in prefix.items()}
    if isinstance(prefix, dict) and value is not None:
        return _by_field(prefix, value)
    return prefix


def _by_field(prefix: dict[Any, Any], value: Any) -> Any:
    """The prefix as a container like the value, if the names of its parts are the same."""
    import jax

    parts = children(value)
    if not parts or {key for key, _ in parts} != set(prefix):
        return prefix
    treedef = jax.tree.structure(value, is_leaf=lambda node: node is not value)
    return jax.tree.unflatten(treedef, [conform(prefix[key], part) for key, part in parts])


def something_mapped(
    axes: Iterable[Any], ctx: Context, field: str = "in_axes", written: Axes = None
) -> None:
    """Refuse a call that maps nothing at all; `written` is what the layer says.

    Raises:
        ComposeError: CMP206.
    """
    if any(_has_axis(entry) for entry in axes):
        return
    first = next(iter(ctx.arguments), "x")
    named = written.items() if isinstance(written, dict) else ()
    absent = [name for name, entry in named if _has_axis(entry)]
    if absent:
        raise fail(
            ComposeError,
            "CMP206",
            f"{ctx.word}: {field} maps {', '.join(absent)}, which the call does not give,"
            " so there is no batch",
            place=ctx.place,
            cure=f"{absent[0]} in the call",
        )
    raise fail(
        ComposeError,
        "CMP206",
        f"{ctx.word}: {field} maps no argument, so there is no batch",
        place=ctx.place,
        notes=[f"arguments: {', '.join(ctx.arguments) or 'none'}"],
        cure=f"{field}: {{{first}: 0}}",
    )


def _has_axis(entry: Any) -> bool:
    if isinstance(entry, Mapping):
        return any(_has_axis(item) for item in entry.values())
    if isinstance(entry, list | tuple):
        return any(_has_axis(item) for item in entry)
    return entry is not None


def has_null(axes: object) -> bool:
    """Whether a tree of axes holds a null anywhere."""
    if isinstance(axes, tuple):
        return any(has_null(item) for item in axes)
    if isinstance(axes, dict):
        return any(has_null(item) for item in axes.values())
    return axes is None


def packed(fn: Callable[..., Any]) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """`fn` with its keyword arguments as one ordinary argument, since JAX maps those on axis 0."""

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return fn(*args, **kwargs)

    return call
