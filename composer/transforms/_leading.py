"""Rows along the first axis of some arguments: shared by scan and map. Imports JAX."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from composer._describe import describe
from composer.plugin import ComposeError, Context, fail
from composer.transforms._chosen import shown
from composer.transforms._loops import take_row
from composer.transforms._outputs import leaves_with_paths


def rows_in(
    which: tuple[str | int, ...], values: tuple[Any, ...], ctx: Context, length: int | None = None
) -> int:
    """The one length of the first axes of all arrays, or `length` where there are none.

    Raises:
        ComposeError: CMP209, an array without axes; CMP214, different lengths; CMP206, no
            array and no length.
    """
    sizes: dict[str, int] = {}
    for item, value in zip(which, values, strict=True):
        for path, leaf in leaves_with_paths(value):
            name = shown(item, ctx) + "".join(f"[{key!r}]" for key in path)
            sizes[name] = _first_axis(name, leaf, ctx)
    if length is not None:
        sizes["length"] = length
    if not sizes:
        raise fail(
            ComposeError,
            "CMP206",
            f"{ctx.word}: there are no rows: {_named(which, ctx)} holds no array",
            place=ctx.place,
            cure="at least one array in xs",
        )
    if len(set(sizes.values())) > 1:
        raise fail(
            ComposeError,
            "CMP214",
            f"{ctx.word}: the rows do not agree in number",
            place=ctx.place,
            notes=[f"{name}: {size}" for name, size in sizes.items()],
            cure="xs with the same length along the first axis",
        )
    return next(iter(sizes.values()))


def _first_axis(name: str, leaf: Any, ctx: Context) -> int:
    if np.ndim(leaf):
        return int(np.shape(leaf)[0])
    raise fail(
        ComposeError,
        "CMP209",
        f"{ctx.word}: xs goes through the rows of {name}, but it is {describe(leaf)},"
        " which has no axis",
        place=ctx.place,
        cure=f"xs without {name.partition('[')[0]}: it is the same for all rows then",
    )


def _named(which: tuple[str | int, ...], ctx: Context) -> str:
    return ", ".join(shown(item, ctx) for item in which) or "the call"


def row_of(values: tuple[Any, ...], number: int) -> tuple[Any, ...]:
    """One row of every array, by NumPy."""
    row: tuple[Any, ...] = jax.tree.map(lambda leaf: take_row(leaf, 0, number), values)
    return row


def no_rows(shape: Any) -> Any:
    """What a loop over no rows returns: arrays with a first axis of length 0."""
    return jax.tree.map(lambda leaf: np.zeros((0, *leaf.shape), leaf.dtype), shape)
