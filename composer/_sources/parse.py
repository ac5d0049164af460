"""Plain data -> sources, with a diagnostic at the place of whatever does not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args, get_origin

import msgspec

from composer._sources.base import WORDS, Source, SourceError
from composer._sources.numbers import (
    Arange,
    Eye,
    Full,
    Geomspace,
    Key,
    Linspace,
    Logspace,
    Ones,
    Random,
    Zeros,
)
from composer._sources.plain import Call, File, Ref, ShapeOnly, Value
from composer._sources.shapes import ShapeError, ShapeTree, looks_like_shape, parse_tree
from composer.errors import Diagnostic, PipelineError, Place, nearest

Path: TypeAlias = tuple[str | int, ...]
PlaceOf: TypeAlias = Callable[[Path], Place | None]

_PLAIN: Final[tuple[type[Source], ...]] = (Value, File, Call, Ref)
_NUMBERS: Final[tuple[type[Source], ...]] = (Random, Key, Zeros, Ones, Full, Eye)
_RANGES: Final[tuple[type[Source], ...]] = (Linspace, Logspace, Geomspace, Arange)
KINDS: Final[Mapping[str, type[Source]]] = MappingProxyType(
    {kind.word: kind for kind in (*_PLAIN, *_NUMBERS, *_RANGES)}
)
"""Each kind by its word."""

_SHAPES: Final = frozenset({"shape", "zeros", "ones", "full"})


def _nowhere(_: Path) -> Place | None:
    return None


def parse_source(
    data: object,
    *,
    path: Path = (),
    place_of: PlaceOf = _nowhere,
    key_place_of: PlaceOf | None = None,
) -> Source:
    """The source that plain data means.

    Args:
        data: As it stands under an argument's name.
        path: Where it stands, for `place_of`; its last word is the argument's name.
        place_of: The place of the value at a path, or None.
        key_place_of: The place of the key at a path; without it, that of its value.

    Raises:
        PipelineError: CMP060, CMP061 and CMP062; all that was found, in one error.

    >>> parse_source({"random": "normal", "shape": "f32[2]", "seed": 0}).to_data()
    {'random': 'normal', 'shape': 'f32[2]', 'seed': 0}
    """
    reader = _Reader(place_of, key_place_of or place_of)
    source = reader.source(data, path)
    if source is None:
        raise PipelineError(*reader.found)
    return source


@dataclass(frozen=True, slots=True)
class _Reader:
    """Collects what it finds; a method that found something returns None."""

    place_of: PlaceOf
    key_place_of: PlaceOf
    found: list[Diagnostic] = field(default_factory=list)

    def source(self, data: object, path: Path) -> Source | None:
        """Any source."""
        if isinstance(data, Mapping):
            return self._mapping(data, path)
        if isinstance(data, str) and looks_like_shape(data):
            return self._shape_only(data, path)
        if isinstance(data, list | tuple):
            return self._list(data, path)
        return self._make(Value, {"value": data}, path, bare=True)

    def _mapping(self, data: Mapping[object, object], path: Path) -> Source | None:
        words = [str(word) for word in data]
        if words and words[0] in KINDS:
            return self._kind(KINDS[words[0]], data, path)
        if words == ["shape"]:
            return self._shape_only(data["shape"], (*path, "shape"))
        if words and _is_shape_tree(data):
            return self._shape_only(data, path)
        self._unknown_kind(words, path)
        return None

    def _list(self, data: list[object] | tuple[object, ...], path: Path) -> Source | None:
        if _is_shape_tree(data):
            return self._shape_only(data, path)
        inner = _first_of(data, lambda item: isinstance(item, Mapping))
        if inner is not None:
            message = f"{_called(path)} is a list with a mapping in it, which is no literal"
            self._say("CMP061", message, self.place_of((*path, *inner)), cure="{value: [...]}")
            return None
        inner = _first_of(data, lambda item: isinstance(item, str) and looks_like_shape(item))
        if inner is not None:
            message = f"{_called(path)} is a list of shapes and other values"
            cure = "shapes only, or for a list of texts: {value: [...]}"
            self._say("CMP062", message, self.place_of((*path, *inner)), cure=cure)
            return None
        return self._make(Value, {"value": data}, path, bare=True)

    def _shape_only(self, data: object, path: Path) -> Source | None:
        tree = self._tree(data, path, bare=True)
        return None if tree is None else self._make(ShapeOnly, {"shape": tree}, path, bare=True)

    def _tree(self, data: object, path: Path, bare: bool = False) -> ShapeTree:
        try:
            return parse_tree(data)
        except ShapeError as error:
            cure = error.cure
            if isinstance(data, str) and bare and cure:
                cure += f"     # or, for the text itself: {{value: {data!r}}}"
            self._say("CMP062", str(error), self.place_of((*path, *error.path)), cure=cure)
            return None

    def _kind(self, kind: type[Source], data: Mapping[object, object], path: Path) -> Source | None:
        before = len(self.found)
        if kind is Call:
            values = self._call(data, path)
        else:
            self._check_words(kind, data, path)
            values = {str(w): self._field(kind, str(w), v, path) for w, v in data.items()}
        return self._make(kind, values, path) if len(self.found) == before else None

    def _call(self, data: Mapping[object, object], path: Path) -> dict[str, object]:
        given = {str(word): value for word, value in data.items()}
        values: dict[str, object] = {
            word: self._field(Call, word, given.pop(word), path)
            for word in ("call", "shape")
            if word in given
        }
        values["arguments"] = {w: self.source(v, (*path, w)) for w, v in given.items()}
        return values

    def _check_words(self, kind: type[Source], data: Mapping[object, object], path: Path) -> None:
        fields = msgspec.structs.fields(kind)
        known = [
            kind.word,
            *(f.name for f in fields if f.name not in (kind.word, "shape")),
            "shape",
        ]
        for word in data:
            if word not in known:
                close = nearest(str(word), known)
                self._say(
                    "CMP061",
                    f"{word!r} is no part of {_a(kind.word)} source",
                    self.key_place_of((*path, str(word))),
                    notes=(f"parts: {', '.join(known)}",),
                    cure=f"{close}: ..." if close else None,
                )
        required = [f.name for f in fields if f.required]
        if kind is Random:
            required.insert(1, "shape")
        # A misspelt word was reported already: it stands for the one that it is like.
        meant = {nearest(str(word), known) for word in data if word not in known}
        for missing in [name for name in required if name not in data and name not in meant]:
            example = '"f32[8, 3]"' if missing in _SHAPES else "0"
            message = f"{_a(kind.word)} source needs {missing}"
            self._say("CMP061", message, self.place_of(path), cure=f"{missing}: {example}")

    def _field(self, kind: type[Source], word: str, value: object, path: Path) -> object:
        """The value of one field, checked against its type."""
        here = (*path, word)
        if word in _SHAPES:
            if value is None:
                self._say("CMP062", f"{word} is null", self.place_of(here), cure='"f32[8, 3]"')
            return self._tree(value, here)
        found = [f for f in msgspec.structs.fields(kind) if f.name == word]
        if not found or (kind is Value and word == "value"):
            return value
        try:
            return msgspec.convert(value, found[0].type, strict=True)
        except msgspec.ValidationError as error:
            message = f"{word} of {_a(kind.word)} source does not fit: {_said(error)}"
            choices = _choices(found[0].type)
            close = nearest(str(value), choices)
            self._say(
                "CMP061",
                message,
                self.place_of(here),
                notes=(f"choices: {', '.join(choices)}",) if choices else (),
                cure=f"{word}: {close}" if close else None,
            )
            return None

    def _make(
        self, kind: type[Source], values: Mapping[str, object], path: Path, bare: bool = False
    ) -> Source | None:
        build: Callable[..., Source] = kind
        try:
            return build(**values)
        except SourceError as error:
            here = path if bare or error.field is None else (*path, error.field)
            message = f"{_called(path)}: {error}"
            self._say("CMP061", message, self.place_of(here), cure=error.cure)
            return None

    def _unknown_kind(self, words: list[str], path: Path) -> None:
        later = [word for word in words if word in KINDS]
        if later:
            message = f"{_called(path)}: the kind of a source stands first, but {words[0]!r} does"
            cure = f"{{{later[0]}: ..., {words[0]}: ...}}"
        else:
            message = f"{_called(path)} is a mapping, but no kind of source"
            close = nearest(words[0], WORDS) if words else None
            cure = f"{{{close}: ...}}" if close else "{value: {...}}     # for the mapping itself"
        place = self.key_place_of((*path, words[0])) if words else self.place_of(path)
        self._say("CMP060", message, place, notes=(f"kinds: {', '.join(WORDS)}",), cure=cure)

    def _say(
        self,
        code: str,
        message: str,
        place: Place | None,
        notes: tuple[str, ...] = (),
        cure: str | None = None,
    ) -> None:
        self.found.append(Diagnostic(code, message, place, notes, cure))


def needs_code(source: Source) -> bool:
    """Whether it reads a file, or runs or names code: what sealed text refuses."""
    inside = source.arguments.values() if isinstance(source, Call) else ()
    return source.needs_code or any(needs_code(item) for item in inside)


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _called(path: Path) -> str:
    return str(path[-1]) if path else "the source"


def _choices(kind: object) -> list[str]:
    """The words that a field can hold; none where it is not a choice."""
    inside = get_args(kind)
    if get_origin(kind) is Literal:
        return [str(word) for word in inside]
    return [word for item in inside for word in _choices(item)]


def _said(error: msgspec.ValidationError) -> str:
    """The sentence of msgspec in YAML's words."""
    said = str(error).partition(" - at `$")[0]
    for theirs, ours in (("object", "mapping"), ("array", "list"), ("str", "text")):
        said = said.replace(f"`{theirs}", f"`{ours}").replace(f"| {theirs}", f"| {ours}")
    return said[0].lower() + said[1:]


def _is_shape_tree(data: object) -> bool:
    """Whether all leaves are meant as shapes (or are null), and at least one is there."""
    found = list(_leaves(data))
    shapes = [item for item in found if isinstance(item, str) and looks_like_shape(item)]
    return bool(shapes) and len(shapes) == sum(item is not None for item in found)


def _leaves(data: object) -> list[object]:
    if isinstance(data, Mapping):
        return [leaf for item in data.values() for leaf in _leaves(item)]
    if isinstance(data, list | tuple):
        return [leaf for item in data for leaf in _leaves(item)]
    return [data]


def _first_of(data: object, wanted: Callable[[object], bool], path: Path = ()) -> Path | None:
    """The path of the first item in nested lists that is wanted."""
    if wanted(data):
        return path
    for i, item in enumerate(data if isinstance(data, list | tuple) else ()):
        inner = _first_of(item, wanted, (*path, i))
        if inner is not None:
            return inner
    return None
