"""The `stack:` of a pipeline: plain data to layers."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from composer._findings import Findings, kind_of
from composer._parameters import parameters
from composer._pipeline import Layer
from composer._yaml import Path, dump
from composer.errors import ComposerError, Place
from composer.plugin import Transform

Lookup = Callable[[str, Place | None], type[Transform]]
"""Finds the transform class of a word; raises a ComposerError for an unknown one."""


@dataclass(frozen=True, slots=True)
class LayerReader:
    """Reads the layers of one stack.

    Attributes:
        findings: Takes every problem.
        lookup: Finds transforms by word.
        sealed: Refuse layers that reach outside the text.
    """

    findings: Findings
    lookup: Lookup
    sealed: bool = False

    def stack(self, value: object) -> tuple[Layer, ...]:
        """The layers of a stack, without those that have a problem."""
        if not isinstance(value, list):
            self.findings.say(
                "CMP033",
                f"stack: is a list, innermost first, not {kind_of(value)}:"
                " its order is the order of wrapping",
                self.findings.at("stack"),
                _as_list(value),
            )
            return ()
        found = [self._layer(item, ("stack", number)) for number, item in enumerate(value)]
        layers = tuple(layer for layer in found if layer is not None)
        self._check_ids(layers)
        if self.sealed:
            for layer in layers:
                self._check_sealed(layer)
        return layers

    def _check_ids(self, layers: tuple[Layer, ...]) -> None:
        first: dict[str, Layer] = {}
        for layer in layers:
            if layer.id is not None and first.setdefault(layer.id, layer) is not layer:
                message, before = f"two layers have the id {layer.id!r}", first[layer.id].place
                self.findings.twice(message, _place(layer), before, f"id: {layer.id}_2")

    def _check_sealed(self, layer: Layer) -> None:
        """Sealed text names no code, and sets nothing that reads or writes files."""
        code = layer.transform.references()
        if code:
            named = ", ".join(f"{field}: {ref}" for field, ref in code.items())
            self.findings.say(
                "CMP040",
                f"sealed text may not name code, as {layer.word} does with {named}",
                layer.place,
                "compose the layer in Python, or remove it",
            )
        for name, _ in layer.transform.items():
            if name in layer.transform.unsealed:
                self.findings.say(
                    "CMP040",
                    f"sealed text may not set {name} of {layer.word}: it can read and write files",
                    layer.place,
                    "compose the layer in Python, or remove it",
                )

    def _layer(self, item: object, at: Path) -> Layer | None:
        """One entry: a word, or one word with parameters, perhaps with an `id:` beside it."""
        if isinstance(item, str):
            return self._make(item, {}, at, self.findings.at(*at))
        if not isinstance(item, dict) or not item:
            self.findings.say(
                "CMP035",
                f"a layer is a word or a word with parameters, not {kind_of(item)}",
                self.findings.at(*at),
                "- vmap: {in_axes: {x: 0}}",
            )
            return None
        words = [str(key) for key in item if key != "id"]
        if len(words) != 1:
            self._not_one_word(words, item, at)
            return None
        [word] = words
        given = item[word] if word in item else item[int(word)]
        layer = self._make(word, given, (*at, word), self.findings.key_at(*at, word))
        return self._with_id(layer, item, at) if layer is not None and "id" in item else layer

    def _not_one_word(self, words: list[str], item: Mapping[str, object], at: Path) -> None:
        if words:
            message = f"a layer has one word, but here are {len(words)}: {', '.join(words)}"
            cure = "\n".join(f"- {word}" for word in words)
        else:
            message, cure = "a layer has a word, but here is an id only", "- jit: {id: NAME}"
            if isinstance(item["id"], str):
                cure = f"- jit: {{id: {item['id']}}}"
        self.findings.say("CMP035", message, self.findings.at(*at), cure)

    def _with_id(self, layer: Layer, item: Mapping[str, object], at: Path) -> Layer:
        if layer.id is not None:
            place, first = self.findings.key_at(*at, "id"), self.findings.at(*at, layer.word, "id")
            self.findings.twice(f"{layer.word}: the layer has two ids", place, first, "one of them")
        return replace(layer, id=self._id(item["id"], (*at, "id")))

    def _make(self, word: str, given: object, path: Path, place: Place) -> Layer | None:
        """The layer of a word, with what is written behind it."""
        try:
            cls = self.lookup(word, place)
        except ComposerError as error:
            self.findings.problems.extend(error.diagnostics)
            return None
        if isinstance(given, dict):
            layer_id = self._id(given["id"], (*path, "id")) if "id" in given else None
            values = self._values(cls, {k: v for k, v in given.items() if k != "id"}, path)
        elif cls.shorthand is not None and given is not None:
            layer_id, values = None, self._values(cls, {cls.shorthand: given}, path)
        else:
            self.findings.say(
                "CMP035",
                f"{word}: its parameters are a mapping, not {kind_of(given)}",
                self.findings.at(*path),
                _bare_cure(cls, word, given),
            )
            return None
        if values is None:
            return None
        try:
            return Layer(cls(**values), layer_id, place)
        except ComposerError as error:
            inside: Path = (getattr(error, "field", ""), *getattr(error, "path", ()))
            at = self.findings.at(*path, *inside) if given else place
            self.findings.problems.extend(replace(item, place=at) for item in error.diagnostics)
            return None

    def _values(
        self, cls: type[Transform], given: Mapping[str, object], path: Path
    ) -> dict[str, Any] | None:
        """Parameters by field name; None if a key is unknown or missing."""
        fields = {field.encode_name: field for field in parameters(cls)}
        before = len(self.findings.problems)
        self.findings.unknown(given, fields, path, cls.word, "parameter")
        for name, field in fields.items():
            if field.required and name not in given:
                message = f"{cls.word}: the parameter {name} is missing"
                cure = f"- {cls.word}: {{{name}: ...}}"
                place = self.findings.key_at(*path)
                self.findings.missing(name, given, fields, message, cure, place)
        if len(self.findings.problems) > before:
            return None
        return {fields[name].name: value for name, value in given.items()}

    def _id(self, value: object, path: Path) -> str | None:
        if isinstance(value, str) and value:
            return value
        self.findings.say(
            "CMP033", f"an id is a word, not {kind_of(value)}", self.findings.at(*path)
        )
        return None


def _place(layer: Layer) -> Place:
    assert layer.place is not None
    return layer.place


def _as_list(value: object) -> str:
    """A stack that was written as a word or as a mapping, as the list that was meant."""
    if isinstance(value, str):
        return f"stack: [{value}]"
    words = list(value) if isinstance(value, dict) and value else ["grad", "jit"]
    return "\n".join(["stack:", *(f"  - {word}" for word in words)])


def _bare_cure(cls: type[Transform], word: str, given: object) -> str:
    """The value as the first parameter where it fits there; else the bare word."""
    fields = parameters(cls)
    if not fields or given is None or isinstance(given, bool):
        return f"- {word}"
    try:
        cls(**{fields[0].name: given})
    except (ComposerError, TypeError):
        return f"- {word}"
    text = dump({"stack": [{word: {fields[0].encode_name: given}}]})
    return textwrap.dedent(text.partition("\n")[2]).strip()
