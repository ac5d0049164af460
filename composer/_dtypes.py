"""The names of dtypes, short and long, as pipelines write them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from composer.errors import nearest

LONG_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bool": "bool",
        **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
        **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
        "bf16": "bfloat16",
        **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
        **{f"c{bits}": f"complex{bits}" for bits in (64, 128)},
        "key": "key",
    }
)
"""NumPy's name of each dtype by the short one; `key` is a typed PRNG key."""

SHORT_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {long: short for short, long in LONG_NAMES.items()}
)

_OTHERS: Final[Mapping[str, str]] = MappingProxyType(
    {"float": "f32", "double": "f64", "int": "i32", "uint": "u32", "complex": "c64"}
)


def short_name(word: str) -> str | None:
    """The short name of a dtype given by either name; None for a word that is none.

    >>> short_name("float32"), short_name("bf16"), short_name("float")
    ('f32', 'bf16', None)
    """
    return word if word in LONG_NAMES else SHORT_NAMES.get(word)


def likely_dtype(word: str) -> str | None:
    """The dtype that a wrong word probably means.

    >>> likely_dtype("float"), likely_dtype("bfloat"), likely_dtype("relu")
    ('f32', 'bfloat16', None)
    """
    return _OTHERS.get(word) or nearest(word, [*LONG_NAMES, *SHORT_NAMES])
