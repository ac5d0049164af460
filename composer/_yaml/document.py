"""What a pipeline's text becomes: plain data, and where each part of it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from composer.errors import Place

Path = tuple[str | int, ...]
"""Keys and positions from the root to a node: `("stack", 0, "vmap")`."""

Span = tuple[int, int, int, int]
"""First line, first column, last line, last column; from 0, the end exclusive."""

_WORD: Final = re.compile(r""""[^"]*"|'[^']*'|[^\s:,\[\]{}]+""")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class Source:
    """The text, and its lines once somebody asks for them."""

    __slots__ = ("_lines", "file", "text")

    def __init__(self, text: str, file: str | None) -> None:
        self.text = text
        self.file = file
        self._lines: list[str] | None = None

    def line(self, number: int) -> str:
        """The line, counted from 0; empty past the end of the text."""
        if self._lines is None:
            self._lines = _LINE_END.split(self.text)
        return self._lines[number] if number < len(self._lines) else ""

    def place(self, span: Span) -> Place:
        """The place of a span.

        What goes over several lines is underlined to the end of its first; a block
        collection, whose span is empty, is underlined at its first word.
        """
        line, column, end_line, end_column = span
        text = self.line(line)
        width = (end_column if end_line == line else len(text.rstrip())) - column
        if width <= 0 and (word := _WORD.match(text, column)):
            width = word.end() - column
        return Place(self.file, line + 1, column + 1, text, max(1, width))


class Places(Mapping[Path, Place]):
    """The place of each node. Places are made when they are asked for.

    Only an error or a listing asks, so that reading 1,000 layers pays for none.
    """

    __slots__ = ("_source", "_spans")

    def __init__(self, source: Source, spans: Mapping[Path, Span]) -> None:
        self._source = source
        self._spans = spans

    def __getitem__(self, path: Path) -> Place:
        return self._source.place(self._spans[path])

    def __contains__(self, path: object) -> bool:
        return path in self._spans

    def __iter__(self) -> Iterator[Path]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)


@dataclass(frozen=True, slots=True)
class Document:
    """A text that was read.

    Attributes:
        data: dict, list, str, int, float, bool or None; keys are str or int.
        file: The file as the user named it; None for text without a file.
        text: The whole text, without a byte order mark.
        places: The place of each value; `()` is the root.
        keys: The place of each mapping key; the path ends in that key.
    """

    data: object
    file: str | None
    text: str
    places: Mapping[Path, Place]
    keys: Mapping[Path, Place]

    def place(self, *path: str | int) -> Place:
        """The place of the value, or of its nearest ancestor that was written."""
        while path not in self.places:
            path = path[:-1]
        return self.places[path]

    def key_place(self, *path: str | int) -> Place:
        """The place of the key; where there is no such key, what `place` says."""
        return self.keys[path] if path in self.keys else self.place(*path)
