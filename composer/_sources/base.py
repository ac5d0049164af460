"""What every kind of source has in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Final

import msgspec

from composer._freeze import canonical_key
from composer._sources.shapes import Shape, ShapeError, ShapeTree, parse_dtype

_PLAIN: Final = ("value", "file", "call", "ref")
_NUMBERS: Final = ("random", "key", "zeros", "ones", "full", "eye")
_RANGES: Final = ("linspace", "logspace", "geomspace", "arange")
WORDS: Final = (*_PLAIN, *_NUMBERS, *_RANGES)
"""The words of all kinds: a mapping that begins with one is a source of that kind."""

_REFERENCE = re.compile(r"[^:\s][^:]*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class SourceError(ValueError):
    """A source whose parts do not fit each other.

    Attributes:
        field: The field to point at, or None for the whole source.
        cure: What to write instead, or None.
    """

    def __init__(self, message: str, field: str | None = None, cure: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.cure = cure


class Source(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One way to get the value of an argument.

    Two sources are equal where no reader can tell them apart: 1, 1.0 and true differ.

    Attributes:
        shape: What the value must look like; None where nothing is declared.

    Raises:
        SourceError: when made with parts that do not fit each other.
    """

    word: ClassVar[str] = ""
    needs_code: ClassVar[bool] = False

    shape: ShapeTree = None

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse, with a SourceError, what the types of the fields cannot say."""

    def to_data(self) -> object:
        """Plain data from which `parse_source` makes this source again."""
        data: dict[str, object] = {self.word: _field_data(getattr(self, self.word))}
        for field in msgspec.structs.fields(type(self)):
            value = getattr(self, field.name)
            if field.name != self.word and (field.required or value != field.default):
                data[field.name] = _field_data(value)
        return data

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Source):
            return NotImplemented
        return type(other) is type(self) and self._key() == other._key()

    # msgspec gives its structs a __ne__ of their own, which compares identities.
    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> object:
        return canonical_key(self.to_data())


def _field_data(value: object) -> object:
    if isinstance(value, Shape):
        return str(value)
    if isinstance(value, tuple):
        return [_field_data(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _field_data(item) for name, item in value.items()}
    return value


def check_dtype(word: str | None) -> None:
    """Refuse, with a SourceError, what is no dtype of numbers."""
    if word is None:
        return
    try:
        short = parse_dtype(word)
    except ShapeError as error:
        raise SourceError(str(error), "dtype", f"dtype: {error.cure}") from None
    if short == "key":
        raise SourceError("a PRNG key is made by {key: 0}", "dtype", "{key: 0}")


def check_reference(text: str, field: str) -> None:
    """Refuse, with a SourceError, what is not `module:name`."""
    if _REFERENCE.fullmatch(text) is None:
        raise SourceError(f"{text!r} is not module:name", field, f"{field}: module:name")
