"""Problems of one document, collected so that a reader hears of all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from composer._yaml import Document, Path
from composer.errors import Diagnostic, Place, nearest

_LONGEST: Final = 40


@dataclass(frozen=True, slots=True)
class Findings:
    """What is wrong in a document, or in the part of it below `base`.

    Attributes:
        document: What was read.
        base: The path that all other paths here begin at.
        problems: What was found so far; parts of one document share the list.
    """

    document: Document
    base: Path = ()
    problems: list[Diagnostic] = field(default_factory=list)

    def below(self, *path: str | int) -> Findings:
        """The findings in a part of the document."""
        return replace(self, base=(*self.base, *path))

    def at(self, *path: str | int) -> Place:
        """The place of a value, or of the nearest one around it."""
        return self.document.place(*self.base, *path)

    def key_at(self, *path: str | int) -> Place:
        """The place of a key."""
        return self.document.key_place(*self.base, *path)

    def say(
        self,
        code: str,
        message: str,
        place: Place | None,
        cure: str | None = None,
        notes: Iterable[str] = (),
    ) -> None:
        """One problem more."""
        self.problems.append(Diagnostic(code, message, place, tuple(notes), cure))

    def wrong(self, key: str, value: object, wanted: str, cure: str | None = None) -> None:
        """A key whose value is of a wrong type."""
        self.say("CMP033", f"{key}: is {wanted}, not {kind_of(value)}", self.at(key), cure)

    def twice(self, message: str, place: Place, first: Place | None, cure: str) -> None:
        """Something that stands there a second time."""
        self.say("CMP039", message, place, cure, [f"first at {first}"] if first else [])

    def unknown(
        self, given: Mapping[str, object], known: Iterable[str], path: Path, what: str, kind: str
    ) -> None:
        """Every key of a mapping that is not among the known ones.

        Args:
            given: The mapping.
            known: The keys that it may have.
            path: Where it is written.
            what: What it belongs to, for the message.
            kind: `key`, or `parameter` of a layer.
        """
        known = tuple(known)
        for key in given:
            if key not in known:
                close = nearest(str(key), known)
                self.say(
                    "CMP036" if kind == "parameter" else "CMP031",
                    f"{what} has no {kind} {key!r}",
                    self.key_at(*path, key),
                    f"{close}:" if close else None,
                    [f"{kind}s: {', '.join(known) or 'none'}"],
                )

    def missing(
        self,
        key: str,
        given: Mapping[str, object],
        known: Iterable[str],
        message: str,
        cure: str,
        place: Place | None = None,
    ) -> None:
        """A key that must be there; nothing where a misspelt one was found in its place."""
        known = tuple(known)
        if all(other in known or nearest(str(other), known) != key for other in given):
            self.say("CMP032", message, place or self.at(), cure)


def shown(value: object) -> str:
    """A scalar as YAML writes it, shortened; anything else in Python's words."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def kind_of(value: object) -> str:
    """What a value is, in YAML's words: `a number (3)`, `a list`, `true`."""
    if value is None or isinstance(value, bool):
        return shown(value)
    if isinstance(value, int | float):
        return f"a number ({shown(value)})"
    if isinstance(value, str):
        return f"a word ({shown(value)})" if value else "an empty text"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    return f"a {type(value).__name__}"
