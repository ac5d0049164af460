"""vmap in chunks of rows, through `jax.lax.map`: bounded memory. Imports JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from composer.plugin import ComposeError, Context, fail
from composer.transforms._axes import has_null
from composer.transforms._loops import leaf_axes


def check_axis_size(sizes: Mapping[str, int], axis_size: int | None, ctx: Context) -> None:
    """Refuse an `axis_size` that the mapped axes do not have; `lax.map` does not know it.

    Raises:
        ComposeError: CMP214.
    """
    if axis_size is not None and any(size != axis_size for size in sizes.values()):
        raise fail(
            ComposeError,
            "CMP214",
            f"{ctx.word}: axis_size is {axis_size}, but the mapped axes have other sizes",
            place=ctx.place,
            notes=[f"{name}: {size}" for name, size in sizes.items()],
            cure="axis_size: null",
        )


def in_chunks(
    fn: Callable[..., Any],
    values: tuple[Any, ...],
    in_axes: Any,
    options: Mapping[str, Any],
    chunk: int,
    ctx: Context,
) -> Any:
    """What `jax.vmap(fn, in_axes, **options)(*values)` returns, `chunk` rows at a time.

    Raises:
        ValueError: JAX's, for a null in `out_axes` and an output that differs between rows.
    """
    out_axes, axis_size = options["out_axes"], options["axis_size"]
    if has_null(out_axes):
        jax.eval_shape(jax.vmap(fn, in_axes=in_axes, **options), *values)
    leaves, treedef = jax.tree.flatten(values)
    axes = leaf_axes(in_axes, values)
    mapped = [number for number, axis in enumerate(axes) if axis is not None]
    rows = [
        _to_front(leaf, axis) for leaf, axis in zip(leaves, axes, strict=True) if axis is not None
    ]

    def one(row: list[Any]) -> Any:
        at = list(leaves)
        for number, value in zip(mapped, row, strict=True):
            at[number] = value
        return fn(*jax.tree.unflatten(treedef, at))

    # Where nothing is mapped, something has to tell the number of rows.
    over = rows or jnp.arange(axis_size)
    row_fn = ctx.named(one if rows else lambda _: one([]))
    out = lax.map(row_fn, over, batch_size=chunk)
    outputs, out_def = jax.tree.flatten(out)
    placed = [
        leaf[0] if axis is None else _from_front(leaf, axis)
        for leaf, axis in zip(outputs, leaf_axes(out_axes, out), strict=True)
    ]
    return jax.tree.unflatten(out_def, placed)


def _to_front(leaf: Any, axis: int) -> Any:
    return leaf if axis == 0 else jnp.moveaxis(leaf, axis, 0)


def _from_front(leaf: Any, axis: int) -> Any:
    return leaf if axis == 0 else jnp.moveaxis(leaf, 0, axis)
