"""A resolved pipeline as text, each line with where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from composer._overlay.nodes import Origin
from composer._overlay.resolve import Resolved
from composer._yaml import Path, dump, parse
from composer.errors import Place, printable

_WIDEST: Final = 64


def annotated(resolved: Resolved, keys: tuple[str, ...], *, every: bool = False) -> str:
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
    data = {key: given[key] for key in sorted(given, key=keys.index)}
    text = dump(data)
    said = _by_line(text, resolved, every)
    lines = text.splitlines()
    widths = [len(line) for at, line in enumerate(lines) if at in said and len(line) <= _WIDEST]
    column = max(widths, default=0)
    for at, comment in said.items():
        lines[at] = f"{lines[at]:<{column}}  # {comment}"
    return "\n".join(lines) + "\n"


def origin_text(origin: Origin, place: Place) -> str:
    """Who wrote a value, in a few words: `profile laptop, train.yaml:20`."""
    if origin.edit is not None:
        return origin.edit
    where = f"{printable(origin.file or 'text')}:{place.line}"
    return f"profile {printable(origin.profile)}, {where}" if origin.profile else f"from {where}"


def _by_line(text: str, resolved: Resolved, every: bool) -> Mapping[int, str]:
    """Comments by line, counted from 0."""
    # The text is read again, because its writer alone knows on which line each value stands.
    written = parse(text)
    lines: dict[int, list[Path]] = {}
    for path, place in written.places.items():
        if _is_leaf(written.data, path):
            lines.setdefault(place.line - 1, []).append(path)
    return {
        at: comment
        for at, paths in lines.items()
        if (comment := _comment(paths, resolved, every))
    }


def _is_leaf(data: object, path: Path) -> bool:
    for key in path:
        assert isinstance(data, dict | list)
        data = data[key]  # type: ignore[index, call-overload]  # a path of this very data
    return not isinstance(data, dict | list) or not data


def _comment(paths: list[Path], resolved: Resolved, every: bool) -> str:
    """What is said of the values on one line."""
    origins = {path: resolved.origin(path) for path in paths}
    own = Origin(resolved.document.file)
    groups: dict[Origin, list[Path]] = {}
    for path, origin in origins.items():
        if every or origin != own:
            groups.setdefault(origin, []).append(path)
    shared = _shared(paths)
    # A layer that an edit gave its first parameter keeps the word that somebody else wrote.
    whole = {*origins.values(), resolved.origin(shared)}
    if len(whole) == 1 and groups:
        return origin_text(origins[paths[0]], resolved.document.place(*paths[0]))
    said = []
    for origin, found in groups.items():
        names = ", ".join(_names(found, paths, len(shared)))
        said.append(f"{names}: {origin_text(origin, resolved.document.place(*found[0]))}")
    return "; ".join(said)


def _names(found: list[Path], paths: list[Path], shared: int) -> list[str]:
    """The values that are meant, each mapping that is meant as a whole by its own name."""
    names: dict[Path, str] = {}
    for path in found:
        length = shared + 1
        while any(other[:length] == path[:length] for other in paths if other not in found):
            length += 1
        names[path[:length]] = printable(".".join(map(str, path[shared:length])))
    return list(names.values())


def _shared(paths: list[Path]) -> Path:
    """The layer, source or collection that all values on one line belong to."""
    low, high = min(paths, key=_order), max(paths, key=_order)
    same = 0
    while same < min(len(low), len(high)) and low[same] == high[same]:
        same += 1
    # A value that stands alone on its line is named by its last key, unless it is bare.
    alone = len(paths) == 1 and len(low) > (3 if low[0] == "stack" else 2)
    return low[: same - 1] if alone else low[:same]


def _order(path: Path) -> list[tuple[bool, str | int]]:
    return [(isinstance(key, str), key) for key in path]
