"""Syntax errors in our own words: what is wrong, where, and what was probably meant.

PyYAML's parser says what token it found and what it expected; here this becomes the mistake
that leads there most often. The texts it says, from `yaml/scanner.py` and `yaml/parser.py`,
are matched by their beginnings and tested one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import yaml  # type: ignore[import-untyped, unused-ignore]

from composer._yaml.document import Source, Span
from composer._yaml.scalars import short
from composer.errors import Diagnostic

# Possessive, so that no line takes more than one pass, however it was made.
_NO_SPACE: Final = re.compile(r"\s*+(?:- ++)*+([\w.-]++):([^\s:].*)")
_PAIR: Final = re.compile(r"\s*+(?:- ++)*+([^\s:#][^:#]*+): ++")
# `word: value` behind another key, where a mapping in braces was probably meant.
_INNER: Final = re.compile(r"[A-Za-z_]\w*+: ++[^\s]")
# A shape, cut in two where YAML sees a bracket inside an unquoted text.
_BEFORE_BRACKET: Final = re.compile(r"[A-Za-z]\w*+$")
_BRACKET: Final = re.compile(r"\[[^\[\]{}\"']*+\]")
_FOUND: Final = re.compile(r"(?:but got|but found|found character) '(.+?)'(?: that.*)?$")


@dataclass(frozen=True, slots=True)
class _Trouble:
    """What PyYAML said: the place and text of the problem, and of what it was part of."""

    source: Source
    problem: str
    at: Span
    context: str
    context_at: Span
    bracket: Span | None

    @property
    def line(self) -> str:
        return self.source.line(self.at[0])

    @property
    def token(self) -> str:
        """What the parser found instead of what it expected; empty where it does not say."""
        match = _FOUND.search(self.problem)
        return match[1] if match else ""

    def found(
        self,
        message: str,
        cure: str,
        at: Span | None = None,
        code: str = "CMP001",
        notes: tuple[str, ...] = (),
    ) -> Diagnostic:
        return Diagnostic(code, message, self.source.place(at or self.at), notes, cure)


def explain(error: yaml.YAMLError, source: Source, bracket: Span | None) -> Diagnostic:
    """The finding for what PyYAML's own parser raised.

    Args:
        error: What it raised.
        source: The text.
        bracket: Where the innermost `[` or `{` stands that is open; None if none is.
    """
    at = _span(source, getattr(error, "problem_mark", None)) or (0, 0, 0, 0)
    trouble = _Trouble(
        source,
        str(getattr(error, "problem", None) or error),
        at,
        str(getattr(error, "context", None) or ""),
        _span(source, getattr(error, "context_mark", None)) or at,
        bracket,
    )
    for start, tell in _BY_PROBLEM.items():
        if trouble.problem.startswith(start):
            return tell(trouble)
    for start, tell in _BY_CONTEXT.items():
        if trouble.context.startswith(start):
            return tell(trouble)
    return _other(trouble)


def continued(source: Source, span: Span) -> Diagnostic | None:
    """The finding for an unquoted text over several lines that was probably meant as several.

    YAML joins the lines with spaces: `- jit`, and below it, deeper, `- vmap`, are one item.
    """
    for line in range(span[0] + 1, span[2] + 1):
        text = source.line(line)
        if not text.lstrip().startswith("- ") and not _NO_SPACE.fullmatch(text):
            continue
        at = (line, _indent(text), line, len(text.rstrip()))
        message = "this line continues the unquoted text above it"
        cure = "the line at the indentation of its siblings, or quotes around the whole text"
        if match := _NO_SPACE.fullmatch(text):
            cure = f"{match[1]}: {short(match[2].rstrip())}"
        return Diagnostic("CMP001", message, source.place(at), (), cure)
    return None


def _span(source: Source, mark: yaml.Mark | None) -> Span | None:
    if mark is None:
        return None
    line, column = mark.line, mark.column
    if not source.text[mark.index :].strip(" \r\n"):
        # The end of the text is shown where the last word stands, not in the void after it.
        while line > 0 and not source.line(line).strip():
            line -= 1
        column = len(source.line(line).rstrip())
    return line, column, line, column + 1


def _second_colon(trouble: _Trouble) -> Diagnostic:
    line, column = trouble.line, trouble.at[1]
    pair = _PAIR.match(line)
    if pair and pair.end() <= column:
        value = _unclosed_value(line, pair)
        cure = (
            f'{pair[1]}: "{short(value)}"' if '"' not in value else f"{pair[1]}: '{short(value)}'"
        )
        if _INNER.match(value):
            cure = f"{pair[1]}: {{{short(value)}}}, or {cure.partition(': ')[2]} for the text"
        return trouble.found("a second colon and space in one line", cure)
    above = trouble.source.line(trouble.at[0] - 1) if trouble.at[0] else ""
    if match := _NO_SPACE.fullmatch(above):
        return _no_space(trouble, match, trouble.at[0] - 1)
    if _indent(line) > _indent(above) and _PAIR.match(above):
        message = "this line is indented below a key that has its value already"
        start = _indent(line)
        at = (trouble.at[0], start, trouble.at[0], column)
        return trouble.found(message, "both lines with the same indentation", at)
    if ": " not in above and above.strip():
        at = (trouble.at[0] - 1, _indent(above), trouble.at[0] - 1, len(above.rstrip()))
        return trouble.found("a key without a colon and a value", "KEY: value", at)
    return trouble.found("a colon where no key can stand", 'KEY: "a text that has a colon"')


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _unclosed_value(line: str, pair: re.Match[str]) -> str:
    return line[pair.end() :].split(" #")[0].rstrip()


def _no_space(trouble: _Trouble, match: re.Match[str], line: int) -> Diagnostic:
    at = (line, match.start(1), line, len(match[0].rstrip()))
    return trouble.found(
        "a space is missing after the colon", f"{match[1]}: {short(match[2].rstrip())}", at
    )


def _no_colon(trouble: _Trouble) -> Diagnostic:
    line = trouble.context_at[0]
    text = trouble.source.line(line)
    if match := _NO_SPACE.fullmatch(text):
        return _no_space(trouble, match, line)
    at = (line, trouble.context_at[1], line, len(text.rstrip()))
    return trouble.found("a key without a colon and a value", "KEY: value", at)


def _bad_start(trouble: _Trouble) -> Diagnostic:
    character = trouble.line[trouble.at[1] : trouble.at[1] + 1]
    if character == "\t":
        message = "a tab stands where YAML wants spaces"
        return trouble.found(message, "spaces, two for each level", code="CMP022")
    return _quote(trouble, f"a text may not start with {character}")


def _quote(trouble: _Trouble, message: str, start: int | None = None) -> Diagnostic:
    line, column = trouble.at[0], trouble.at[1] if start is None else start
    match = re.compile(r"[^\s,\[\]{}]+").match(trouble.line, column)
    word = match[0] if match else trouble.line[column : column + 1]
    quote = "'" if '"' in word else '"'
    at = (line, column, line, column + len(word))
    return trouble.found(message, f"{quote}{short(word)}{quote}", at)


def _flow(trouble: _Trouble) -> Diagnostic:
    opened, at = trouble.context_at, trouble.at
    kind, closing = ("[", "]") if "sequence" in trouble.context else ("{", "}")
    if trouble.token == "<stream end>" or at[0] != opened[0]:
        return _unclosed(trouble, kind, closing, opened)
    message = f"a comma or {closing} is missing before this"
    if trouble.token == ":":
        message = f"a colon where a comma or {closing} should stand"
        cure = 'commas between the items, or "..." around a text that has a colon'
        return trouble.found(message, cure)
    word = _BEFORE_BRACKET.search(trouble.line[: at[1]])
    brackets = _BRACKET.match(trouble.line, at[1])
    if word and brackets:
        text = word[0] + brackets[0]
        message = "an unquoted text with brackets inside brackets"
        return trouble.found(
            message, f'"{short(text)}"', (at[0], word.start(), at[0], brackets.end())
        )
    return trouble.found(message, f", or {closing}")


def _unclosed(trouble: _Trouble, kind: str, closing: str, opened: Span) -> Diagnostic:
    line, column = opened[:2]
    note = f"read up to line {trouble.at[0] + 1}, column {trouble.at[1] + 1}"
    at = (line, column, line, column + 1)
    return trouble.found(f"this {kind} is not closed", f"{closing} at its end", at, notes=(note,))


def _no_value(trouble: _Trouble) -> Diagnostic:
    token = trouble.token
    if token == "<stream end>" and trouble.bracket is not None:
        kind = trouble.source.line(trouble.bracket[0])[trouble.bracket[1] : trouble.bracket[1] + 1]
        return _unclosed(
            trouble, kind, {"[": "]", "{": "}"}.get(kind, "a bracket"), trouble.bracket
        )
    if token in ("]", "}"):
        message = (
            f"this {token} closes nothing"
            if trouble.bracket is None
            else (f"{token} where a value or the other bracket should stand")
        )
        return trouble.found(message, f"the text without it, or '{token}' for the text")
    if token == ",":
        return trouble.found("a value is missing before this comma", "null, or no comma")
    return trouble.found("a value is missing here", "null, or the value")


def _unclosed_quote(trouble: _Trouble) -> Diagnostic:
    line, column = trouble.context_at[:2]
    quote = trouble.source.line(line)[column : column + 1]
    note = f"read up to line {trouble.at[0] + 1}, column {trouble.at[1] + 1}"
    at = (line, column, line, column + 1)
    return trouble.found(
        f"this {quote} is not closed", f"{quote} at the end of the text", at, notes=(note,)
    )


def _escape(trouble: _Trouble) -> Diagnostic:
    message = "YAML has no such escape in a text in double quotes"
    line, column = trouble.at[:2]
    start = trouble.line.rfind("\\", 0, column + 1)
    if start < 0:
        return _directive(trouble)
    at = (line, start, line, column + 1)
    return trouble.found(message, "\\\\ for a backslash, or single quotes around the text", at)


def _block(trouble: _Trouble) -> Diagnostic:
    """A block mapping or list that goes on with something that does not fit."""
    token = trouble.token
    listed = "collection" in trouble.context
    if token in ("]", "}", ","):
        return trouble.found(
            f"this {token} closes nothing" if token != "," else "a comma outside brackets",
            "the text without it",
        )
    if token == ":":
        return trouble.found("a key is missing before this colon", "KEY: value")
    line = trouble.at[0]
    first_on_line = not trouble.line[: trouble.at[1]].strip()
    if first_on_line and trouble.at[1] != trouble.context_at[1]:
        at = (line, trouble.at[1], line, len(trouble.line.rstrip()))
        message = "the indentation of this line fits none of the lines above"
        expected = f"the block it would continue starts at column {trouble.context_at[1] + 1}"
        return trouble.found(message, "the same indentation as its siblings", at, notes=(expected,))
    if first_on_line:
        message = "a key among the items of a list" if listed else "a list item among keys"
        cure = "the item where its list starts, or KEY: value"
        if listed:
            cure = "- " + short(trouble.line.strip())
        at = (line, trouble.at[1], line, len(trouble.line.rstrip()))
        return trouble.found(message, cure, at)
    message = "something stands after the end of a value"
    return trouble.found(message, "one value, in quotes if it is a text with quotes or brackets")


def _after_document(trouble: _Trouble) -> Diagnostic:
    message = "something stands after the end of the pipeline"
    return trouble.found(message, "the text without it")


def _sequence_entry(trouble: _Trouble) -> Diagnostic:
    message = "a list item where a value or a key should stand"
    return trouble.found(message, "[item, item], or each item on a line of its own")


def _explicit_key(trouble: _Trouble) -> Diagnostic:
    return trouble.found("a ? that opens a key where no key can stand", "KEY: value")


def _block_text(trouble: _Trouble) -> Diagnostic:
    message = "only the text's lines may follow | or >, from the next line on"
    return trouble.found(message, "a text in quotes if it starts with | or >")


def _reference(trouble: _Trouble) -> Diagnostic:
    line, column = trouble.context_at[:2]
    start = trouble.source.line(line)[column : column + 1]
    return _quote(trouble, f"a text may not start with {start}", column)


def _tag(trouble: _Trouble) -> Diagnostic:
    at = trouble.context_at
    match = re.compile(r"\S+").match(trouble.source.line(at[0]), at[1])
    width = len(match[0]) if match else 1
    message = "a tag (!) asks for an object"
    cure = "the plain value, without the tag"
    return trouble.found(message, cure, (at[0], at[1], at[0], at[1] + width), "CMP015")


def _directive(trouble: _Trouble) -> Diagnostic:
    message = "a directive (%) changes how the rest is read; pipelines have none"
    at = (trouble.at[0], 0, trouble.at[0], len(trouble.line.rstrip()))
    return trouble.found(message, "the text without this line", at, "CMP002")


def _other(trouble: _Trouble) -> Diagnostic:
    said = " ".join(filter(None, (trouble.context, trouble.problem)))
    return trouble.found(
        "the text is not YAML from here on",
        "KEY: value on each line, and texts with special characters in quotes",
        notes=(f"the parser says: {said}",),
    )


_BY_PROBLEM: Final[dict[str, Callable[[_Trouble], Diagnostic]]] = {
    "mapping values are not allowed here": _second_colon,
    "sequence entries are not allowed here": _sequence_entry,
    "mapping keys are not allowed here": _explicit_key,
    "could not find expected ':'": _no_colon,
    "found unexpected end of stream": _unclosed_quote,
    "found unexpected document separator": _unclosed_quote,
    "found unknown escape character": _escape,
    "expected escape sequence of": _escape,
    "number out of range": _escape,
    "found character": _bad_start,
    "expected the node content": _no_value,
    "expected '<document start>'": _after_document,
    "found undefined tag handle": _tag,
    "found incompatible YAML document": _directive,
    "found duplicate YAML directive": _directive,
    "duplicate tag handle": _directive,
}
_BY_CONTEXT: Final[dict[str, Callable[[_Trouble], Diagnostic]]] = {
    "while scanning an alias": _reference,
    "while scanning an anchor": _reference,
    "while parsing a flow": _flow,
    "while parsing a block": _block,
    "while scanning a block scalar": _block_text,
    "while scanning a tag": _tag,
    "while parsing a tag": _tag,
    "while scanning a directive": _directive,
}
