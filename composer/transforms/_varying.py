"""Which outputs of a function depend on which arguments, from its jaxpr. Imports JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from composer.plugin import ComposeError, Context, fail
from composer.transforms._loops import leaf_axes
from composer.transforms._outputs import leaves_with_paths


def refuse_varying(
    fn: Callable[..., Any], values: tuple[Any, ...], axes: Any, out_axes: Any, ctx: Context
) -> None:
    """Refuse a null in `out_axes` for an output that differs between rows.

    Returns without a word where this cannot be decided, or where nothing is wrong.

    Args:
        fn: The function of one row, called with `values` less their mapped axes.
        values: The arguments of all rows.
        axes: A prefix tree of their mapped axes.
        out_axes: The layer's.
        ctx: The layer's.

    Raises:
        ComposeError: CMP216, with the output and the arguments that it depends on.
    """
    leaves, treedef = jax.tree.flatten(values)
    mapped = leaf_axes(axes, values)
    rows = [_row(leaf, axis) for leaf, axis in zip(leaves, mapped, strict=True)]
    try:
        made: Any = jax.make_jaxpr(fn, return_shape=True)(*jax.tree.unflatten(treedef, rows))
    # Whatever the function raises is not ours to tell: the caller's own error follows.
    except Exception:
        return
    jaxpr, shape = getattr(made[0], "jaxpr", made[0]), made[1]
    # By identity: literals among the inputs of an equation have no hash.
    batched = {id(var) for var, axis in zip(jaxpr.invars, mapped, strict=True) if axis is not None}
    for equation in jaxpr.eqns:
        if any(id(var) in batched for var in equation.invars):
            batched |= {id(var) for var in equation.outvars}
    try:
        axes_out = leaf_axes(out_axes, shape)
    except ValueError:
        # Axes that do not follow the output: JAX says that better.
        return
    for (path, _), var, axis in zip(leaves_with_paths(shape), jaxpr.outvars, axes_out, strict=True):
        if axis is None and id(var) in batched:
            raise _varies(".".join(map(str, path)), ctx)


def _row(leaf: Any, axis: int | None) -> jax.ShapeDtypeStruct:
    shape = list(np.shape(leaf))
    if axis is not None:
        del shape[axis]
    return jax.ShapeDtypeStruct(tuple(shape), jax.numpy.result_type(leaf))


def _varies(name: str, ctx: Context) -> Exception:
    return fail(
        ComposeError,
        "CMP216",
        f"{ctx.word}: out_axes is null for {repr(name) if name else 'the output'},"
        " which differs between rows",
        place=ctx.place,
        cure="out_axes: 0     # one value a row; or `- reduce: mean` outside, for one in all",
    )
