"""Arguments that a layer takes out of a call to do something with: a carry, rows, primals.

Imports no JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from composer.plugin import ComposeError, Context, Transform, fail
from composer.transforms._arguments import Which, find_argument, several

Call = tuple[tuple[Any, ...], Mapping[str, Any]]
"""The arguments of one call: by position, and by keyword."""


def check_which(layer: Transform, field: str, value: Which | None) -> None:
    """Refuse an empty list of arguments, and an argument that is listed twice.

    Raises:
        ParameterError: CMP037.
    """
    if value == ():
        raise layer.wrong(field, "names no argument")
    items = several(value)
    twice = next((item for item in items if items.count(item) > 1), None)
    if twice is not None:
        raise layer.wrong(field, f"names {twice!r} twice")


def choose(value: Which | None, ctx: Context, what: str) -> tuple[str | int, ...]:
    """Names of the chosen arguments; positions in the call where they have no names.

    Raises:
        ComposeError: CMP201, CMP202, CMP203 or CMP205, as `find_argument`; CMP204, one
            argument is chosen twice, by name and by position.
    """
    found = tuple(find_argument(item, ctx, what) for item in several(value))
    refuse_twice(found, ctx, what)
    return found


def refuse_twice(found: tuple[str | int, ...], ctx: Context, what: str) -> None:
    """Refuse an argument that is chosen twice.

    Raises:
        ComposeError: CMP204.
    """
    twice = next((item for item in found if found.count(item) > 1), None)
    if twice is not None:
        raise fail(
            ComposeError,
            "CMP204",
            f"{ctx.word}: {shown(twice, ctx)} is named twice in {what}",
            place=ctx.place,
            cure="each argument once",
        )


def shown(which: str | int, ctx: Context) -> str:
    """What a chosen argument is called in messages."""
    if isinstance(which, str):
        return which
    return ctx.arguments[which] if which < len(ctx.arguments) else f"argument {which}"


def values_of(which: tuple[str | int, ...], ctx: Context, call: Call, what: str) -> tuple[Any, ...]:
    """The values of the chosen arguments in one call; defaults where it leaves them out.

    Raises:
        ComposeError: CMP204, an argument without a default is not given.
    """
    return tuple(_value(item, ctx, call, what) for item in which)


def _value(which: str | int, ctx: Context, call: Call, what: str) -> Any:
    args, kwargs = call
    position = _position(which, ctx)
    if position is not None and position < len(args):
        return args[position]
    if which in kwargs:
        return kwargs[str(which)]
    for parameter in ctx.signature.parameters or ():
        if parameter.name == which and parameter.default is not parameter.empty:
            return parameter.default
    raise fail(
        ComposeError,
        "CMP204",
        f"{ctx.word}: {what} is {shown(which, ctx)}, which the call does not give",
        place=ctx.place,
        notes=[f"given: {', '.join([*ctx.arguments[: len(args)], *kwargs]) or 'nothing'}"],
    )


def with_values(
    fn: Callable[..., Any], which: tuple[str | int, ...], ctx: Context, call: Call
) -> Callable[..., Any]:
    """`fn` as a function of the chosen arguments, by position; the others are closed over.

    An argument that the call leaves out and that is not chosen stays left out.
    """
    args, kwargs = call

    def chosen(*values: Any) -> Any:
        positional, named = list(args), dict(kwargs)
        for item, value in zip(which, values, strict=True):
            position = _position(item, ctx)
            if position is not None and position < len(positional):
                positional[position] = value
            else:
                named[str(item)] = value
        return fn(*positional, **named)

    return ctx.named(chosen)


def _position(which: str | int, ctx: Context) -> int | None:
    """Where an argument stands among those given by position; None: nowhere."""
    if isinstance(which, int):
        return which
    return ctx.arguments.index(which) if which in ctx.arguments else None


def pack(values: tuple[Any, ...], written: Which) -> Any:
    """The values of a list of arguments as a tuple; of one argument, the value itself."""
    return values if isinstance(written, tuple) else values[0]


def unpack(value: Any, written: Which | None) -> tuple[Any, ...]:
    """The reverse of `pack`; nothing where no argument is written."""
    if written is None:
        return ()
    return tuple(value) if isinstance(written, tuple) else (value,)
