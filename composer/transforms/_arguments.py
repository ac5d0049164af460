"""Arguments by name or position, and parts of them: shared by layers that change some.

Imports no JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from composer.plugin import ComposeError, Context, fail
from composer.transforms._outputs import Path

Which = int | str | tuple[int | str, ...]


def several(value: Which | None) -> tuple[int | str, ...]:
    """One or more names or positions as a tuple; nothing for None."""
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def find_argument(item: int | str, ctx: Context, what: str) -> str | int:
    """An argument that holds arrays, as `Context.resolve`; by keyword only is fine too.

    Raises:
        ComposeError: CMP201, CMP202, CMP203; CMP205 if it is static.
    """
    found = ctx.resolve(item, what)
    if found in ctx.static:
        ctx.argnum(item, what)
    return found


def argument_path(item: int | str, ctx: Context, what: str) -> tuple[str | int, Path]:
    """An argument, and the keys and positions behind the dots: `params.layers.0`.

    Raises:
        ComposeError: as `find_argument`.
    """
    if isinstance(item, int):
        return find_argument(item, ctx, what), ()
    name, *keys = item.split(".")
    path = tuple(int(key) if key.lstrip("-").isdigit() else key for key in keys)
    return find_argument(name, ctx, what), path


def change_arguments(
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    ctx: Context,
    changes: Mapping[str | int, Callable[[Any], Any]],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of one call, some of them changed.

    An argument that the call leaves to its default stays left: filled in, it would be
    an argument that a vmap inside has to map.

    Args:
        args: By position, as the layer gets them.
        kwargs: By keyword.
        ctx: The layer's.
        changes: What becomes of an argument, by its name or position.

    Raises:
        ComposeError: CMP202, a position that the call does not reach.
    """
    positional, named = list(args), dict(kwargs)
    for which, change in changes.items():
        if isinstance(which, str) and which in named:
            named[which] = change(named[which])
            continue
        number = _number(which, ctx)
        if number is None:
            continue
        if number < len(positional):
            positional[number] = change(positional[number])
        elif isinstance(which, int):
            raise fail(
                ComposeError,
                "CMP202",
                f"{ctx.word}: arguments names position {which}, but the call has {len(args)}",
                place=ctx.place,
            )
    return tuple(positional), named


def _number(which: str | int, ctx: Context) -> int | None:
    """Where an argument stands among those given by position; None: nowhere."""
    if isinstance(which, int):
        return which
    names = ctx.arguments
    return names.index(which) if which in names else None
