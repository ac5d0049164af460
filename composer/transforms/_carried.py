"""A loop's carry must come out as it went in, said before JAX says it. Imports JAX."""

from __future__ import annotations

from typing import Any

import jax

from composer._describe import describe, short_dtype
from composer.plugin import ComposeError, Context, fail
from composer.transforms._outputs import leaves_with_paths
from composer.transforms._tangents import describe_tree, same_structure


def check_carry(before: Any, after: Any, ctx: Context, what: str = "the carry") -> None:
    """Refuse a carry whose structure, shapes or dtypes change in one step.

    A weakly typed carry, such as the Python number 0.0, takes the dtype that comes out:
    JAX promotes it, and judges it.

    Args:
        before: As the step gets it: traced.
        after: As the step returns it.
        ctx: The layer's.
        what: What the value is called.

    Raises:
        ComposeError: CMP222.
    """
    if not same_structure(before, after):
        found = f"{what} goes in as {describe_tree(before)} and comes out as {describe_tree(after)}"
        raise _changed(found, "its structure", f"return {describe_tree(before)}", ctx)
    outgoing = jax.tree.leaves(after)
    for (path, old), new in zip(leaves_with_paths(before), outgoing, strict=True):
        was, now = jax.typeof(old), jax.typeof(new)
        where = what + "".join(f"[{key!r}]" for key in path)
        if was.shape != now.shape:
            found = f"{where} goes in as {describe(was)} and comes out as {describe(now)}"
            raise _changed(found, "its shape", f"return it as {describe(was)}", ctx)
        if was.dtype != now.dtype and not was.weak_type:
            found = f"{where} goes in as {_dtype(was)} and comes out as {_dtype(now)}"
            cure = f"new.astype({str(was.dtype)!r})     # or give {where} as {_dtype(now)}"
            raise _changed(found, "its dtype", cure, ctx)


def _changed(found: str, what: str, cure: str, ctx: Context) -> Exception:
    return fail(
        ComposeError,
        "CMP222",
        f"{ctx.word}: {found}; it must keep {what}, since one program does all steps",
        place=ctx.place,
        cure=cure,
    )


def _dtype(aval: Any) -> str:
    return short_dtype(str(aval.dtype))


def carry_and_output(out: Any, ctx: Context) -> tuple[Any, Any]:
    """The two parts of what a scanned function returns.

    Raises:
        ComposeError: CMP223, it is no pair.
    """
    if isinstance(out, tuple | list) and len(out) == 2:
        return out[0], out[1]
    raise fail(
        ComposeError,
        "CMP223",
        f"{ctx.word}: the layer below returns {describe_tree(out)}, which is no pair (carry, y)",
        place=ctx.place,
        cure="return carry, y     # in the function; y may be None\n"
        "- repeat: 10        # instead of scan, for a carry alone",
    )
