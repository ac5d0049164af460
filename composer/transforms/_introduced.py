"""Arguments that a layer adds to those of its function: tangents, cotangents.

Imports no JAX.
"""

from __future__ import annotations

import inspect
import keyword
from dataclasses import replace
from typing import Any

from composer.plugin import ComposeError, Context, Signature, Transform, fail
from composer.transforms._chosen import Call


def check_name(layer: Transform, field: str, name: object) -> None:
    """Refuse what cannot be the name of an argument.

    Raises:
        ParameterError: CMP037.
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise layer.wrong(field, f"holds {name!r}, which cannot name an argument")


def _by_keyword_only(sig: Signature) -> bool:
    """Whether added arguments have no position, as Python itself would have it.

    Behind `*args`, or behind an argument with a default, a required argument can only
    be passed by keyword.
    """
    return sig.open_ended or any(not sig.required(name) for name in sig.positional)


def with_arguments(sig: Signature, names: tuple[str, ...]) -> Signature:
    """The signature with arguments added behind those that can be passed by position."""
    if sig.parameters is None:
        return sig
    if not _by_keyword_only(sig):
        cut = len(sig.positional)
        added = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    else:
        last = sig.parameters[-1:]
        cut = len(sig.parameters) - any(p.kind is inspect.Parameter.VAR_KEYWORD for p in last)
        added = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in names]
    return replace(sig, parameters=(*sig.parameters[:cut], *added, *sig.parameters[cut:]))


def refuse_clash(name: str, ctx: Context, cure: str) -> None:
    """Refuse an added name that the function below has already.

    Raises:
        ComposeError: CMP210.
    """
    if name in ctx.signature.names:
        raise fail(
            ComposeError,
            "CMP210",
            f"{ctx.word} adds an argument {name!r}, but {ctx.signature.title} has one already",
            place=ctx.place,
            notes=[f"arguments: {', '.join(ctx.signature.names)}"],
            cure=cure,
        )


def take_added(
    names: tuple[str, ...], ctx: Context, call: Call, what: str
) -> tuple[tuple[Any, ...], Call]:
    """The values of the added arguments, and the call without them.

    Raises:
        ComposeError: CMP204, one is not given, or more is given than there is room for.
    """
    args, kwargs = call
    named = dict(kwargs)
    behind: tuple[Any, ...] = ()
    if not ctx.signature.open_ended:
        room = len(ctx.arguments)
        args, behind = args[:room], args[room:]
        by_position = () if _by_keyword_only(ctx.signature) else names
        if len(behind) > len(by_position):
            raise _too_many(names, ctx, room + len(behind))
    given = dict(zip(names, behind, strict=False))
    for name in names[len(behind) :]:
        if name not in named:
            raise fail(
                ComposeError,
                "CMP204",
                f"{ctx.word}: the call does not give {name!r}, the {what}",
                place=ctx.place,
                cure=f"{name}=...     # at the call",
            )
        given[name] = named.pop(name)
    return tuple(given[name] for name in names), (args, named)


def _too_many(names: tuple[str, ...], ctx: Context, given: int) -> Exception:
    outer = with_arguments(ctx.signature.without(*ctx.static), names)
    return fail(
        ComposeError,
        "CMP204",
        f"{ctx.word}: called with {given} arguments by position, but takes"
        f" {len(outer.positional)}: {outer.to_inspect()}",
        place=ctx.place,
        cure=f"{names[0]}=...     # at the call",
    )


def parameter_order(names: list[str], sig: Signature) -> list[str]:
    """Names in the order of the signature; those it does not tell behind, by the alphabet."""
    known = [name for name in sig.names if name in names]
    return known + sorted(name for name in names if name not in known)
