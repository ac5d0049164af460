"""The rows of a batch and how they go onto devices: whole, padded, or cut. Imports JAX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from composer.plugin import ComposeError, Context, fail
from composer.transforms._loops import leaf_axes
from composer.transforms._mapped_checks import check_mapped
from composer.transforms._outputs import Path

if TYPE_CHECKING:
    from composer.transforms.pmap import Pmap


@dataclass(frozen=True, slots=True)
class Rows:
    """How the rows of one call are laid out.

    Attributes:
        axes: The mapped axis of every argument leaf, counted from the front; None where
            the leaf is not mapped.
        batch: Number of rows that were given.
        fitted: Number of rows after padding or cutting; a multiple of `devices`.
        devices: Number of devices.
        weight_leaf: Which of the leaves holds the weights of the rows; None without weights.
    """

    axes: tuple[int | None, ...]
    batch: int
    fitted: int
    devices: int
    weight_leaf: int | None

    def check_merge(self, leaf: Any, path: Path, axis: int, ctx: Context) -> None:
        """Refuse an output without the axis that the rows would be joined on.

        Raises:
            ComposeError: CMP209.
        """
        if -leaf.ndim <= axis < leaf.ndim:
            return
        name = ".".join(map(str, path)) or "the output"
        raise fail(
            ComposeError,
            "CMP209",
            f"{ctx.word}: merge joins axis {axis} of {name!r}, but on each device that is"
            f" {leaf.dtype}{list(leaf.shape)}, which has no such axis",
            place=ctx.place,
            cure="sync: pmean     # one value for all devices; or merge: false, one for each",
        )

    def check_place(self, leaf: Any, path: Path, axis: int, ctx: Context) -> None:
        """Refuse a place for the device axis that the output does not have.

        Raises:
            ComposeError: CMP209.
        """
        if -leaf.ndim <= axis + 1 and axis <= leaf.ndim:
            return
        name = ".".join(map(str, path)) or "the output"
        raise fail(
            ComposeError,
            "CMP209",
            f"{ctx.word}: out_axes puts the device axis at {axis} of {name!r}, but on each"
            f" device that is {leaf.dtype}{list(leaf.shape)}",
            place=ctx.place,
            cure=f"out_axes: 0     # or up to {leaf.ndim}" if leaf.ndim else "out_axes: 0",
        )

    def cut_padding(self, leaf: Any, axis: int) -> Any:
        """A merged output without the rows that padding added.

        An output that does not have one entry for each row is left as it is.
        """
        if self.fitted <= self.batch or leaf.shape[axis] != self.fitted:
            return leaf
        return jax.lax.slice_in_dim(leaf, 0, self.batch, axis=axis)


def rows_of_call(
    layer: Pmap,
    ctx: Context,
    values: tuple[tuple[Any, ...], Mapping[str, Any]],
    prefix: tuple[tuple[Any, ...], Mapping[str, Any]],
    devices: int,
) -> Rows:
    """Find the batch size and decide how many rows go onto the devices.

    Raises:
        ComposeError: CMP209 a mapped axis that does not exist; CMP213 axes that do not
            follow the argument's tree; CMP214 sizes that differ; CMP301 rows that do not
            divide, too few rows, or none.
    """
    check_mapped(ctx, *values, *prefix)
    axes, sizes, weight_leaf = _mapped_axes(layer, ctx, values, prefix)
    name, batch = next(iter(sizes.items()))
    if batch == 0:
        raise _wrong_rows(ctx, f"the batch is empty: {name} has 0 rows", "at least one row")
    rest = batch % devices
    fitted = batch
    if rest and layer.remainder == "error":
        raise _does_not_divide(name, batch, devices, ctx)
    if rest and layer.remainder == "drop":
        fitted = batch - rest
        if fitted == 0:
            message = f"remainder: drop drops all {batch} rows of {name} on {devices} devices"
            raise _wrong_rows(
                ctx, message, f"axis_size: {batch}, or a batch of at least {devices} rows"
            )
    elif rest:
        fitted = batch + devices - rest
    return Rows(axes, batch, fitted, devices, weight_leaf)


def _mapped_axes(
    layer: Pmap, ctx: Context, values: Any, prefix: Any
) -> tuple[tuple[int | None, ...], dict[str, int], int | None]:
    """Axes from the front by leaf, sizes by the leaf's shown name, and the weights' leaf."""
    leaves = jax.tree_util.tree_flatten_with_path(values)[0]
    axes: list[int | None] = []
    sizes: dict[str, int] = {}
    weight_leaf = None
    for number, ((path, leaf), axis) in enumerate(
        zip(leaves, leaf_axes(prefix, values), strict=True)
    ):
        name, below = _argument_of(path, ctx)
        if name == layer.weights and axis is not None:
            if below:
                raise _weight_tree(name, ctx)
            weight_leaf = number
        if axis is None:
            axes.append(None)
            continue
        axes.append(axis % jnp.ndim(leaf))
        sizes[f"{name}{below} (axis {axis})"] = jnp.shape(leaf)[axis]
    if layer.weights is not None and weight_leaf is None:
        raise _wrong_rows(
            ctx,
            f"the weights {layer.weights!r} are not mapped, so they cannot be split with the rows",
            f"in_axes: {{{layer.weights}: 0}}     # beside the others",
        )
    return tuple(axes), sizes, weight_leaf


def _weight_tree(name: str, ctx: Context) -> Exception:
    return _wrong_rows(
        ctx,
        f"the weights {name!r} are a tree; they are one array with a weight for each row",
        "weights: NAME     # an argument of its own",
    )


def _argument_of(path: Any, ctx: Context) -> tuple[str, str]:
    """An argument's name and the key path inside it, from a path in (args, kwargs)."""
    first, second, *below = path
    if first.idx == 1:
        return str(second.key), jax.tree_util.keystr(tuple(below))
    names = ctx.arguments
    name = names[second.idx] if second.idx < len(names) else f"argument {second.idx}"
    return name, jax.tree_util.keystr(tuple(below))


def _wrong_rows(ctx: Context, message: str, cure: str) -> Exception:
    return fail(ComposeError, "CMP301", f"{ctx.word}: {message}", place=ctx.place, cure=cure)


def _does_not_divide(name: str, batch: int, devices: int, ctx: Context) -> Exception:
    return fail(
        ComposeError,
        "CMP301",
        f"{ctx.word}: {batch} rows of {name} do not divide over {devices} devices",
        place=ctx.place,
        notes=[f"{batch} = {devices} * {batch // devices} + {batch % devices}"],
        cure="remainder: drop     # loses the last rows; or\n"
        "remainder: pad, weights: NAME     # keeps them: one weight a row, 0 for padding",
    )


def fit_leaf(leaf: Any, axis: int | None, rows: Rows, number: int) -> Any:
    """One argument leaf with as many rows as fit the devices.

    Padding repeats the last row, since made-up zeros can turn a loss into NaN;
    the weights are padded with 0, so it does not count.
    """
    if axis is None or rows.fitted == rows.batch:
        return leaf
    if rows.fitted < rows.batch:
        return jax.lax.slice_in_dim(leaf, 0, rows.fitted, axis=axis)
    last = jax.lax.slice_in_dim(leaf, rows.batch - 1, rows.batch, axis=axis)
    if number == rows.weight_leaf:
        last = jnp.zeros_like(last)
    return jnp.concatenate([leaf, *[last] * (rows.fitted - rows.batch)], axis=axis)
