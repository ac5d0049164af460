"""What jvp and vjp need of tangents and cotangents, said before JAX says it. Imports JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from composer._describe import describe, short_dtype
from composer.plugin import ComposeError, Context, fail
from composer.transforms._outputs import leaves_with_paths


def check_tangent(tangent: Any, name: str, argument: Any, argument_name: str, ctx: Context) -> None:
    """Refuse a tangent that is not like its argument.

    Raises:
        ComposeError: CMP212, the argument holds integers; CMP221, another structure,
            shape or dtype.
    """
    if same_structure(tangent, argument):
        for path, leaf, wanted in _pairs(tangent, argument):
            if not _has_tangents(wanted) and not _is_float0(leaf):
                where = argument_name + _keys(path)
                raise fail(
                    ComposeError,
                    "CMP212",
                    f"{ctx.word}: {where} is {jax.typeof(wanted).dtype}, and integers have no"
                    " derivative",
                    place=ctx.place,
                    cure=f"{argument_name} as a floating array; or no tangent for it",
                )
    _check_like(tangent, name, argument, argument_name, ctx)


def check_cotangent(cotangent: Any, name: str, out: Any, ctx: Context) -> None:
    """Refuse a cotangent that is not like the function's output.

    Raises:
        ComposeError: CMP221.
    """
    _check_like(cotangent, name, out, "the output", ctx)


def _check_like(value: Any, name: str, like: Any, like_name: str, ctx: Context) -> None:
    if not same_structure(value, like):
        found = f"{name} is {describe_tree(value)}, but {like_name} is {describe_tree(like)}"
        raise _unlike(found, f"{name} with the structure of {like_name}", ctx)
    for path, leaf, wanted in _pairs(value, like):
        if jnp.shape(leaf) != jnp.shape(wanted):
            where = _keys(path)
            found = f"{name}{where} is {describe(leaf)}, but {like_name}{where} is"
            raise _unlike(f"{found} {describe(wanted)}", f"{name} of the same shape", ctx)
        dtype = jax.typeof(wanted).dtype if _has_tangents(wanted) else jax.dtypes.float0
        if jax.typeof(leaf).dtype != dtype:
            where = _keys(path)
            found = f"{name}{where} is {_dtype(leaf)}, but {like_name}{where} is {_dtype(wanted)}"
            raise _unlike(found, _other_dtype(f"{name}{where}", dtype), ctx)


def _unlike(found: str, cure: str, ctx: Context) -> Exception:
    return fail(ComposeError, "CMP221", f"{ctx.word}: {found}", place=ctx.place, cure=cure)


def _other_dtype(name: str, dtype: Any) -> str:
    if dtype == jax.dtypes.float0:
        return f"{name} = numpy.zeros(shape, jax.dtypes.float0)     # integers have no derivative"
    return f"{name}.astype({str(dtype)!r})"


def _pairs(value: Any, like: Any) -> list[tuple[tuple[int | str, ...], Any, Any]]:
    leaves = jax.tree.leaves(like)
    return [
        (path, leaf, wanted)
        for (path, leaf), wanted in zip(leaves_with_paths(value), leaves, strict=True)
    ]


def _has_tangents(leaf: Any) -> bool:
    return bool(jnp.issubdtype(jax.typeof(leaf).dtype, jnp.inexact))


def _is_float0(leaf: Any) -> bool:
    return bool(jax.typeof(leaf).dtype == jax.dtypes.float0)


def _keys(path: tuple[int | str, ...]) -> str:
    return "".join(f"[{key!r}]" for key in path)


def _dtype(leaf: Any) -> str:
    return short_dtype(str(jax.typeof(leaf).dtype))


def describe_tree(value: Any) -> str:
    """A tree in a few words, which tell a list from a tuple."""
    kind = f"a {type(value).__name__} " if isinstance(value, tuple | list | dict) else ""
    return kind + describe(value)


def same_structure(first: Any, second: Any) -> bool:
    """Whether two trees differ in their leaves at most."""
    structures: list[Any] = [jax.tree.structure(tree) for tree in (first, second)]
    return bool(structures[0] == structures[1])
