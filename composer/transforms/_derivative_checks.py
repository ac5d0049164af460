"""What a derivative needs of its function, said before JAX says it. Imports no JAX at the top."""

from __future__ import annotations

from typing import Any

from composer.plugin import ComposeError, Context, fail
from composer.transforms._outputs import describe, leaves_with_paths


def check_reached(args: tuple[Any, ...], upto: int, ctx: Context) -> None:
    """Refuse a call without the argument that is differentiated.

    Raises:
        ComposeError: CMP204.
    """
    if len(args) >= upto:
        return
    names = ctx.arguments
    last = repr(names[upto - 1]) if upto <= len(names) else f"argument {upto - 1}"
    raise fail(
        ComposeError,
        "CMP204",
        f"{ctx.word}: argnums names {last}, but the call gives {len(args)}"
        f" argument{'s' if len(args) != 1 else ''} by position",
        place=ctx.place,
        cure=f"{last.strip(chr(39))} in the call",
    )


def check_inputs(args: tuple[Any, ...], nums: int | tuple[int, ...], ctx: Context) -> None:
    """Refuse to differentiate integers, naming the argument and the leaf.

    Raises:
        ComposeError: CMP212.
    """
    import jax.numpy as jnp

    for num in nums if isinstance(nums, tuple) else (nums,):
        if num >= len(args):
            continue
        name = ctx.arguments[num] if num < len(ctx.arguments) else f"argument {num}"
        for path, leaf in leaves_with_paths(args[num]):
            dtype = jnp.result_type(leaf) if _is_number(leaf) else None
            if dtype is not None and not jnp.issubdtype(dtype, jnp.inexact):
                where = name + "".join(f"[{key!r}]" for key in path)
                raise _integer(where, str(dtype), name, ctx, whole=not path)


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, int | float | complex) or hasattr(leaf, "dtype")


def _integer(where: str, dtype: str, name: str, ctx: Context, *, whole: bool) -> Exception:
    others = [other for other in ctx.arguments if other != name]
    cure = f"{name} as a floating array"
    if not whole:
        cure = f"only floating leaves in {name}; the others as an argument of their own"
    elif others:
        cure = f"argnums: {others[0]}     # or {cure}"
    return fail(
        ComposeError,
        "CMP212",
        f"{ctx.word}: {where} is {dtype}, and integers have no derivative",
        place=ctx.place,
        cure=cure,
    )


def checked_output(out: Any, ctx: Context, *, has_aux: bool, scalar: bool) -> None:
    """Refuse an output that cannot be differentiated as the layer says.

    Raises:
        ComposeError: CMP215, `has_aux` and not (value, aux), or the other way round;
            CMP211, not one floating or complex scalar.
    """
    if has_aux and not (isinstance(out, tuple | list) and len(out) == 2):
        raise fail(
            ComposeError,
            "CMP215",
            f"{ctx.word}: has_aux is true, but the layer below returns {describe(out)}",
            place=ctx.place,
            cure="return value, aux     # in the function; or has_aux: false",
        )
    value = out[0] if has_aux else out
    if not scalar:
        return
    if isinstance(value, tuple | list | dict):
        pair = not has_aux and isinstance(value, tuple) and len(value) == 2
        raise _not_scalar(describe(value), "has_aux: true" if pair else "select: 0", ctx)
    if value is None or isinstance(value, str):
        raise _not_scalar(
            "None" if value is None else f"the text {value!r}",
            "return value     # a floating number",
            ctx,
        )
    if getattr(value, "shape", ()) != ():
        raise _not_scalar(
            describe(value),
            f"- reduce: mean     # before {ctx.word}, for one value; or\n"
            f"- jacrev           # instead of {ctx.word}, for a derivative of each\n"
            f"# for one gradient a row, {ctx.word} stands before the vmap",
            ctx,
        )
    import jax.numpy as jnp

    if _is_number(value) and not jnp.issubdtype(jnp.result_type(value), jnp.inexact):
        raise _not_scalar(
            f"{jnp.result_type(value)}, which has no derivative",
            "return value     # a floating number, not a count or a comparison",
            ctx,
        )


def _not_scalar(found: str, cure: str, ctx: Context) -> Exception:
    return fail(
        ComposeError,
        "CMP211",
        f"{ctx.word} needs one scalar, but the layer below returns {found}",
        place=ctx.place,
        cure=cure,
    )
