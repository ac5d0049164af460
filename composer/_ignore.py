"""Comments that say which findings are meant: `# composer: ignore[CMP112] the reason`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from composer.errors import Diagnostic, Place

_COMMENT: Final = re.compile(r"#\s*composer:\s*ignore\b(?:\[(?P<rules>[^\]]*)\])?")
_WRITE: Final = "# composer: ignore[CODE] the reason"


def without_ignored(
    found: Sequence[Diagnostic], text: str, file: str | None, names: Mapping[str, str]
) -> list[Diagnostic]:
    """The findings whose line does not ignore them, and comments of a file that hide nothing.

    Args:
        found: What was found, in the pipeline's file and in that of the function.
        text: The pipeline's file. What stands in its profiles is not checked: another
            profile may need it.
        file: What that file is called.
        names: The code of each rule, by its name.
    """
    kept, used = [], set()
    for item in found:
        place = item.place
        words = [] if place is None else _ignored(place.text or "")
        hiding = [word for word in words if _means(word, item.code, names)]
        if place is None or not hiding:
            kept.append(item)
        else:
            used |= {(place.file, place.line, word) for word in hiding}
    return [*kept, *_wrong(text, file, used)]


def _ignored(line: str) -> list[str]:
    found = _COMMENT.search(line)
    if found is None or found["rules"] is None:
        return []
    return [word.strip() for word in found["rules"].split(",") if word.strip()]


def _means(word: str, code: str, names: Mapping[str, str]) -> bool:
    return word == code or names.get(word) == code


def _wrong(
    text: str, file: str | None, used: Iterable[tuple[str | None, int, str]]
) -> Iterator[Diagnostic]:
    """Comments that hide nothing, or that name no rule."""
    hit, section = set(used), ""
    for number, line in enumerate(text.splitlines(), 1):
        section = line if line[:1].strip() not in ("", "#") else section
        found = _COMMENT.search(line)
        if found is None or section.startswith("profiles"):
            continue
        place = Place(file, number, found.start() + 1, line, found.end() - found.start())
        words = _ignored(line)
        if not words:
            yield Diagnostic(
                "CMP025",
                "the comment does not say which findings it ignores",
                place,
                cure=_WRITE,
                severity="warning",
            )
        for word in words:
            if (file, number, word) not in hit:
                yield Diagnostic(
                    "CMP024",
                    f"nothing on this line is found as {word}; the comment hides nothing",
                    place,
                    cure="the line without the comment",
                    severity="warning",
                )
