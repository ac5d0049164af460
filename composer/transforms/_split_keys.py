"""Making keys from one key: at once, and in a loop to compare with. Imports JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from composer.plugin import ComposeError, Context, fail
from composer.transforms._bound_axes import bound_size
from composer.transforms._keys import is_key

if TYPE_CHECKING:
    from composer.transforms.split_key import SplitKey


def split(layer: SplitKey, ctx: Context, key: Any, beside: Any) -> Any:
    """The key of this row or step, or the keys of all rows.

    Args:
        layer: How to split.
        ctx: The layer's.
        key: key[], or u32[2] for a raw key.
        beside: The value of `like` or `fold`.

    Returns:
        key[] for `axis_name` and `fold`, key[rows] for `num` and `like`.

    Raises:
        ComposeError: CMP220, what was passed is not one key or one step; CMP112.
    """
    key = one_key(layer, ctx, key)
    if layer.axis_name is not None:
        bound_size(layer.axis_name, ctx)
        return jax.random.fold_in(key, lax.axis_index(layer.axis_name))
    if layer.fold is not None:
        return jax.random.fold_in(key, one_step(layer, ctx, beside))
    return jax.random.split(key, rows_of(layer, ctx, beside))


def split_in_a_loop(layer: SplitKey, ctx: Context, key: Any, beside: Any) -> Any:
    """The same, made row by row."""
    key = one_key(layer, ctx, key)
    if layer.axis_name is not None:
        rows = bound_size(layer.axis_name, ctx)
        keys = [jax.random.fold_in(key, row) for row in range(rows)]
        return jnp.stack(keys)[lax.axis_index(layer.axis_name)]
    if layer.fold is not None:
        return jax.random.fold_in(key, int(one_step(layer, ctx, beside)))
    rows = rows_of(layer, ctx, beside)
    return jnp.stack([jax.random.split(key, rows)[row] for row in range(rows)])


def one_key(layer: SplitKey, ctx: Context, key: Any) -> Any:
    """The key, if it is one key.

    Raises:
        ComposeError: CMP220.
    """
    if is_key(key):
        if key.ndim == 0:
            return key
    elif hasattr(key, "dtype") and key.dtype == jnp.uint32 and key.ndim == 1:
        return jnp.asarray(key)
    raise fail(
        ComposeError,
        "CMP220",
        f"split_key: {layer.key!r} is {_kind(key)}, which is not one key",
        place=ctx.place,
        notes=["a key is jax.random.key(0), or a raw u32[2] of jax.random.PRNGKey(0)"],
        cure=_cure(layer, key),
    )


def _cure(layer: SplitKey, key: Any) -> str | None:
    """Keys that are split already need no splitting; a vmap that maps them stands outside."""
    if is_key(key) or getattr(key, "dtype", None) == jnp.uint32:
        return f"vmap outside with in_axes that leave {layer.key} out, or no split_key"
    return None


def one_step(layer: SplitKey, ctx: Context, step: Any) -> Any:
    """The step number, if it is one whole number.

    Raises:
        ComposeError: CMP220.
    """
    if np.shape(step) == () and jnp.issubdtype(jnp.result_type(step), jnp.integer):
        return step
    raise fail(
        ComposeError,
        "CMP220",
        f"split_key: fold names {layer.fold!r}, which is {_kind(step)}, not one whole number",
        place=ctx.place,
    )


def rows_of(layer: SplitKey, ctx: Context, like: Any) -> int:
    """How many keys to make.

    Raises:
        ComposeError: CMP209, `like` has no such axis; CMP214, its leaves have several sizes.
    """
    if layer.num is not None:
        return layer.num
    shapes = [np.shape(leaf) for leaf in jax.tree.leaves(like)]
    for shape in shapes:
        if not -len(shape) <= layer.axis < len(shape):
            raise _like(layer, ctx, "CMP209", f"has no axis {layer.axis}: {_sizes(shapes)}")
    sizes = {shape[layer.axis] for shape in shapes}
    if len(sizes) != 1:
        problem = f"has no single size on axis {layer.axis}: {_sizes(shapes)}"
        raise _like(layer, ctx, "CMP214", problem)
    return int(sizes.pop())


def _like(layer: SplitKey, ctx: Context, code: str, problem: str) -> Exception:
    return fail(
        ComposeError,
        code,
        f"split_key: like names {layer.like!r}, which {problem}",
        place=ctx.place,
        cure="num: N, or another argument",
    )


def _sizes(shapes: list[tuple[int, ...]]) -> str:
    shown = ", ".join(f"[{', '.join(map(str, shape))}]" for shape in shapes[:4])
    return shown or "it holds no array"


def _kind(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return f"a {type(value).__name__}"
