"""pmap made slow and obvious: one device, `vmap` with an axis name, sync by NumPy.

Imports JAX. The devices' blocks are cut and put back by NumPy, so an error in the
splitting of `_split.py` cannot hide here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from composer.plugin import Context
from composer.transforms._axes import packed
from composer.transforms._keys import is_key
from composer.transforms._loops import batch_size, leaf_axes, take_row
from composer.transforms._sync import Plan, plan_sync

if TYPE_CHECKING:
    from composer.transforms.pmap import Pmap


def build_reference(layer: Pmap, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
    """A callable of the same arguments and outputs as the pmap."""

    def run(*args: Any, **kwargs: Any) -> Any:
        prefix = layer.axes_of_call(ctx, args, kwargs)
        leaves, treedef = jax.tree.flatten((args, kwargs))
        axes = leaf_axes(prefix, (args, kwargs))
        size = batch_size(leaves, axes)
        count = len(layer.find_devices(ctx)) if layer.split else size
        rows = _row_numbers(size, count, layer)
        blocks = [
            _blocks(leaf, axis, count, rows, layer.split)
            for leaf, axis in zip(leaves, axes, strict=True)
        ]
        on_devices = jax.tree.unflatten(treedef, blocks)
        weights = _weigh(layer, ctx, on_devices, rows, size)
        out = jax.vmap(packed(fn), in_axes=(0, 0), axis_name=layer.axis)(*on_devices)
        plans = plan_sync(layer.sync, out, ctx)
        places = leaf_axes(layer.out_axes if layer.sync is None else None, out)
        done = [
            _outgoing(
                leaf,
                plan,
                layer.out_axes if layer.sync is not None else place,
                layer,
                weights,
                size,
            )
            for leaf, plan, place in zip(jax.tree.leaves(out), plans, places, strict=True)
        ]
        return jax.tree.unflatten(jax.tree.structure(out), done)

    return run


def _row_numbers(size: int, count: int, layer: Pmap) -> list[int]:
    """Which row stands where after padding with the last one, or dropping the rest."""
    if layer.remainder == "drop":
        return list(range(size - size % count))
    return [*range(size), *[size - 1] * (-size % count)]


def _blocks(leaf: Any, axis: int | None, count: int, rows: list[int], split: bool) -> Any:
    """The leaf as [device, ...]: repeated where unmapped, else cut into equal runs of rows."""
    if axis is None:
        parts = [leaf] * count
    elif not split:
        parts = [take_row(leaf, axis, device) for device in range(count)]
    else:
        each = len(rows) // count
        taken = [take_row(leaf, axis, row) for row in rows]
        parts = [_stack(taken[d * each : (d + 1) * each], axis) for d in range(count)]
    return _stack(parts, 0)


def _stack(parts: list[Any], axis: int) -> Any:
    if is_key(parts[0]):
        return jax.numpy.stack(parts, axis=axis)
    return np.stack([np.asarray(part) for part in parts], axis=axis)


def _weigh(layer: Pmap, ctx: Context, on_devices: Any, rows: list[int], size: int) -> Any:
    """f64[device]: each device's sum of weights, after those of padding were set to zero."""
    if layer.weights is None:
        return None
    args, kwargs = on_devices
    number = ctx.argnum(layer.weights, "weights")
    mine = args[number] if number < len(args) else kwargs[layer.weights]
    for position in range(size, len(rows)):
        device, row = divmod(position, len(rows) // len(mine))
        mine[device, row] = 0
    return np.asarray(mine, np.float64).reshape(len(mine), -1).sum(axis=1)


def _outgoing(leaf: Any, plan: Plan, axis: Any, layer: Pmap, weights: Any, size: int) -> Any:
    """One output leaf [device, ...] as the pmap returns it."""
    if plan.word is not None:
        return _synced(leaf, plan.word, weights)
    if axis is None:
        return leaf[0]
    if not layer.merge:
        return np.moveaxis(np.asarray(leaf), 0, axis)
    joined = np.concatenate(list(np.asarray(leaf)), axis=axis)
    padded = layer.remainder == "pad" and joined.shape[axis] == size + -size % len(leaf)
    return np.take(joined, range(size), axis=axis) if padded else joined


def _synced(leaf: Any, word: str, weights: Any) -> Any:
    if word in ("same", "device0"):
        return leaf[0]
    values = np.asarray(leaf)
    if word in ("pmax", "pmin"):
        return values.max(axis=0) if word == "pmax" else values.min(axis=0)
    if word == "psum":
        return values.sum(axis=0)
    if weights is None:
        return values.astype(np.float64).mean(axis=0)
    kept = [w * value.astype(np.float64) for w, value in zip(weights, values, strict=True) if w > 0]
    return sum(kept) / weights.sum()
