"""Single keys of a pipeline, each to its value; what is wrong goes into the findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from composer._findings import Findings, kind_of, shown
from composer._freeze import frozen
from composer._parameters import plain_words
from composer._retrace import MaxTraces
from composer._signature import output_from_names
from composer._yaml import Path
from composer.errors import Place

Data = Mapping[str, Any]
S = TypeVar("S", bound=msgspec.Struct)


def text(findings: Findings, data: Data, key: str) -> str | None:
    """A word, or None where it is not given."""
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, str) and value:
        return value
    findings.wrong(key, value, "a word", "function: module:function" if key == "function" else None)
    return None


def names(findings: Findings, data: Data, key: str) -> tuple[str, ...]:
    """A name, or a list of names that differ."""
    value = data.get(key, [])
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        findings.wrong(key, value, "a list of names")
        return ()
    first: dict[str, Place] = {}
    for number, name in enumerate(value):
        place = findings.at(key, number)
        if not isinstance(name, str):
            findings.say("CMP033", f"{key}: holds {kind_of(name)}, which is no name", place)
        elif first.setdefault(name, place) is not place:
            message = f"{key}: {name!r} stands there twice"
            findings.twice(message, place, first[name], "one of the two")
    return tuple(first)


def returns(findings: Findings, data: Data) -> object:
    """Names of the outputs, nested as they are; None where they are not given or wrong."""
    value = data.get("returns")
    if value is None:
        return None
    try:
        output_from_names(value)
    except ValueError as error:
        cure = f"returns: [{value}]" if isinstance(value, str) else None
        findings.say("CMP033", str(error), findings.at("returns"), cure)
        return None
    first: dict[str, Place] = {}
    for name, path in _output_names(value, ("returns",)):
        place = findings.key_at(*path)
        if first.setdefault(name, place) is not place:
            message = f"returns: {name!r} stands there twice"
            findings.twice(message, place, first[name], "names that differ")
    return frozen(value)


def _output_names(value: object, path: Path) -> Iterator[tuple[str, Path]]:
    """Names of outputs by position, with their paths.

    Those of parts by key do not count: two outputs may both have a part `mean`.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _output_names(inner, (*path, key))
    for number, entry in enumerate(value) if isinstance(value, list) else ():
        if isinstance(entry, str):
            yield entry, (*path, number)
        else:
            [(name, inner)] = entry.items()
            yield str(name), (*path, number, name)
            yield from _output_names(inner, (*path, number, name))


def mesh(findings: Findings, data: Data) -> dict[str, int]:
    """Sizes by axis name."""
    value = data.get("mesh", {})
    if not isinstance(value, dict):
        findings.wrong("mesh", value, "a mapping of axis names to sizes", "mesh: {data: 4}")
        return {}
    for name, size in value.items():
        if not isinstance(name, str):
            no_name(findings, "mesh", name, "mesh: {data: 4}")
        elif type(size) is not int or size < 1:
            message = f"mesh: axis {name!r} has size {shown(size)}; a size is a whole number from 1"
            findings.say("CMP033", message, findings.at("mesh", name))
    return value


def no_name(findings: Findings, key: str, name: int, cure: str) -> None:
    """A number as a key where a name belongs."""
    message = f"{key}: {name} is a number, but here names are the keys"
    findings.say("CMP033", message, findings.key_at(key, name), cure)


def max_traces(findings: Findings, data: Data) -> MaxTraces | None:
    """A limit, or a mapping with limit and action."""
    value = data.get("max_traces")
    if value is None:
        return None
    given = value if isinstance(value, dict) else {"limit": value}
    findings.unknown(given, ("limit", "action"), ("max_traces",), "max_traces:", "key")
    if "limit" not in given:
        message = "max_traces: the key limit: is missing"
        cure, known = "max_traces: {limit: 1, ...}", ("limit", "action")
        findings.missing("limit", given, known, message, cure, findings.at("max_traces"))
        return None
    limit, action = given["limit"], given.get("action", "warn")
    if type(limit) is not int or limit < 1:
        message = f"max_traces: is a whole number from 1, not {kind_of(limit)}"
        findings.say("CMP033", message, findings.at("max_traces", "limit"), "max_traces: 1")
        return None
    if action not in ("warn", "error"):
        message = f"max_traces: action is warn or error, not {kind_of(action)}"
        findings.say("CMP033", message, findings.at("max_traces", "action"), "action: error")
        return None
    return MaxTraces(limit, action)


def struct(findings: Findings, cls: type[S], data: Data, key: str) -> S | None:
    """A mapping with the fields of a struct; None where it is not given or wrong."""
    value = data.get(key)
    if value is None:
        return None
    fields = {field.encode_name: field for field in msgspec.structs.fields(cls)}
    required = [name for name, field in fields.items() if field.required]
    if not isinstance(value, dict):
        bare = isinstance(value, str) and len(required) == 1
        cure = f"{key}: {{{required[0]}: {value}}}" if bare else None
        findings.wrong(key, value, f"a mapping with {', '.join(fields)}", cure)
        return None
    findings.unknown(value, fields, (key,), f"{key}:", "key")
    found = {}
    for name in [name for name in value if name in fields]:
        try:
            found[name] = msgspec.convert(value[name], fields[name].type, strict=True)
        except msgspec.ValidationError as error:
            message = f"{key}: {name} does not fit: {plain_words(str(error))}"
            findings.say("CMP033", message, findings.at(key, name))
    for name in [name for name in required if name not in value]:
        message, cure = f"{key}: the key {name}: is missing", f"{key}: {{{name}: ...}}"
        findings.missing(name, value, fields, message, cure, findings.at(key))
    return cls(**found) if all(name in found for name in required) else None
