"""Axes that layers further out bind: their size, or an error that says which are bound.

Imports JAX.
"""

from __future__ import annotations

import jax
from jax import lax

from composer.plugin import ComposeError, Context, fail, nearest

AxisName = str | tuple[str, ...]


def bound_size(axis_name: AxisName, ctx: Context) -> int:
    """How many rows or devices an axis has, or several together.

    Asked while tracing: whoever stands around the whole stack may bind an axis too.

    Raises:
        ComposeError: CMP112, nothing binds the axis.
    """
    size = 1
    for name in axis_name if isinstance(axis_name, tuple) else (axis_name,):
        try:
            size *= int(lax.axis_size(name))
        except NameError:
            raise _unbound(name, ctx) from None
    return size


def refuse_devices_outside(ctx: Context) -> None:
    """Refuse a layer over devices inside another one, which has given each device its program.

    Asked while tracing: whoever stands around the whole stack may have done so too.

    Raises:
        ComposeError: CMP309.
    """
    if not jax.sharding.get_abstract_mesh().manual_axes:
        return
    bound = ctx.axes_outside
    raise fail(
        ComposeError,
        "CMP309",
        f"{ctx.word} stands inside a layer that is already one program for each device",
        place=ctx.place,
        notes=[f"bound outside: {', '.join(map(repr, bound))}"] if bound else [],
        cure="vmap in its place; or one shard_map over a mesh with an axis for each of the two",
    )


def _unbound(name: str, ctx: Context) -> Exception:
    bound = ctx.axes_outside
    return fail(
        ComposeError,
        "CMP112",
        f"{ctx.word} over axis {name!r}, but no layer outside binds that axis",
        place=ctx.place,
        notes=[f"bound outside: {', '.join(map(repr, bound)) or 'none'}"],
        cure=f"axis_name: {nearest(name, bound) or bound[0]}"
        if bound
        else f"vmap: {{axis_name: {name}}}     # further out",
    )
