"""Parameters of a transform: their declared types, and values checked against these."""

from __future__ import annotations

import functools
import re
import types
from typing import Annotated, Final, Literal, Union, get_args, get_origin

import msgspec

from composer._freeze import Uncacheable, canonical_key
from composer.errors import ComposerError, Diagnostic, nearest


class ParameterError(ComposerError):
    """A parameter with a wrong value.

    Attributes:
        field: The parameter, as it is written in YAML.
        path: Keys and positions inside its value, down to what is wrong.
    """

    exit_code = 2

    def __init__(
        self, field: str, diagnostic: Diagnostic, path: tuple[str | int, ...] = ()
    ) -> None:
        super().__init__(diagnostic)
        self.field = field
        self.path = path


def same(left: object, right: object) -> bool:
    """Equality that tells 0, 0.0 and False apart, and never asks an array."""
    try:
        return canonical_key(left) == canonical_key(right)
    except Uncacheable:
        return left is right


@functools.cache
def parameters(cls: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The declared parameters of a transform class, in order."""
    return msgspec.structs.fields(cls)


def default_of(field: msgspec.structs.FieldInfo) -> object:
    """The default of a parameter that is not required."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def check_value(word: str, field: msgspec.structs.FieldInfo, value: object) -> None:
    """Check one parameter's value against its declared type, strictly.

    Args:
        word: The transform's.
        field: The parameter.
        value: With tuples for lists.

    Raises:
        ParameterError: CMP037, with the path inside the value where it does not fit.
    """
    try:
        msgspec.convert(value, field.type, strict=True)
    except msgspec.ValidationError as error:
        said, _, where = str(error).partition(" - at `")
        in_key, _, inside = where.rstrip("`").rpartition("$")
        listed, below_a_key, _ = inside.partition("[...]")
        message = f"{word}: {field.encode_name}{listed} "
        choices = () if inside else _choices(field.type)
        if isinstance(value, str) and choices:
            close = nearest(value, choices)
            diagnostic = Diagnostic(
                "CMP037",
                f"{message}is {value!r}, which is none of its choices",
                notes=(f"choices: {', '.join(choices)}",),
                cure=f"{field.encode_name}: {close}" if close else None,
            )
        else:
            quoted = isinstance(value, str) and _NUMBER.fullmatch(value)
            # msgspec does not say which key it means.
            part = "has a key that " if in_key else "has a value that " if below_a_key else ""
            diagnostic = Diagnostic(
                "CMP037",
                f"{message}{part}does not fit: {plain_words(said)}",
                cure=f"{field.encode_name}: {value}" if quoted else None,
            )
        raise ParameterError(field.encode_name, diagnostic, _steps(inside)) from None


_WORDS: Final = {"object": "mapping", "array": "list", "str": "word"}
_NUMBER: Final = re.compile(r"-?\d{1,9}")
_STEP: Final = re.compile(r"\[(\d+)\]")


def _steps(inside: str) -> tuple[int, ...]:
    """The positions in msgspec's path, up to the first key, which it writes as `[...]`."""
    steps: list[int] = []
    at = 0
    while match := _STEP.match(inside, at):
        steps.append(int(match[1]))
        at = match.end()
    return tuple(steps)


def _choices(kind: object) -> tuple[str, ...]:
    """The words of a parameter that is a choice, perhaps with null; none for any other."""
    parts = get_args(kind)
    if get_origin(kind) is Annotated:
        return _choices(parts[0])
    if get_origin(kind) is Literal:
        return tuple(str(word) for word in parts)
    others = [part for part in parts if part is not type(None)]
    is_union = get_origin(kind) in (Union, types.UnionType)
    return _choices(others[0]) if is_union and len(others) == 1 else ()


def plain_words(said: str) -> str:
    """msgspec's sentence with YAML's words for the types."""
    for theirs, ours in _WORDS.items():
        said = said.replace(f"`{theirs}`", f"`{ours}`").replace(f"| {theirs}", f"| {ours}")
        said = said.replace(f"`{theirs} |", f"`{ours} |")
    return said[0].lower() + said[1:]
