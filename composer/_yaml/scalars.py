"""What an unquoted scalar means, and which spellings mean different things to different readers.

Numbers are those of the core schema of YAML 1.2 (https://yaml.org/spec/1.2.2/#103-core-schema)
without its octal and hexadecimal forms; the doubtful spellings are those of the YAML 1.1 types
(https://yaml.org/type/). The 1.1 booleans `y` and `n` are plain text here, as they are to
PyYAML, libyaml and every reader of YAML 1.2: arguments are called so.
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

Scalar = str | int | float | bool | None


class Doubt(NamedTuple):
    """Why an unquoted scalar is refused, and what to write instead."""

    code: str
    message: str
    cure: str


_EXACT: Final[dict[str, bool | None]] = {"null": None, "true": True, "false": False}
_MEANS: Final = {
    "yes": "true",
    "on": "true",
    "true": "true",
    "no": "false",
    "off": "false",
    "false": "false",
    "null": "null",
    "~": "null",
}
_PYTHON: Final = {"None": "null", "True": "true", "False": "false"}

_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_ZERO: Final = re.compile(r"[-+]?0[0-9]+")
_OTHER_BASE: Final = re.compile(r"[-+]?0(?:[xX][0-9a-fA-F_]+|[oO][0-7_]+|[bB][01_]+)")
_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-9_]+)+(?:\.[0-9_]*)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9].*)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|nan)", re.IGNORECASE)


def plain(text: str) -> Scalar | Doubt:
    """The value of a scalar that stands unquoted and is not empty.

    >>> plain("1e-3"), plain("digits:loss"), plain("017").code
    (0.001, 'digits:loss', 'CMP004')
    """
    if text in _EXACT:
        return _EXACT[text]
    first = text[0]
    if first in "0123456789+-.":
        return _number(text)
    if first in "(<=" or text in _PYTHON or text.lower() in _MEANS:
        return _word(text)
    return text


def short(text: str) -> str:
    """The text, cut where it would bury the message around it."""
    return text if len(text) <= 40 else text[:37] + "..."


def quoted(text: str) -> str:
    """The text as it would be written to be a text, cut where it is long."""
    return f'"{short(text)}"' if '"' not in text else f"'{short(text)}'"


def _word(text: str) -> str | Doubt:
    shown = short(text)
    as_text = f"{quoted(text)} for the text"
    if text[0] == "(":
        return Doubt("CMP013", f"{shown} looks like a Python tuple", f"a list, or {as_text}")
    if text in _PYTHON:
        cure = f"{_PYTHON[text]}, or {as_text}"
        return Doubt("CMP013", f"{text} is Python's spelling, not YAML's", cure)
    if text == "<<":
        return Doubt("CMP018", "a merge key (<<) pulls in keys from elsewhere", '"<<"')
    if text == "=":
        return Doubt("CMP005", "= has a meaning of its own in YAML 1.1", '"="')
    means = _MEANS.get(text.lower())
    if means is None:
        return text
    cure = f"{means}, or {as_text}"
    if text.lower() in ("yes", "no", "on", "off"):
        message = f"{text} is {means} in YAML 1.1 and a text in YAML 1.2"
    else:
        message = f"{text} is {means} to some YAML readers and a text to others"
    return Doubt("CMP005", message, cure)


def _number(text: str) -> Scalar | Doubt:
    if _INT.fullmatch(text):
        # Python refuses to convert thousands of digits; 20 characters hold every 64-bit integer.
        if len(text) <= 20 and -(2**63) <= (whole := int(text)) < 2**63:
            return whole
        return _out_of_range(text, "does not fit into a 64-bit integer")
    if _LEADING_ZERO.fullmatch(text):
        return _leading_zero(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            return _out_of_range(text, "is too large for a 64-bit float")
        if value == 0.0 and re.search("[1-9]", re.split("[eE]", text)[0]):
            return _out_of_range(text, "is too small for a 64-bit float, which would read 0")
        return value
    return _doubtful_number(text)


def _out_of_range(text: str, why: str) -> Doubt:
    return Doubt(
        "CMP006",
        f"{short(text)} {why}",
        f"a smaller number, or {quoted(text)}" if "small" not in why else f"0.0, or {quoted(text)}",
    )


def _leading_zero(text: str) -> Doubt:
    sign, digits = ("-" if text[0] == "-" else ""), text.lstrip("+-").lstrip("0") or "0"
    message = f"{short(text)} is octal in YAML 1.1 and decimal in YAML 1.2"
    return Doubt("CMP004", message, f"{sign}{short(digits)}, or {quoted(text)} for the text")


def _doubtful_number(text: str) -> str | Doubt:
    """A text that starts like a number but is none in the core schema."""
    shown = short(text)
    as_text = f"{quoted(text)} for the text"
    if _OTHER_BASE.fullmatch(text):
        message = f"{shown} is a number to some YAML readers and a text to others"
        return Doubt("CMP004", message, f"the number in decimal digits, or {as_text}")
    if "_" in text and _FLOAT.fullmatch(text.replace("_", "")):
        message = f"{shown} is a number in YAML 1.1 and a text in YAML 1.2"
        return Doubt("CMP004", message, f"{short(text.replace('_', ''))}, or {as_text}")
    if _BASE_60.fullmatch(text):
        message = f"{shown} is a number in base 60 in YAML 1.1"
        return Doubt("CMP004", message, f"{as_text}, or the number in decimal digits")
    if _DATE.fullmatch(text):
        return Doubt("CMP019", f"{shown} is a date in YAML 1.1", as_text)
    if _NOT_FINITE.fullmatch(text):
        return Doubt("CMP020", f"{text} is not a finite number", f"a number, or {as_text}")
    return text


def as_list(line: str, start: int) -> tuple[str, str] | None:
    """A Python tuple that starts at `start`, and the list to write for it.

    None where the bracket does not close on the line.

    >>> as_list("in_axes: (0, None)", 9)
    ('(0, None)', '[0, null]')
    """
    depth = 0
    for at in range(start, len(line)):
        depth += {"(": 1, ")": -1}.get(line[at], 0)
        if depth == 0:
            written = line[start : at + 1]
            parts = written.replace("(", "[").split(")")
            found = "]".join(part.rstrip().removesuffix(",") for part in parts)
            return written, re.sub(r"\b(?:None|True|False)\b", lambda m: _PYTHON[m[0]], found)
    return None
