"""Casting the leaves of a tree, by a dtype or a tree of dtypes. Imports JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from composer._dtypes import LONG_NAMES, short_name
from composer.plugin import ComposeError, Context, Output, fail
from composer.transforms._keys import is_key
from composer.transforms._outputs import leaf_numbers, leaves_with_paths
from composer.transforms._sync import flatten_sync


def with_jax(leaf: Any, dtype: str) -> Any:
    """A leaf with another dtype."""
    return jnp.asarray(leaf).astype(dtype)


def with_numpy(leaf: Any, dtype: str) -> Any:
    """The same on the host."""
    return np.asarray(leaf).astype(jnp.dtype(dtype))


def cast_tree(
    tree: Any,
    spec: object,
    convert: Callable[[Any, str], Any],
    ctx: Context,
    argument: str | None = None,
) -> Any:
    """A tree with the leaves that `spec` means converted.

    Args:
        tree: An argument or the outputs.
        spec: A dtype for the whole, or a tree of dtypes by name, key or position.
        convert: Makes the new leaf from the old one and NumPy's name of the dtype.
        ctx: The layer's.
        argument: The name of the argument; None for the outputs.

    Raises:
        ComposeError: CMP219, a leaf that cannot be cast so; CMP201 or CMP207, an entry
            for a part that does not exist.
    """
    leaves, treedef = jax.tree.flatten(tree)
    paths = [path for path, _ in leaves_with_paths(tree)]
    done = list(leaves)
    for number, (dtype, direct) in _plan(tree, spec, ctx, argument).items():
        where = ".".join(map(str, paths[number]))
        if argument is None:
            name = f"output {where!r}" if where else "the output"
        else:
            name = f"argument {'.'.join(filter(None, (argument, where)))!r}"
        if _casts(leaves[number], dtype, direct, name, ctx):
            done[number] = convert(leaves[number], LONG_NAMES[dtype])
    return jax.tree.unflatten(treedef, done)


def _plan(
    tree: Any, spec: object, ctx: Context, argument: str | None
) -> dict[int, tuple[str, bool]]:
    """By leaf number: the dtype, and whether the entry names the leaf itself."""
    output = ctx.signature.output if argument is None else Output()
    entries = sorted(
        flatten_sync(spec, output, ctx), key=lambda entry: (len(entry.path), not entry.rest)
    )
    plan: dict[int, tuple[str, bool]] = {}
    paths = [path for path, _ in leaves_with_paths(tree)]
    # The nearer entry comes later, so it wins; null takes back what a wider one said.
    for entry in entries:
        for number in leaf_numbers(tree, entry.path, ctx, argument):
            plan.pop(number, None)
            if entry.word is not None:
                short = short_name(entry.word)
                assert short is not None, "checked when the layer was made"
                direct = not entry.rest and len(entry.path) == len(paths[number])
                plan[number] = (short, direct)
    return plan


def _casts(leaf: Any, dtype: str, direct: bool, name: str, ctx: Context) -> bool:
    """Whether a leaf is cast to a dtype; refuses what would lose its meaning."""
    if is_key(leaf) or (
        not isinstance(leaf, bool | int | float | complex | np.generic)
        and not (hasattr(leaf, "dtype") and hasattr(leaf, "shape"))
    ):
        if direct:
            raise _refused(name, "no number", dtype, "", ctx)
        return False
    have = jnp.result_type(leaf)
    if jnp.dtype(LONG_NAMES[dtype]).itemsize > 4 and not _has_64_bits(dtype):
        raise _refused(name, str(have), dtype, "run: {enable_x64: true}     # 64-bit numbers", ctx)
    wanted = "f" if dtype in ("bf16", "f16", "f32", "f64") else dtype[0]
    kind = "f" if jnp.issubdtype(have, jnp.floating) else have.kind
    if wanted == kind and wanted in "fc":
        return True
    integers = wanted in "iu" and kind in "iub"
    if wanted in "iu" and not direct:
        raise _refused(name, str(have), dtype, "the entry of that leaf itself, by its name", ctx)
    if direct and not (integers or (wanted, kind) == ("c", "f")):
        raise _refused(name, str(have), dtype, _cure(wanted), ctx)
    return direct


def _has_64_bits(dtype: str) -> bool:
    return dtype == "c64" or jnp.result_type(float) == jnp.float64


def _cure(wanted: str) -> str:
    if wanted == "f":
        return "leave it out: integers stay as they are; or convert it in the function"
    return "a dtype of its own kind"


def _refused(name: str, have: str, dtype: str, cure: str, ctx: Context) -> Exception:
    return fail(
        ComposeError,
        "CMP219",
        f"{ctx.word}: {name} is {have}, which is not cast to {LONG_NAMES[dtype]}",
        place=ctx.place,
        cure=cure or None,
    )
