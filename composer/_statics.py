"""Arguments that hold no arrays: which they are in a call, and keys of their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from composer._freeze import Uncacheable, canonical_key
from composer._recipe import Recipe
from composer._signature import Signature
from composer.errors import ComposeError, fail, nearest


def static_key(static: Mapping[str, object]) -> object:
    """A hashable key of static values.

    Raises:
        ComposeError: CMP401, a value is not hashable.
    """
    for name, value in static.items():
        try:
            hash(value)
        except TypeError:
            raise fail(
                ComposeError,
                "CMP401",
                f"static argument {name!r} is a {type(value).__name__}, which is not hashable",
                cure="a tuple instead of a list, a frozen dataclass instead of a dict",
            ) from None
    return tuple((name, _static_value_key(value)) for name, value in sorted(static.items()))


def _static_value_key(value: object) -> object:
    """Tells 1, 1.0 and True apart, which are equal in Python but give different programs."""
    try:
        return canonical_key(value)
    except Uncacheable:
        return (type(value), value)


def take_static(
    names: frozenset[str], sig: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[str, Any], tuple[Any, ...], dict[str, Any]]:
    """Static values by name, and the other arguments as they stand."""
    order = sig.positional
    static = {name: value for name, value in zip(order, args, strict=False) if name in names}
    others = tuple(
        value for i, value in enumerate(args) if i >= len(order) or order[i] not in names
    )
    static |= {name: value for name, value in kwargs.items() if name in names}
    return static, others, {n: v for n, v in kwargs.items() if n not in names}


def check_static(recipe: Recipe, sig: Signature) -> None:
    """Refuse static names that the function does not have.

    Raises:
        ComposeError: CMP201, CMP203.
    """
    for name in recipe.static:
        if sig.parameters is None:
            raise fail(
                ComposeError,
                "CMP203",
                f"static names {name!r}, but {sig.title} does not tell the names of its arguments",
                place=recipe.static_places.get(name),
                cure="a function of your own around it, with named arguments",
            )
        if name not in sig.names:
            close = nearest(name, sig.names)
            raise fail(
                ComposeError,
                "CMP201",
                f"static names {name!r}, but {sig.title} has no such argument",
                place=recipe.static_places.get(name),
                notes=[f"arguments: {', '.join(sig.names) or 'none'}"],
                cure=f"static: [{close}]" if close else None,
            )


def check_max_traces(recipe: Recipe) -> None:
    """Refuse `max_traces` where nothing compiles.

    Raises:
        ComposeError: CMP410.
    """
    if recipe.max_traces is None or any(layer.transform.compiles() for layer in recipe.layers):
        return
    raise fail(
        ComposeError,
        "CMP410",
        "max_traces counts what is traced beneath a jit, but no layer compiles",
        cure="- jit     # as the last layer",
    )
