"""Axes of arguments as Python text: what vmap, pmap and others write for `composer code`."""

from __future__ import annotations

from typing import Any

from composer.plugin import Context, Page
from composer.transforms._axes import Axes

ALIKE = '''
    def NAME(axes, tree):
        """The axes in the containers of an argument: JAX tells lists from tuples."""
        if isinstance(axes, tuple) and isinstance(tree, list | tuple):
            parts = [NAME(axis, part) for axis, part in zip(axes, tree, strict=True)]
            return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
        if isinstance(axes, dict):
            return {key: NAME(axis, tree[key]) for key, axis in axes.items()}
        return axes
'''


def argument_axes(value: Axes, ctx: Context, page: Page, field: str = "in_axes") -> Any:
    """One entry for each of the arguments, in the order in which the page calls them.

    A number comes back alone where the arguments are not known by name.
    """
    placed, behind = page.split_arguments(ctx)
    if isinstance(value, dict):
        return tuple(value.get(name) for name in page.arguments(ctx))
    if isinstance(value, tuple):
        count = len(placed) if not ctx.signature.open_ended else len(value) - len(ctx.static)
        whole = ctx.by_position(value, field, max(count, 0))
        full = dict(zip(ctx.signature.positional, value, strict=False))
        return (*whole, *(full.get(name, 0) for name in sorted(behind)))
    if ctx.signature.open_ended or not (placed or behind):
        return value
    # JAX maps what is passed by keyword on axis 0, whatever in_axes says.
    known = {name: value for name in (*placed, *behind) if name in ctx.arguments}
    return tuple(known.get(name, 0) for name in page.arguments(ctx))


def has_sequence(entry: object) -> bool:
    """Whether an argument's axes follow a tuple or list inside it."""
    if isinstance(entry, dict):
        return any(has_sequence(item) for item in entry.values())
    return isinstance(entry, tuple)


def axes_text(axes: Any, ctx: Context, page: Page, field: str = "in_axes") -> str | None:
    """The axes as Python; None where they are JAX's default, 0 for all."""
    if axes == 0 or (isinstance(axes, tuple) and all(entry == 0 for entry in axes)):
        return None
    if isinstance(axes, tuple) and len(axes) == 1 and not isinstance(axes[0], tuple | dict):
        return page.literal(axes[0], ctx, field)
    return page.literal(axes, ctx, field)


def fitted_axes(axes: Any, ctx: Context, page: Page) -> str | None:
    """Axes that must follow the sequence types of a call's arguments; None if none must."""
    if not isinstance(axes, tuple) or not any(map(has_sequence, axes)):
        return None
    alike = page.helper("alike", ALIKE)
    parts = []
    for entry, name in zip(axes, page.arguments(ctx), strict=True):
        text = page.literal(entry, ctx, "in_axes")
        parts.append(f"{alike}({text}, {name})" if has_sequence(entry) else text)
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
