"""Plain data to a Pipeline, with every problem of the file found at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, Final

import msgspec

from composer._pipeline import LANGUAGE, Layer, Pipeline, Run, SubPipeline, Write
from composer._retrace import MaxTraces
from composer._signature import output_from_names
from composer._sources import Call, Source, needs_code, parse_source
from composer._yaml import Document
from composer.errors import ComposerError, Diagnostic, PipelineError, Place, nearest
from composer.plugin import Transform

Path = tuple[str | int, ...]
Lookup = Callable[[str, Place | None], type[Transform]]
"""Finds the transform class of a word; raises a ComposerError for an unknown one."""

KEYS: Final = (
    "composer", "name", "function", "static", "returns", "mesh", "plugins", "args",
    "stack", "max_traces", "run", "write",
)  # fmt: skip
"""The keys of a pipeline, in the order in which they are written."""

SUB_KEYS: Final = ("function", "static", "returns", "stack")


def pipeline_from(document: Document, lookup: Lookup, *, sealed: bool = False) -> Pipeline:
    """The pipeline that a document describes.

    Args:
        document: What was read.
        lookup: Finds transforms by word.
        sealed: Refuse everything that reads, writes or imports.

    Raises:
        PipelineError: with one diagnostic for each problem, in the order of the file.
    """
    return _Loader(document, lookup, sealed).load()


class _Loader:
    """One reading: collects problems instead of stopping at the first."""

    def __init__(self, document: Document, lookup: Lookup, sealed: bool) -> None:
        self.document, self.lookup, self.sealed = document, lookup, sealed
        self.problems: list[Diagnostic] = []

    def load(self) -> Pipeline:
        data = self.document.data
        if not isinstance(data, dict):
            self._say("CMP030", "a pipeline is a mapping of keys", self._at(), _EXAMPLE)
            raise PipelineError(*self.problems)
        self._known_keys(data, KEYS, (), "a pipeline")
        self._version(data)
        made = Pipeline(
            function=self._function(data),
            stack=self._stack(data),
            name=self._text(data, "name"),
            static=self._names(data, "static"),
            returns=self._returns(data),
            sources=self._sources(data),
            mesh=self._mesh(data),
            plugins=self._names(data, "plugins"),
            run=self._struct(Run, data, "run") or Run(),
            write=self._struct(Write, data, "write"),
            max_traces=self._max_traces(data),
            document=self.document,
        )
        self._check_sealed(made, data)
        if self.problems:
            raise PipelineError(*sorted(self.problems, key=_position))
        return made

    # Single keys

    def _version(self, data: Mapping[str, Any]) -> None:
        if "composer" not in data:
            self._say(
                "CMP032",
                "the key composer: is missing; it says the version of the language",
                self._at(),
                f"composer: {LANGUAGE}",
            )
        elif data["composer"] != LANGUAGE or isinstance(data["composer"], bool | float):
            message = f"composer: {data['composer']!r} is no version of the language that this composer reads"
            self._say("CMP038", message, self._at("composer"), f"composer: {LANGUAGE}")

    def _function(self, data: Mapping[str, Any]) -> str | Call:
        if isinstance(data.get("function"), dict):
            return self._factory(data["function"])
        text = self._text(data, "function")
        if text is None:
            if "function" not in data:
                self._say(
                    "CMP032",
                    "the key function: is missing; it names the function to transform",
                    self._at(),
                    "function: module:function",
                )
            return ""
        module, colon, name = text.rpartition(":")
        if not self.sealed and not (colon and module and name):
            self._say(
                "CMP033",
                f"function: {text!r} does not say in which module it is",
                self._at("function"),
                f"function: {module or 'module'}:{name or 'function'}",
            )
        return text

    def _factory(self, given: Mapping[str, Any]) -> str | Call:
        """A function made by a call: `{call: module:factory, ...}`."""
        try:
            source = parse_source(given, path=("function",), place_of=self._place_of)
        except ComposerError as error:
            self.problems.extend(error.diagnostics)
            return ""
        if isinstance(source, Call) and not self.sealed:
            return source
        message = "function: is module:function, or {call: module:factory} that makes it"
        if self.sealed:
            self._say("CMP040", "sealed text may not call a factory", self._at("function"))
        else:
            self._say("CMP033", message, self._at("function"))
        return ""

    def _max_traces(self, data: Mapping[str, Any]) -> MaxTraces | None:
        value = data.get("max_traces")
        if value is None:
            return None
        given = value if isinstance(value, dict) else {"limit": value}
        self._known_keys(given, ("limit", "action"), ("max_traces",), "max_traces:")
        limit, action = given.get("limit"), given.get("action", "warn")
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            message = f"max_traces: is a whole number from 1, not {_kind(limit)}"
            self._say("CMP033", message, self._at("max_traces"), "max_traces: 1")
            return None
        if action not in ("warn", "error"):
            message = f"max_traces: action is warn or error, not {_kind(action)}"
            self._say("CMP033", message, self._at("max_traces", "action"), "action: error")
            return None
        return MaxTraces(limit, action)

    def _text(self, data: Mapping[str, Any], key: str) -> str | None:
        value = data.get(key)
        if value is not None and not isinstance(value, str):
            self._wrong(key, value, "a word")
            return None
        if value == "":
            self._say("CMP033", f"{key}: is empty", self._at(key))
        return value

    def _names(self, data: Mapping[str, Any], key: str) -> tuple[str, ...]:
        value = data.get(key, [])
        several = [value] if isinstance(value, str) else value
        if not isinstance(several, list):
            self._wrong(key, value, "a list of names")
            return ()
        for number, name in enumerate(several):
            place = self._at(key, number) if isinstance(value, list) else self._at(key)
            if not isinstance(name, str):
                self._say("CMP033", f"{key}: holds {name!r}, which is no name", place)
            elif name in several[:number]:
                self._say("CMP039", f"{key}: {name!r} stands there twice", place, "one of the two")
        return tuple(name for name in several if isinstance(name, str))

    def _returns(self, data: Mapping[str, Any]) -> object:
        value = data.get("returns")
        if value is not None:
            try:
                names = output_from_names(value).names()
            except ValueError as error:
                self._say("CMP033", str(error), self._at("returns"))
                return None
            twice = {name for name in names if names.count(name) > 1 and value is not None}
            for name in sorted(twice - _inner_names(value)):
                self._say(
                    "CMP039",
                    f"returns: {name!r} stands there twice",
                    self._at("returns"),
                    "names that differ",
                )
        return value

    def _mesh(self, data: Mapping[str, Any]) -> dict[str, int]:
        value = data.get("mesh", {})
        if not isinstance(value, dict):
            self._wrong("mesh", value, "a mapping of axis names to sizes, such as {data: 4}")
            return {}
        for name, size in value.items():
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                self._say(
                    "CMP033",
                    f"mesh: axis {name!r} has size {size!r}; a size is a whole number from 1",
                    self._at("mesh", name),
                )
        return value

    def _sources(self, data: Mapping[str, Any]) -> dict[str, Source]:
        value = data.get("args", {})
        if not isinstance(value, dict):
            self._wrong("args", value, "a mapping with a source for each argument")
            return {}
        found: dict[str, Source] = {}
        for name, given in value.items():
            if isinstance(given, dict) and next(iter(given), None) == "function":
                found[name] = self._sub_pipeline(given, ("args", name))
                continue
            try:
                found[name] = parse_source(given, path=("args", name), place_of=self._place_of)
            except ComposerError as error:
                self.problems.extend(error.diagnostics)
        return found

    def _sub_pipeline(self, given: Mapping[str, Any], path: Path) -> SubPipeline:
        self._known_keys(given, SUB_KEYS, path, "a sub-pipeline")
        inner = _Loader(_below(self.document, path), self.lookup, self.sealed)
        made = SubPipeline(
            function=inner._function(given),
            static=inner._names(given, "static"),
            returns=inner._returns(given),
            stack=inner._stack(given),
        )
        self.problems += inner.problems
        return made

    # Layers

    def _stack(self, data: Mapping[str, Any]) -> tuple[Layer, ...]:
        value = data.get("stack")
        if value is None:
            self._say(
                "CMP032",
                "the key stack: is missing; it lists the layers, innermost first",
                self._at("stack"),
                "stack: [grad, jit]",
            )
            return ()
        if not isinstance(value, list):
            message = "stack: is a list, innermost first: its order is the order of wrapping"
            self._say("CMP033", message, self._at("stack"), "stack:\n  - grad\n  - jit")
            return ()
        layers = [self._layer(item, number) for number, item in enumerate(value)]
        made = tuple(layer for layer in layers if layer is not None)
        ids = [layer.id for layer in made if layer.id is not None]
        for layer in made:
            if layer.id is not None and (ids.count(layer.id) > 1):
                self._say(
                    "CMP039", f"two layers have the id {layer.id!r}", layer.place, "ids that differ"
                )
        return made

    def _layer(self, item: object, number: int) -> Layer | None:
        at: Path = ("stack", number)
        if isinstance(item, str):
            return self._make(item, {}, at, self._at(*at))
        if not isinstance(item, dict) or not item:
            self._say(
                "CMP035",
                f"a layer is a word or a word with parameters, not {_kind(item)}",
                self._at(*at),
                "- vmap: {in_axes: {x: 0}}",
            )
            return None
        words = [key for key in item if key != "id"]
        if len(words) != 1:
            cure = "\n".join(f"- {word}" for word in words)
            self._say(
                "CMP035",
                f"a layer has one word, but here are {len(words)}: {', '.join(map(str, words)) or 'none'}",
                self._at(*at),
                cure or None,
            )
            return None
        word = words[0]
        place = self.document.key_place(*at, word)
        given = item[word]
        layer = self._make(str(word), given, (*at, word), place)
        if layer is not None and "id" in item:
            return replace(layer, id=self._id(item["id"], (*at, "id")))
        return layer

    def _make(self, word: str, given: object, path: Path, place: Place) -> Layer | None:
        try:
            cls = self.lookup(word, place)
        except ComposerError as error:
            self.problems.extend(error.diagnostics)
            return None
        if not isinstance(given, dict):
            if cls.shorthand is None or (isinstance(given, list) and word != "select"):
                cure = f"- {word}" if given is None else f"- {word}: {{{_first_field(cls)}: ...}}"
                self._say(
                    "CMP035",
                    f"{word}: its parameters are a mapping, not {_kind(given)}",
                    self._at(*path),
                    cure,
                )
                return None
            values = self._values(cls, {cls.shorthand: given}, path, bare=True)
            layer_id = None
        else:
            layer_id = self._id(given["id"], (*path, "id")) if "id" in given else None
            values = self._values(cls, {k: v for k, v in given.items() if k != "id"}, path)
        if values is None:
            return None
        try:
            return Layer(cls(**values), layer_id, place)
        except ComposerError as error:
            inside = (*path, getattr(error, "field", ""))
            at = self._at(*inside) if given else place
            self.problems.extend(replace(item, place=at) for item in error.diagnostics)
            return None

    def _values(
        self, cls: type[Transform], given: Mapping[str, Any], path: Path, *, bare: bool = False
    ) -> dict[str, Any] | None:
        """Parameters by field name; None if a key is unknown or missing."""
        fields = {field.encode_name: field for field in msgspec.structs.fields(cls)}
        before = len(self.problems)
        self._known_keys(given, tuple(fields), path, cls.word, code="CMP036")
        for name, field in fields.items():
            if field.required and name not in given:
                self._say(
                    "CMP032",
                    f"{cls.word}: the parameter {name} is missing",
                    self.document.key_place(*path),
                    f"- {cls.word}: {{{name}: ...}}",
                )
        if len(self.problems) > before:
            return None
        return {fields[name].name: value for name, value in given.items()}

    def _id(self, value: object, path: Path) -> str | None:
        if isinstance(value, str) and value:
            return value
        self._say("CMP033", f"an id is a word, not {_kind(value)}", self._at(*path))
        return None

    # Common

    def _struct(self, cls: type[Any], data: Mapping[str, Any], key: str) -> Any:
        value = data.get(key)
        if value is None:
            return None
        fields = {field.encode_name: field for field in msgspec.structs.fields(cls)}
        if not isinstance(value, dict):
            self._wrong(key, value, f"a mapping with {', '.join(fields)}")
            return None
        self._known_keys(value, tuple(fields), (key,), f"{key}:")
        found = {}
        for name, item in value.items():
            if name not in fields:
                continue
            try:
                found[name] = msgspec.convert(item, fields[name].type, strict=True)
            except msgspec.ValidationError as error:
                said = str(error)
                self._say(
                    "CMP033", f"{key}: {name}: {said[0].lower()}{said[1:]}", self._at(key, name)
                )
        for name, field in fields.items():
            if field.required and name not in value:
                self._say(
                    "CMP032",
                    f"{key}: the key {name}: is missing",
                    self._at(key),
                    f"{key}: {{{name}: ...}}",
                )
                return None
        return cls(**found) if all(n in found for n, f in fields.items() if f.required) else None

    def _known_keys(
        self,
        given: Mapping[str, Any],
        known: tuple[str, ...],
        path: Path,
        what: str,
        code: str = "CMP031",
    ) -> None:
        for key in given:
            if key not in known:
                close = nearest(str(key), known)
                kind = "parameter" if code == "CMP036" else "key"
                self.problems.append(
                    Diagnostic(
                        code,
                        f"{what} has no {kind} {key!r}",
                        self.document.key_place(*path, key),
                        (f"{kind}s: {', '.join(known) or 'none'}",),
                        f"{close}:" if close else None,
                    )
                )

    def _check_sealed(self, made: Pipeline, data: Mapping[str, Any]) -> None:
        if not self.sealed:
            return
        for name, source in made.sources.items():
            if needs_code(source):
                self._say(
                    "CMP040",
                    f"sealed text may not read files or call functions, as argument {name!r} does",
                    self._at("args", name),
                    "pass the value in the call",
                )
        for key in ("write", "plugins"):
            if key in data:
                self._say(
                    "CMP040",
                    f"sealed text may not have {key}:",
                    self.document.key_place(key),
                    f"remove {key}:",
                )

    def _wrong(self, key: str, value: object, wanted: str) -> None:
        self._say("CMP033", f"{key}: is {wanted}, not {_kind(value)}", self._at(key))

    def _say(self, code: str, message: str, place: Place | None, cure: str | None = None) -> None:
        self.problems.append(Diagnostic(code, message, place, (), cure))

    def _at(self, *path: str | int) -> Place:
        return self.document.place(*path)

    def _place_of(self, path: Path) -> Place | None:
        return self.document.place(*path)


_EXAMPLE: Final = "composer: 1\nfunction: module:function\nstack: [grad, jit]"


def _below(document: Document, path: Path) -> Document:
    """The part of a document below a path, as a document of its own."""
    size = len(path)

    def inside(places: Mapping[Path, Place]) -> dict[Path, Place]:
        return {at[size:]: place for at, place in places.items() if at[:size] == path}

    return replace(document, places=inside(document.places), keys=inside(document.keys))


def _first_field(cls: type[Transform]) -> str:
    return next(iter(cls.__struct_fields__), "...")


def _position(item: Diagnostic) -> tuple[int, int]:
    return (item.place.line, item.place.column) if item.place else (0, 0)


def _inner_names(value: object) -> set[str]:
    """Names of parts by key: two outputs may both have a part `mean`."""
    if isinstance(value, dict):
        inner = [set(item) if isinstance(item, dict) else set() for item in value.values()]
        return set().union(*inner, *(_inner_names(item) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(_inner_names(item) for item in value))
    return set()


@functools.cache
def _kind_names() -> Mapping[type, str]:
    return {
        type(None): "null", bool: "true or false", int: "a number", float: "a number",
        str: "a word", list: "a list", dict: "a mapping",
    }  # fmt: skip


def _kind(value: object) -> str:
    shown = _kind_names().get(type(value), f"a {type(value).__name__}")
    return (
        f"{shown} ({value!r})"
        if isinstance(value, int | float | str) and not isinstance(value, bool)
        else shown
    )


def with_folder(pipeline: Pipeline, folder: FilePath | None) -> Pipeline:
    """The pipeline, looking up modules and files in `folder`."""
    return replace(pipeline, folder=folder)
