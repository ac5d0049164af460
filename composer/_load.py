"""Plain data to a Pipeline, with every problem of the file found at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from composer import _read_keys
from composer._findings import Findings, kind_of, shown
from composer._pipeline import LANGUAGE, Layer, Pipeline, Run, SubPipeline, Write
from composer._read_layers import LayerReader, Lookup
from composer._sources import Call, Source, SourceError, check_reference, needs_code, parse_source
from composer._yaml import Document, Path
from composer.errors import ComposerError, Diagnostic, PipelineError

KEYS: Final = (
    "composer", "name", "function", "static", "returns", "mesh", "plugins", "args",
    "stack", "max_traces", "run", "write",
)  # fmt: skip
"""The keys of a pipeline, in the order in which they are written."""

SUB_KEYS: Final = ("function", "static", "returns", "stack")

_MISSING: Final = {
    "composer": ("it says the version of the language", f"composer: {LANGUAGE}"),
    "function": ("it names the function to transform", "function: module:function"),
    "stack": ("it lists the layers, innermost first", "stack: [grad, jit]"),
}
_EXAMPLE: Final = "composer: 1\nfunction: module:function\nstack: [grad, jit]"

Data = Mapping[str, Any]


def pipeline_from(document: Document, lookup: Lookup, *, sealed: bool = False) -> Pipeline:
    """The pipeline that a document describes.

    Args:
        document: What was read.
        lookup: Finds transforms by word.
        sealed: Refuse everything that reads, writes or imports.

    Raises:
        PipelineError: with one diagnostic for each problem, in the order of the file.
    """
    findings = Findings(document)
    if not isinstance(document.data, dict):
        message = f"a pipeline is a mapping of keys, not {kind_of(document.data)}"
        findings.say("CMP030", message, findings.at(), _EXAMPLE)
        raise PipelineError(*findings.problems)
    made = _Loader(findings, lookup, sealed).pipeline(document.data)
    if findings.problems:
        raise PipelineError(*sorted(findings.problems, key=_position))
    return made


class _Loader:
    """Reads the keys of a pipeline or a sub-pipeline; what is wrong goes into `findings`."""

    def __init__(self, findings: Findings, lookup: Lookup, sealed: bool) -> None:
        self.findings, self.lookup, self.sealed = findings, lookup, sealed

    def pipeline(self, written: Data) -> Pipeline:
        """The whole pipeline; of no use if anything was found."""
        assert not {"extends", "profiles"} & written.keys(), "overlays are applied before"
        self.findings.unknown(written, (*KEYS, "extends", "profiles"), (), "a pipeline", "key")
        data = self._given(written, ("composer", "function", "stack"), KEYS)
        self._version(data)
        made = Pipeline(
            function=self._function(data),
            stack=self._stack(data),
            name=_read_keys.text(self.findings, data, "name"),
            static=_read_keys.names(self.findings, data, "static"),
            returns=_read_keys.returns(self.findings, data),
            sources=self._sources(data),
            mesh=_read_keys.mesh(self.findings, data),
            plugins=_read_keys.names(self.findings, data, "plugins"),
            run=_read_keys.struct(self.findings, Run, data, "run") or Run(),
            write=_read_keys.struct(self.findings, Write, data, "write"),
            max_traces=_read_keys.max_traces(self.findings, data),
            document=self.findings.document,
        )
        if self.sealed:
            self._check_sealed(made, data)
        return made

    def sub_pipeline(self, written: Data) -> SubPipeline:
        """A function argument with a stack of its own."""
        self.findings.unknown(written, SUB_KEYS, (), "a sub-pipeline", "key")
        data = self._given(written, ("function", "stack"), SUB_KEYS)
        return SubPipeline(
            function=self._function(data),
            static=_read_keys.names(self.findings, data, "static"),
            returns=_read_keys.returns(self.findings, data),
            stack=self._stack(data),
        )

    def _given(self, written: Data, required: tuple[str, ...], known: tuple[str, ...]) -> Data:
        """What is written, without keys that are null, which means: not given."""
        data = {key: value for key, value in written.items() if value is not None}
        for key in required:
            if key not in data:
                reason, cure = _MISSING[key]
                message = f"the key {key}: is missing; {reason}"
                place = self.findings.key_at(key)
                self.findings.missing(key, written, known, message, cure, place)
        return data

    def _version(self, data: Data) -> None:
        value = data.get("composer", LANGUAGE)
        if type(value) is not int or value != LANGUAGE:
            message = f"composer: {shown(value)} is no version of the language that is read here"
            cure = f"composer: {LANGUAGE}"
            self.findings.say("CMP038", message, self.findings.at("composer"), cure)

    # The function

    def _function(self, data: Data) -> str | Call:
        if isinstance(data.get("function"), dict):
            return self._factory(data["function"])
        text = _read_keys.text(self.findings, data, "function")
        if text is None:
            return ""
        if not self.sealed:
            self._check_function(text)
        return text

    def _check_function(self, text: str) -> None:
        module, colon, name = text.rpartition(":")
        try:
            check_reference(text, "function")
        except SourceError:
            if colon and module and name:
                message, cure = f"function: {text!r} is not module:function", None
            else:
                message = f"function: {text!r} does not say in which module it is"
                before, _, last = name.rpartition(".")
                if before and not module and last not in ("py", "yaml", "yml"):
                    module, name = before, last
                cure = f"function: {module or 'module'}:{name or 'function'}"
            self.findings.say("CMP033", message, self.findings.at("function"), cure)

    def _factory(self, given: Data) -> str | Call:
        """A function made by a call: `{call: module:factory, ...}`."""
        if self.sealed:
            message = "sealed text may not call a factory"
            cure = "function: NAME     # one of those passed to loads"
            self.findings.say("CMP040", message, self.findings.at("function"), cure)
            return ""
        source = self._source(given, ("function",))
        if isinstance(source, Call):
            return source
        if source is not None:
            message = "function: is module:function, or {call: module:factory} that makes it"
            self.findings.say("CMP033", message, self.findings.at("function"))
        return ""

    # Arguments and layers

    def _sources(self, data: Data) -> dict[str, Source]:
        value = data.get("args", {})
        if not isinstance(value, dict):
            wanted = "a mapping with a source for each argument"
            self.findings.wrong("args", value, wanted, 'args: {x: "f32[8, 3]"}')
            return {}
        found: dict[str, Source] = {}
        for name, given in value.items():
            if not isinstance(name, str):
                _read_keys.no_name(self.findings, "args", name, 'args: {x: "f32[8, 3]"}')
            elif isinstance(given, dict) and next(iter(given), None) == "function":
                below = self.findings.below("args", name)
                found[name] = _Loader(below, self.lookup, self.sealed).sub_pipeline(given)
            elif (source := self._source(given, ("args", name))) is not None:
                found[name] = source
        return found

    def _source(self, given: object, path: Path) -> Source | None:
        try:
            return parse_source(
                given,
                path=path,
                place_of=lambda at: self.findings.at(*at),
                key_place_of=lambda at: self.findings.key_at(*at),
            )
        except ComposerError as error:
            self.findings.problems.extend(error.diagnostics)
            return None

    def _stack(self, data: Data) -> tuple[Layer, ...]:
        if "stack" not in data:
            return ()
        return LayerReader(self.findings, self.lookup, self.sealed).stack(data["stack"])

    def _check_sealed(self, made: Pipeline, data: Data) -> None:
        for name, source in made.sources.items():
            if needs_code(source):
                message = f"sealed text may not read files or name code, as argument {name!r} does"
                place = self.findings.at("args", name)
                self.findings.say("CMP040", message, place, "pass the value in the call")
        for key in ("write", "plugins"):
            if key in data:
                message, place = f"sealed text may not have {key}:", self.findings.key_at(key)
                self.findings.say("CMP040", message, place, f"remove {key}:")


def _position(item: Diagnostic) -> tuple[int, int]:
    return (item.place.line, item.place.column) if item.place else (0, 0)
