"""The text before it is YAML: bytes, size, characters, directives."""

from __future__ import annotations

import itertools
import pathlib
import re
from typing import Final

from composer._yaml.document import Source
from composer.errors import ComposerError, Diagnostic, PipelineError, Place, fail, nearest

MAX_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 32
MAX_FINDINGS: Final = 50

# C0 and C1 without tab and line ends; the line ends of YAML 1.1 that YAML 1.2 gave up;
# what turns the direction of text, so that a reviewer sees another order; what is no character.
_FORBIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
_DIRECTIVE: Final = re.compile(r"(?: *(?:#[^\r\n]*)?(?:\r\n|\r|\n))*+(%[^\r\n]*)")


def decode(path: pathlib.Path, shown_as: str) -> str:
    """The text of a file.

    Raises:
        PipelineError: CMP014 if it cannot be read, CMP007 if it is too large, CMP009 if it
            is not UTF-8.
    """
    try:
        # A device or a pipe may never end.
        if path.exists() and not path.is_file():
            raise fail(PipelineError, "CMP014", f"{shown_as} is not a file")
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 4)
    except FileNotFoundError:
        there = {name.rpartition(".")[0]: name for name in _neighbours(path.parent)}
        stem = path.stem if path.suffix in (".yaml", ".yml") else path.name
        cure = there.get(nearest(stem, there) or "")
        shown = cure and str(pathlib.PurePath(shown_as).with_name(cure))
        raise fail(PipelineError, "CMP014", f"no file {shown_as}", cure=shown) from None
    except (OSError, ValueError) as error:
        # ValueError: a null character in the path.
        why = getattr(error, "strerror", None) or str(error)
        raise fail(PipelineError, "CMP014", f"{shown_as} cannot be read: {why}") from None
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if len(raw) > MAX_BYTES:
        raise _too_large(shown_as)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(raw, error.start, shown_as) from None


def check(source: Source) -> None:
    """Refuse what the YAML parser should not even see.

    Raises:
        PipelineError: CMP007 for the size, CMP021 for control characters, CMP002 for a
            directive.
    """
    text = source.text
    # The first test spares the second one a copy of something huge.
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise _too_large(source.file)
    if not text.isascii() or not text.isprintable():
        found = [
            _forbidden(source, match.start())
            for match in itertools.islice(_FORBIDDEN.finditer(text), MAX_FINDINGS)
        ]
        if found:
            raise PipelineError(*found)
    if directive := _DIRECTIVE.match(text):
        place = _place_at(source, directive.start(1), len(directive[1]))
        message = "a directive (%) changes how the rest is read; pipelines have none"
        raise fail(PipelineError, "CMP002", message, place=place, cure="the text without this line")


def _neighbours(folder: pathlib.Path) -> list[str]:
    if not folder.is_dir():
        return []
    return [item.name for item in folder.iterdir() if item.suffix in (".yaml", ".yml")]


def _too_large(file: str | None) -> ComposerError:
    message = f"{file or 'the text'} is larger than 64 KiB, the most that a pipeline may have"
    cure = "large values into a data file, and {file: PATH, key: NAME} here"
    return fail(PipelineError, "CMP007", message, cure=cure)


def _not_utf8(raw: bytes, at: int, file: str) -> ComposerError:
    before = raw[:at].decode("utf-8")
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    whole = raw.split(b"\n")[line - 1].decode("utf-8", "replace").rstrip("\r")
    place = Place(file, line, column, whole)
    message = f"byte 0x{raw[at]:02X} is not UTF-8 text"
    return fail(PipelineError, "CMP009", message, place=place, cure="the file in UTF-8")


def _forbidden(source: Source, at: int) -> Diagnostic:
    code = ord(source.text[at])
    escape = f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    kind = "is a control character" if code < 160 else "cannot be seen, and readers differ over it"
    message = f"the character U+{code:04X} {kind}"
    return Diagnostic("CMP021", message, _place_at(source, at, 1), (), f'"{escape}" if it is meant')


def _place_at(source: Source, at: int, width: int) -> Place:
    """The place of a character by its position in the text."""
    before = source.text[:at]
    ends = re.findall(r"\r\n|\r|\n", before)
    column = at - (max(before.rfind("\n"), before.rfind("\r")) + 1)
    return source.place((len(ends), column, len(ends), column + width))
