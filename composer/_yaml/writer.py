"""Plain data to small, portable YAML, laid out as a person would.

What is written reads back equal, with equal types, by `parse` and by readers of YAML 1.1
(PyYAML) and YAML 1.2 alike: a text stands unquoted only where none of them could take it for
something else, and a float always has a dot, and a sign in its exponent.
"""

from __future__ import annotations

import math
import re
from typing import Final

from composer._yaml.document import Path
from composer._yaml.scalars import plain, short
from composer._yaml.text import MAX_BYTES, MAX_DEPTH
from composer.errors import ComposerError, PipelineError, fail

WIDTH: Final = 100

# How many levels below a key of the root stand in block style, however short they are.
_OPEN_LEVELS: Final = {"args": 1, "stack": 2}
# YAML allows 1,024 characters between the start of a key and its colon.
_MAX_KEY: Final = 1000

_BARE: Final = re.compile(r"(?:\.{0,2}/)?[^\W\d][\w./+-]*(?:[ :][\w./+-]+)*")
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def dump(data: object) -> str:
    """Write plain data as YAML text, which `parse` reads back as the same data.

    Args:
        data: dict with str or int keys, list, str, int, float, bool or None; no subclasses.

    Returns:
        The text, ending in a line end. `args` stand one a line, and so do the layers of
        `stack`; what is nested deeper stands in one line where it fits into 100 columns.

    Raises:
        PipelineError: CMP041, if a value cannot be written or the text could not be read again.

    >>> print(dump({"stack": [{"vmap": {"in_axes": {"x": 0}}}, "jit"]}), end="")
    stack:
      - vmap: {in_axes: {x: 0}}
      - jit
    """
    _check(data, ())
    lines = _block(data, WIDTH, 1, _OPEN_LEVELS) if _is_open(data, 1) else [_flow(data)]
    text = "\n".join(lines) + "\n"
    if len(text.encode()) > MAX_BYTES:
        raise _refusal((), "the text would be larger than 64 KiB", "large values in a data file")
    return text


def _check(value: object, path: Path) -> None:
    """Raise for what has no text; a collection that contains itself is too deep."""
    if type(value) is dict or type(value) is list:
        if len(path) >= MAX_DEPTH:
            raise _refusal(path, f"nested deeper than {MAX_DEPTH} levels", "fewer levels")
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            _check_key(key, path)
            _check(item, (*path, key))
    elif type(value) is int:
        if not -(2**63) <= value < 2**63:
            raise _refusal(path, "the integer does not fit into 64 bits", "a smaller number")
    elif type(value) is float:
        if not math.isfinite(value):
            raise _refusal(path, f"{value} is not a finite number", "a finite number")
    elif type(value) is str:
        _check_text(value, path)
    elif value is not None and type(value) is not bool:
        kind = _kind(value)
        cure = "a list" if kind == "tuple" else "text, numbers, true, false, null, lists, dicts"
        raise _refusal(path, f"a value of type {kind} is not plain data", cure)


def _check_key(key: object, path: Path) -> None:
    if type(key) is str:
        _check_text(key, path)
        if len(_key(key)) > _MAX_KEY:
            raise _refusal(path, f"a key is longer than {_MAX_KEY} characters", "a shorter key")
    elif not (type(key) is int and 0 <= key < 2**63):
        which = f"the key {short(str(key))}" if type(key) is int else f"a key of type {_kind(key)}"
        raise _refusal(path, f"{which} is not a word", "text, or a position such as 0")


def _kind(value: object) -> str:
    return type(value).__name__


def _check_text(text: str, path: Path) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _refusal(path, "a text has half a character (a surrogate)", "whole characters")


def _refusal(path: Path, why: str, cure: str) -> ComposerError:
    shown = "".join(f"[{part}]" if type(part) is int else f".{part}" for part in path)
    where = f"{short(shown.removeprefix('.'))}: " if path else ""
    return fail(PipelineError, "CMP041", where + why, cure=cure)


def _is_open(value: object, levels: int) -> bool:
    return bool(value) and levels > 0 and isinstance(value, dict | list)


def _block(
    value: object, room: int, levels: int = 0, below: dict[str, int] | None = None
) -> list[str]:
    """The lines of a collection in block style, `room` columns wide where that is possible."""
    lines: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            inner = levels - 1 if below is None else below.get(key, 0)
            head = _key(key) + ":"
            bare = below is not None and key == "returns"
            if body := _nested(item, f"{head} ", room, inner, bare):
                lines += [head, *("  " + line for line in body)]
            else:
                lines.append(f"{head} {_flow(item, bare)}")
    else:
        assert isinstance(value, list)
        for item in value:
            body = _nested(item, "- ", room, levels - 1) or [_flow(item)]
            lines += ["- " + body[0], *("  " + line for line in body[1:])]
    return lines


def _nested(value: object, head: str, room: int, levels: int, bare: bool = False) -> list[str]:
    """The lines of a collection that does not stand beside its head; empty where it does."""
    if not isinstance(value, dict | list) or not value:
        return []
    if not _is_open(value, levels) and len(head) + len(_flow(value, bare)) <= room:
        return []
    return _block(value, room - 2, levels)


def _flow(value: object, bare: bool = False) -> str:
    """The value in one line; with `bare`, null values of a mapping are left out."""
    if isinstance(value, dict):
        pairs = (
            _key(key) if bare and item is None else f"{_key(key)}: {_flow(item, bare)}"
            for key, item in value.items()
        )
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item, bare) for item in value) + "]"
    return _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return _float(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _key(key: object) -> str:
    # A name with a colon, alone in a flow mapping, would look as if a space were missing.
    return _quote(key) if isinstance(key, str) and ":" in key else _scalar(key)


def _float(value: float) -> str:
    """The shortest digits that read back as the same bits.

    >>> _float(1e-07), _float(1e16), _float(-0.0)
    ('1.0e-07', '1.0e+16', '-0.0')
    """
    text = repr(value)
    return text if "." in text else text.replace("e", ".0e")


def _text(text: str) -> str:
    if _BARE.fullmatch(text) and plain(text) == text:
        return text
    return _quote(text)


def _quote(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(c) or _escaped(c) for c in text) + '"'


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
