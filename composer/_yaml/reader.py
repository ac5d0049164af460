"""YAML events to plain data; what pipelines do not use is refused on the way.

The text is parsed by libyaml where PyYAML has it. What libyaml refuses is parsed again by
PyYAML's own parser, whose answer counts: the words and places of syntax errors are then the
same on every machine.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

# PyYAML ships no types, and the package with its stubs is not needed by anything else.
import yaml  # type: ignore[import-untyped, unused-ignore]

from composer._yaml.document import Document, Path, Places, Source, Span
from composer._yaml.scalars import Doubt, Scalar, as_list, plain, quoted, short
from composer._yaml.syntax import continued, explain
from composer._yaml.text import MAX_DEPTH, MAX_FINDINGS, check, decode
from composer.errors import Diagnostic, PipelineError

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# Tabs, question marks, tags and comments right behind a bar: libyaml accepts some of these
# that PyYAML's own parser refuses.
_DISPUTED: Final = re.compile(r"[\t?!]|[|>][0-9+-]*#")
_COLON: Final = re.compile(r"\s*:")
_REFUSED_KEY: Final = "\0refused"


def read(path: pathlib.Path, shown_as: str | None = None) -> Document:
    """Read a file as `parse` reads text.

    Args:
        path: Where the file lies.
        shown_as: What places call it; by default the path as given.

    Raises:
        PipelineError: CMP007, CMP009 or CMP014 if there is no text to be had; else as `parse`.
    """
    file = shown_as or str(path)
    return parse(decode(path, file), file)


def parse(text: str, file: str | None = None) -> Document:
    """The text as plain data with a place on every value and key.

    Args:
        text: A pipeline's text; a byte order mark and CRLF line ends are accepted.
        file: What places call the file.

    Raises:
        PipelineError: CMP001 to CMP023, all findings at once in the order of the text; the
            first 50, and none behind a syntax error, which ends the reading.

    >>> parse("stack: [jit]").data
    {'stack': ['jit']}
    """
    source = Source(text.removeprefix("\ufeff"), file)
    check(source)
    fast = None if _DISPUTED.search(source.text) else getattr(yaml, "CSafeLoader", None)
    if fast is not None:
        try:
            return _Reader(source).document(_events(fast(source.text)))
        except yaml.YAMLError:
            pass
    reader = _Reader(source)
    try:
        return reader.document(_events(yaml.SafeLoader(source.text)))
    except yaml.YAMLError as error:
        reader.findings.append(explain(error, source, reader.open_bracket()))
    raise reader.error()


def _events(loader: yaml.SafeLoader) -> Iterator[yaml.Event]:
    event = None
    while type(event) is not yaml.StreamEndEvent:
        try:
            event = loader.get_event()
        except (ValueError, OverflowError):
            # PyYAML's own parser hands any number to chr() and int(), found in 6.0.3.
            raise yaml.MarkedYAMLError(
                problem="number out of range", problem_mark=loader.get_mark()
            ) from None
        yield event


_Node = dict[str | int, object] | list[object]


class _Frame:
    """A collection that is being read."""

    __slots__ = ("flow", "key", "node", "path", "span")

    def __init__(self, node: _Node, path: Path, span: Span, flow: bool) -> None:
        self.node = node
        self.path = path
        self.span = span
        self.flow = flow
        self.key: str | int | None = None


class _Reader:
    """One pass over the events of one text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.findings: list[Diagnostic] = []
        self.values: dict[Path, Span] = {}
        self.keys: dict[Path, Span] = {}
        self.frames: list[_Frame] = []
        self.root: object = None
        self.has_document = False
        self.tuple_span: Span = (-1, 0, -1, 0)

    def document(self, events: Iterator[yaml.Event]) -> Document:
        """Read all events; what the parser raises passes through."""
        for event in events:
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self.scalar(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self.open(event, {} if kind is yaml.MappingStartEvent else [])
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self.close(event)
            elif kind is yaml.AliasEvent:
                self.alias(event)
            elif kind is yaml.DocumentStartEvent:
                self.start(event)
        if not self.has_document:
            self.refuse_empty()
        if self.findings:
            raise self.error()
        values, keys = Places(self.source, self.values), Places(self.source, self.keys)
        return Document(self.root, self.source.file, self.source.text, values, keys)

    def start(self, event: yaml.DocumentStartEvent) -> None:
        if self.has_document:
            message = "a second document starts here; a pipeline is one document"
            self.refuse("CMP011", message, _span(event), "each pipeline in a file of its own")
            raise self.error()
        self.has_document = True

    def scalar(self, event: yaml.ScalarEvent) -> None:
        text: str = event.value
        span = _span(event)
        value: Scalar | Doubt = text
        if event.tag is not None or event.anchor is not None:
            self.properties(event, span)
        elif not event.style:
            if not text:
                self.empty(span)
                return
            value = plain(text)
            if span[0] != span[2] and (finding := continued(self.source, span)):
                self.keep(finding)
        elif event.style == '"' and not text.isascii() and _SURROGATE.search(text):
            message = "this text has an escape that is half a character"
            self.refuse("CMP001", message, span, "the character itself, or \\U and eight digits")
        frame = self.frames[-1] if self.frames else None
        is_key = frame is not None and frame.key is None and type(frame.node) is dict
        if isinstance(value, Doubt):
            self.doubt(value, text, span, is_key)
            value = _REFUSED_KEY
        if frame is not None and is_key:
            self.key(frame, value, text, span)
        else:
            self.put(value, span)

    def key(self, frame: _Frame, key: object, text: str, span: Span) -> None:
        """Take a scalar as the key of the next value."""
        if type(key) is str or (type(key) is int and text.isdigit()):
            frame.key = key
            path = (*frame.path, key)
            if key is _REFUSED_KEY:
                return
            if path in self.keys:
                first = self.source.place(self.keys[path])
                message = f"the key {short(text)} stands twice in one mapping"
                self.refuse("CMP003", message, span, "each key once", (f"first at {first}",))
            else:
                self.keys[path] = span
            return
        frame.key = _REFUSED_KEY
        message = f"{short(text)} is not a word; keys are words, or positions such as 0"
        self.refuse("CMP010", message, span, f"{quoted(text)} for the word")

    def put(self, value: object, span: Span) -> Path:
        """Place a value in the innermost open collection and say which path it has."""
        if not self.frames:
            self.root = value
            path: Path = ()
        else:
            frame = self.frames[-1]
            node = frame.node
            if isinstance(node, list):
                path = (*frame.path, len(node))
                node.append(value)
            else:
                assert frame.key is not None
                path = (*frame.path, frame.key)
                node[frame.key] = value
                frame.key = None
        self.values[path] = span
        return path

    def empty(self, span: Span) -> None:
        """Take an empty scalar: a name alone in a flow mapping is null, all else is refused."""
        if not self.frames:
            self.refuse_empty()
            return
        frame = self.frames[-1]
        if type(frame.node) is list:
            cure = "null, or the list without this item"
            self.refuse("CMP023", "a list item without a value", span, cure)
        elif frame.key is None:
            self.refuse("CMP010", "a key is missing before this colon", span, "NAME: value")
            frame.key = _REFUSED_KEY
            return
        elif frame.key is not _REFUSED_KEY:
            span = self.keys.get((*frame.path, frame.key), span)
            self.missing(frame, frame.key, span)
        self.put(None, span)

    def missing(self, frame: _Frame, key: str | int, key_span: Span) -> None:
        """Refuse a key without a value, unless it is a name alone in a flow mapping."""
        if not frame.flow or _COLON.match(self.source.line(key_span[2]), key_span[3]):
            message = f"the key {short(str(key))} has no value"
            cure = "null, or the text without this key"
            if not frame.node and frame.path and type(frame.path[-1]) is int:
                cure = f"- {short(str(key))}"
            self.refuse("CMP023", message, key_span, cure)
        elif type(key) is str and ":" in key and not self.is_quoted(key_span):
            name, _, value = key.partition(":")
            cure = f"{short(name)}: {short(value)}"
            message = f"{short(key)} is one word: a space is missing after the colon"
            self.refuse("CMP023", message, key_span, cure)

    def is_quoted(self, span: Span) -> bool:
        return self.source.line(span[0]).startswith(('"', "'"), span[1])

    def open(self, event: yaml.CollectionStartEvent, node: _Node) -> None:
        span = _span(event)
        if event.tag is not None or event.anchor is not None:
            self.properties(event, span)
        if len(self.frames) == MAX_DEPTH:
            message = f"nested deeper than {MAX_DEPTH} levels"
            self.refuse("CMP008", message, span, "fewer levels; no pipeline needs so many")
            raise self.error()
        parent = self.frames[-1] if self.frames else None
        if parent is not None and parent.key is None and type(parent.node) is dict:
            if not any(part is _REFUSED_KEY for part in parent.path):
                message = "a collection as a key; keys are words, or positions such as 0"
                self.refuse("CMP010", message, span, "WORD: value")
            parent.key = _REFUSED_KEY
            path: Path = (*parent.path, _REFUSED_KEY)
        else:
            path = self.put(node, span)
        self.frames.append(_Frame(node, path, span, event.flow_style))

    def close(self, event: yaml.CollectionEndEvent) -> None:
        frame = self.frames.pop()
        line, column, end_line, end_column = frame.span
        # Only what starts with a bracket has an end of its own to be underlined to.
        if (line, column) != (end_line, end_column):
            end = event.end_mark
            self.values[frame.path] = (line, column, end.line, end.column)

    def alias(self, event: yaml.AliasEvent) -> None:
        message = f"an alias (*{short(event.anchor)}) stands for something written elsewhere"
        self.refuse("CMP017", message, _span(event), "the value itself")
        frame = self.frames[-1] if self.frames else None
        if frame is not None and frame.key is None and type(frame.node) is dict:
            frame.key = _REFUSED_KEY
        else:
            self.put(None, _span(event))

    def properties(self, event: yaml.NodeEvent, span: Span) -> None:
        """Refuse the tag and the anchor of a node."""
        if event.tag is not None:
            tag = re.sub("^tag:yaml.org,2002:", "!!", event.tag)
            message = f"a tag ({short(tag)}) asks for an object"
            self.refuse("CMP015", message, span, "the plain value, without the tag")
        if event.anchor is not None:
            message = f"an anchor (&{short(event.anchor)}) names a value for use elsewhere"
            self.refuse("CMP016", message, span, "the value itself at each place")

    def doubt(self, doubt: Doubt, text: str, span: Span, is_key: bool) -> None:
        if self.in_tuple(span):
            return
        code, message, cure = doubt
        if text.startswith("("):
            line = self.source.line(span[0])
            if found := as_list(line, span[1]):
                written, cure = found
                message = f"{short(written)} is Python's spelling of a list"
                span = (span[0], span[1], span[0], span[1] + len(written))
                self.refuse(code, message, span, cure)
                # A flow collection reads the rest of the tuple as items of its own.
                self.tuple_span = span
                return
        if code == "CMP018" and is_key:
            cure = "the keys themselves"
        elif is_key:
            cure = f"{quoted(text)} for the word"
        self.refuse(code, message, span, cure)

    def refuse(
        self, code: str, message: str, span: Span, cure: str, notes: tuple[str, ...] = ()
    ) -> None:
        """Keep a finding, unless it lies inside a Python tuple, which is one already."""
        if not self.in_tuple(span):
            self.keep(Diagnostic(code, message, self.source.place(span), notes, cure))

    def in_tuple(self, span: Span) -> bool:
        line, start, _, end = self.tuple_span
        return line == span[0] and start <= span[1] < end

    def keep(self, finding: Diagnostic) -> None:
        """Keep a finding; end the reading when there are too many."""
        self.findings.append(finding)
        if len(self.findings) == MAX_FINDINGS:
            note = f"reading stopped after {MAX_FINDINGS} findings"
            self.findings[-1] = replace(finding, notes=(*finding.notes, note))
            raise self.error()

    def refuse_empty(self) -> None:
        cure = "function: MODULE:FUNCTION\nstack: [jit]"
        self.refuse("CMP012", "there is nothing in this file", (0, 0, 0, 0), cure)

    def error(self) -> PipelineError:
        """All findings so far, in the order of the text."""
        return PipelineError(*sorted(self.findings, key=_position))

    def open_bracket(self) -> Span | None:
        """Where the innermost open flow collection starts."""
        return next((frame.span for frame in reversed(self.frames) if frame.flow), None)


def _span(event: yaml.Event) -> Span:
    start, end = event.start_mark, event.end_mark
    return start.line, start.column, end.line, end.column


def _position(finding: Diagnostic) -> tuple[int, int]:
    assert finding.place is not None
    return finding.place.line, finding.place.column
