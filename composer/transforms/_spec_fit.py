"""What a partition spec needs of an argument, said before JAX says it. Imports JAX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np
from jax.sharding import PartitionSpec

from composer._describe import describe
from composer.plugin import ComposeError, Context, fail

Given = tuple[str, Any, Any]
"""An argument's name, its specs (a prefix tree), and its value."""


def given_with_specs(
    ctx: Context,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    specs: Any,
    behind: Mapping[str, Any],
) -> list[Given]:
    """The arguments of a call with their specs: one for all, or one for each position."""
    names = [*ctx.arguments, *(f"argument {i}" for i in range(len(ctx.arguments), len(args)))]
    each = specs if isinstance(specs, tuple) else (specs,) * len(args)
    by_keyword = [(name, spec, kwargs[name]) for name, spec in behind.items()]
    return [*zip(names, each, args, strict=False), *by_keyword]


def check_fit(given: Iterable[Given], sizes: Mapping[str, int], ctx: Context) -> None:
    """Refuse arrays with fewer axes than their spec, and axes that do not divide.

    Specs whose tree does not follow the argument's are left to JAX.

    Args:
        given: The arguments of one call.
        sizes: How many devices each axis of the mesh has.
        ctx: The layer's.

    Raises:
        ComposeError: CMP209, CMP301.
    """
    for name, specs, value in given:
        try:
            each = jax.tree.leaves(
                jax.tree.broadcast(specs, value, is_leaf=_is_spec), is_leaf=_is_spec
            )
        except ValueError:
            continue
        for (path, leaf), spec in zip(
            jax.tree_util.tree_flatten_with_path(value)[0], each, strict=True
        ):
            if isinstance(spec, PartitionSpec):
                _check_leaf(name + jax.tree_util.keystr(path), leaf, tuple(spec), sizes, ctx)


def _is_spec(node: Any) -> bool:
    return node is None or isinstance(node, PartitionSpec)


def _check_leaf(
    where: str, leaf: Any, spec: tuple[Any, ...], sizes: Mapping[str, int], ctx: Context
) -> None:
    shape = np.shape(leaf)
    shown = f"[{', '.join(_entry(entry) for entry in spec)}]"
    if len(spec) > len(shape):
        raise fail(
            ComposeError,
            "CMP209",
            f"{ctx.word}: the spec of {where} is {shown}, but it is {describe(leaf)}",
            place=ctx.place,
            cure=f"{where.partition('[')[0]}: []     # whole on every device; or a shorter spec",
        )
    for axis, entry in enumerate(spec):
        names = () if entry is None else entry if isinstance(entry, tuple) else (entry,)
        count = math.prod(sizes.get(name, 1) for name in names)
        rest = shape[axis] % count
        if rest:
            less, more = shape[axis] - rest, shape[axis] - rest + count
            raise fail(
                ComposeError,
                "CMP301",
                f"{ctx.word}: axis {axis} of {where} has size {shape[axis]}, which does not"
                f" divide over {' and '.join(map(repr, names))}: {count} devices",
                place=ctx.place,
                notes=[f"the spec of {where}: {shown}, and it is {describe(leaf)}"],
                cure=f"{f'{less} or {more}' if less else more} in its place: cut or pad before"
                " the call",
            )


def _entry(entry: Any) -> str:
    if isinstance(entry, tuple):
        return f"[{', '.join(map(str, entry))}]"
    return "null" if entry is None else str(entry)
