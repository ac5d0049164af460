"""A resolved pipeline as text, each line with where it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from composer._overlay.nodes import Origin
from composer._overlay.resolve import Resolved
from composer._yaml import Document, Path, dump, parse
from composer.errors import Place, printable

_WIDEST: Final = 64


def annotated(resolved: Resolved, keys: Sequence[str], *, every: bool = False) -> str:
    """The pipeline as YAML; comments say where values came from.

    Args:
        resolved: What is written.
        keys: The keys of a pipeline, in the order in which they are written.
        every: Say it of each value; else only of those that are not in the file itself.

    Raises:
        PipelineError: CMP041, the text would be too large.
    """
    given = resolved.document.data
    assert isinstance(given, dict)
    text = dump({key: given[key] for key in sorted(given, key=list(keys).index)})
    # The text is read again: its writer alone knows on which line each value stands.
    said = {line.number: line.comment(resolved, every) for line in _lines(parse(text))}
    lines = text.splitlines()
    widths = [len(lines[at]) for at, comment in said.items() if comment]
    column = max((width for width in widths if width <= _WIDEST), default=0)
    for at, comment in said.items():
        if comment:
            lines[at] = f"{lines[at]:<{column}}  # {comment}"
    return "\n".join(lines) + "\n"


def origin_text(origin: Origin, place: Place) -> str:
    """Who wrote a value, in a few words: `profile laptop, train.yaml:20`."""
    if origin.edit is not None:
        return origin.edit
    where = f"{printable(origin.file or '<text>')}:{place.line}"
    return f"profile {printable(origin.profile)}, {where}" if origin.profile else f"from {where}"


def origins_data(resolved: Resolved) -> list[dict[str, object]]:
    """Who wrote each value, and where, for a program to read.

    A list, because a key of a pipeline may hold any character that could join a path.
    """
    found: list[dict[str, object]] = []
    for path in _leaves(resolved.document.data, ()):
        origin, place = resolved.origin(path), resolved.document.place(*path)
        where = {"file": place.file, "line": place.line, "column": place.column}
        found.append({"path": list(path), **where, "profile": origin.profile, "edit": origin.edit})
    return found


@dataclass(slots=True)
class _Line:
    """A line of the text that values stand on.

    Attributes:
        number: Counted from 0.
        subject: The outermost value that begins there.
        values: The scalars and empty collections there.
    """

    number: int
    subject: Path
    values: list[Path]

    def comment(self, resolved: Resolved, every: bool) -> str:
        """What is said of the values; nothing where all are of the file itself."""
        own, place_of = Origin(resolved.document.file), resolved.document.place
        origins = {path: resolved.origin(path) for path in self.values}
        groups: dict[Origin, list[Path]] = {}
        for path, origin in origins.items():
            if every or origin != own:
                groups.setdefault(origin, []).append(path)
        # A bare layer that was given a parameter keeps the word that somebody else wrote.
        if len({*origins.values(), resolved.origin(self.subject)}) == 1:
            return "".join(origin_text(o, place_of(*self.subject)) for o in groups)
        return "; ".join(
            f"{', '.join(self._names(found))}: {origin_text(origin, place_of(*found[0]))}"
            for origin, found in groups.items()
        )

    def _names(self, found: list[Path]) -> list[str]:
        """The values that are meant; a mapping that is meant as a whole by its own name."""
        shared = _shared(self.values)
        others = [path for path in self.values if path not in found]
        names: dict[Path, str] = {}
        for path in found:
            length = shared + 1
            while any(other[:length] == path[:length] for other in others):
                length += 1
            names[path[:length]] = printable(".".join(map(str, path[shared:length])))
        return list(names.values())


def _shared(paths: list[Path]) -> int:
    """How many keys all paths begin with, leaving each path one of its own."""
    shortest = min(map(len, paths)) - 1
    return next((at for at in range(shortest) if len({path[at] for path in paths}) > 1), shortest)


def _lines(written: Document) -> list[_Line]:
    found: dict[int, _Line] = {}
    for path in _leaves(written.data, ()):
        number = written.key_place(*path).line - 1
        if number not in found:
            found[number] = _Line(number, _subject(written, path, number), [])
        found[number].values.append(path)
    return list(found.values())


def _subject(written: Document, path: Path, number: int) -> Path:
    """The outermost of a value and what it belongs to that begins on the same line."""
    heads = (path[:length] for length in range(1, len(path) + 1))
    return next(head for head in heads if written.key_place(*head).line - 1 == number)


def _leaves(data: object, path: Path) -> Iterator[Path]:
    """The paths of scalars and of empty collections."""
    if isinstance(data, dict) and data:
        for key, part in data.items():
            yield from _leaves(part, (*path, key))
    elif isinstance(data, list) and data:
        for number, item in enumerate(data):
            yield from _leaves(item, (*path, number))
    else:
        yield path
