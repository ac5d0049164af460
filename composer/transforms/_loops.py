"""Mapping by a Python loop over rows: the slow references of vmap and pmap.

Imports JAX, for its trees only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
import numpy as np

from composer.transforms._keys import is_key

Rows = tuple[tuple[Any, ...], dict[str, Any]]

_UNMAPPED: Final = object()


def leaf_axes(prefix: Any, tree: Any) -> list[int | None]:
    """The axis of every leaf, from a prefix tree in which None means unmapped."""
    # A None in the prefix is an axis; a None in the tree is no leaf, and has none.
    marked = jax.tree.map(
        lambda axis: _UNMAPPED if axis is None else axis, prefix, is_leaf=lambda node: node is None
    )
    axes = jax.tree.leaves(jax.tree.broadcast(marked, tree))
    return [None if axis is _UNMAPPED else axis for axis in axes]


def take_row(leaf: Any, axis: int | None, row: int) -> Any:
    """One row of a mapped leaf; an unmapped leaf as it is."""
    if axis is None:
        return leaf
    if is_key(leaf):
        return leaf[(slice(None),) * (axis % leaf.ndim) + (row,)]
    return np.take(np.asarray(leaf), row, axis=axis)


def batch_size(leaves: list[Any], axes: list[int | None]) -> int:
    """The one size of all mapped axes."""
    sizes = {
        np.shape(leaf)[axis] for leaf, axis in zip(leaves, axes, strict=True) if axis is not None
    }
    assert len(sizes) == 1, f"mapped axes of different sizes: {sorted(sizes)}"
    return int(sizes.pop())


def loop_over_rows(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    rows: Rows,
    out_axes: Any,
    size: int | None = None,
) -> Any:
    """Call `fn` for one row after the other; stack the outputs along `out_axes`."""
    leaves, treedef = jax.tree.flatten((args, kwargs))
    axes = leaf_axes(rows, (args, kwargs))
    count = size if size is not None else batch_size(leaves, axes)
    results = []
    for row in range(count):
        taken = [take_row(leaf, axis, row) for leaf, axis in zip(leaves, axes, strict=True)]
        row_args, row_kwargs = jax.tree.unflatten(treedef, taken)
        results.append(fn(*row_args, **row_kwargs))
    return stack_outputs(results, out_axes)


def stack_outputs(results: list[Any], out_axes: Any) -> Any:
    """Equal trees stacked leaf by leaf along each leaf's axis; None takes the first."""
    treedef = jax.tree.structure(results[0])
    axes = leaf_axes(out_axes, results[0])
    columns = zip(*(jax.tree.leaves(result) for result in results), strict=True)
    stacked = [
        column[0] if axis is None else _stack(column, axis)
        for column, axis in zip(columns, axes, strict=True)
    ]
    return jax.tree.unflatten(treedef, stacked)


def _stack(column: tuple[Any, ...], axis: int) -> Any:
    if is_key(column[0]):
        return jax.numpy.stack(column, axis=axis)
    return np.stack([np.asarray(item) for item in column], axis=axis)
