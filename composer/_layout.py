"""Python text laid out as black and ruff do, without either: for `composer code`.

What does not fit on a line is written with one item a line and a comma behind the last,
which formatters leave alone at any line length from `WIDTH` on.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

WIDTH: Final = 88
_OPEN: Final = {"(": ")", "[": "]", "{": "}"}
_QUOTES: Final = "\"'"


def lay_out(text: str, indent: str = "", width: int = WIDTH) -> str:
    """One statement, on one line or with the items of its last brackets one a line.

    >>> print(lay_out("f(a, b)"))
    f(a, b)
    """
    if len(indent) + len(text) <= width:
        return indent + text
    found = last_group(text)
    if found is None:
        return indent + text
    start, end = found
    inner = f"{indent}    "
    items = [lay_out(f"{item},", inner, width) for item in split_items(text[start + 1 : end])]
    return "\n".join([indent + text[: start + 1], *items, indent + text[end:]])


def relaid(text: str) -> str:
    """Text whose lines fit, but for those that inserted names made longer: laid out again."""
    lines = []
    for line in text.split("\n"):
        bare = line.lstrip()
        balanced = all(bare.count(one) == bare.count(two) for one, two in _OPEN.items())
        plain = balanced and " if " not in bare and " for " not in bare
        lines.append(lay_out(bare, line[: len(line) - len(bare)]) if plain else line)
    return "\n".join(lines)


def last_group(text: str) -> tuple[int, int] | None:
    """Where the last brackets of the outermost level open and close; None without any.

    >>> last_group("f(a)(b, c),")
    (4, 9)
    """
    groups = []
    depth, start = 0, 0
    for position, character in _outside_quotes(text):
        if character in _OPEN:
            start = position if depth == 0 else start
            depth += 1
        elif character in _OPEN.values():
            depth -= 1
            if depth == 0:
                groups.append((start, position))
    nonempty = [(start, end) for start, end in groups if end > start + 1]
    return nonempty[-1] if nonempty else None


def split_items(text: str) -> list[str]:
    """The items between commas of the outermost level.

    >>> split_items("a, g(b, c), lambda d, e: d, f='x, y'")
    ['a', 'g(b, c)', 'lambda d, e: d', "f='x, y'"]
    """
    cuts, depth, colon = [-1], 0, False
    for position, character in _outside_quotes(text):
        depth += (character in _OPEN) - (character in _OPEN.values())
        colon = colon or (depth == 0 and character == ":")
        if character == "," and depth == 0:
            if not colon and text[cuts[-1] + 1 : position].lstrip().startswith("lambda "):
                continue  # a comma between the parameters of a lambda
            cuts.append(position)
            colon = False
    ends = [*cuts[1:], len(text)]
    items = [text[cut + 1 : end].strip() for cut, end in zip(cuts, ends, strict=True)]
    return [item for item in items if item]


def _outside_quotes(text: str) -> Iterator[tuple[int, str]]:
    quote, escaped = "", False
    for position, character in enumerate(text):
        if quote:
            if not escaped and character == quote:
                quote = ""
            escaped = character == "\\" and not escaped
        elif character in _QUOTES:
            quote = character
        else:
            yield position, character


def comment(text: str, width: int = WIDTH) -> str:
    """Comment lines, wrapped; a continued line is indented further."""
    lines = textwrap.wrap(text, width - 2, subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(f"# {line}" for line in lines)


def docstring(text: str, indent: str = "    ", width: int = WIDTH) -> str:
    """A docstring on one line, or wrapped with its closing quotes on a line of their own."""
    text = text.replace("\\", "\\\\")
    if len(indent) + len(text) + 6 <= width and "\n" not in text:
        return f'{indent}"""{text}"""'
    lines = []
    for number, line in enumerate(text.split("\n")):
        room = width - len(indent) - (3 if number == 0 else 0)
        found = textwrap.wrap(line, room, break_on_hyphens=False, break_long_words=False)
        lines += found or [""]
    body = "\n".join(f"{indent}{line}".rstrip() for line in lines)
    return f'{indent}"""{body[len(indent) :]}\n{indent}"""'


def indented(text: str, indent: str = "    ") -> str:
    """Every line but empty ones moved to the right."""
    return textwrap.indent(text, indent)


def joined(blocks: Sequence[tuple[str, bool]], blank: int) -> str:
    """Blocks of text with the blank lines that formatters put between them.

    Args:
        blocks: Each block, and whether it is a definition.
        blank: Blank lines around a definition: 2 in a module, 1 in a function.
    """
    parts: list[str] = []
    for number, (text, is_def) in enumerate(blocks):
        if number:
            around = is_def or blocks[number - 1][1]
            parts.append("\n" * (blank if around else text.startswith("#")))
        parts.append(text + "\n")
    return "".join(parts)
