"""Values in a few words, for messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def describe(value: Any, depth: int = 0) -> str:
    """One value in a few words: dtype and shape, or a tree of these, or a short repr."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        dims = ", ".join(map(str, value.shape))
        return f"{short_dtype(str(value.dtype))}[{dims}]"
    if isinstance(value, Mapping) and depth < 2:
        inner = ", ".join(
            f"{key}: {describe(item, depth + 1)}" for key, item in [*value.items()][:4]
        )
        return "{" + inner + (", ..." if len(value) > 4 else "") + "}"
    if isinstance(value, list | tuple) and depth < 2:
        inner = ", ".join(describe(item, depth + 1) for item in value[:4])
        return "(" + inner + (", ..." if len(value) > 4 else "") + ")"
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    text = repr(value)
    return text if len(text) <= 30 else f"{type(value).__name__}"


def short_dtype(name: str) -> str:
    """`float32` as `f32`, and so on.

    >>> short_dtype("float32"), short_dtype("bool"), short_dtype("key<fry>")
    ('f32', 'bool', 'key')
    """
    if name.startswith("key<"):
        return "key"
    for long, short in (
        ("bfloat", "bf"),
        ("float", "f"),
        ("uint", "u"),
        ("int", "i"),
        ("complex", "c"),
    ):
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name
