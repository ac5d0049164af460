"""`composer transforms [WORD]`: which transforms exist, and one's page."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click

from composer._parameters import default_of, parameters
from composer._registry import Registry, default_registry
from composer.cli._tables import print_table
from composer.errors import ComposerError, printable
from composer.plugin import Transform


@click.command("transforms")
@click.argument("word", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(word: str | None, as_json: bool) -> None:
    """List the transforms, or show the page of one: its parameters and their defaults."""
    registry = default_registry()
    if word is not None:
        page = describe(registry.load(word))
        click.echo(_json(page)) if as_json else _print_page(page)
        return
    rows = list(_rows(registry))
    if as_json:
        click.echo(
            _json([dict(zip(("word", "from", "summary"), row, strict=True)) for row in rows])
        )
    else:
        print_table(("word", "from", "what it does"), rows)
        click.echo("\nmore:  composer transforms WORD")


def _rows(registry: Registry) -> Iterator[tuple[str, str, str]]:
    """Word, owner and first sentence; a plugin that is broken does not hide the others."""
    for word, owner in registry.words().items():
        try:
            yield word, owner, _summary(registry.load(word))
        except ComposerError as error:
            yield word, owner, f"broken: {error.diagnostics[0].message}"


def _summary(cls: type[Transform]) -> str:
    return (inspect.getdoc(cls) or "").split("\n\n", 1)[0].replace("\n", " ")


def describe(cls: type[Transform]) -> dict[str, Any]:
    """All that a page shows of a transform, as plain data."""
    return {
        "word": cls.word,
        "aliases": list(cls.aliases),
        "shorthand": cls.shorthand,
        "doc": inspect.getdoc(cls) or "",
        "parameters": [
            {
                "name": field.encode_name,
                "type": type_text(field.type),
                "required": field.required,
                "default": None if field.required else _plain(default_of(field)),
                "doc": _doc(field.type),
            }
            for field in parameters(cls)
        ],
    }


def _plain(value: object) -> object:
    if isinstance(value, tuple | list | frozenset | set):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _doc(kind: object) -> str:
    if get_origin(kind) is not Annotated:
        return ""
    return next((text for text in get_args(kind)[1:] if isinstance(text, str)), "")


_WORDS: Mapping[object, str] = types.MappingProxyType(
    {
        int: "whole number", float: "number", str: "word", bool: "true or false",
        type(None): "null", object: "anything", dict: "mapping", tuple: "list", list: "list",
    }
)  # fmt: skip


def type_text(kind: object) -> str:
    """A type in YAML's words.

    >>> type_text(int | tuple[str, ...] | None)
    'whole number | list of word | null'
    """
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return type_text(inside[0])
    if origin is Literal:
        return " | ".join(json.dumps(item) if item is None else str(item) for item in inside)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(type_text(item) for item in inside))
    if origin is list or (origin is tuple and inside[-1] is Ellipsis):
        return f"list of {_grouped(inside[0])}"
    if origin is not None and hasattr(origin, "keys"):
        return f"mapping to {_grouped(inside[1])}"
    return _WORDS.get(origin or kind, getattr(kind, "__name__", str(kind)))


def _grouped(kind: object) -> str:
    text = type_text(kind)
    return f"({text})" if " | " in text else text


def _json(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


def _print_page(page: Mapping[str, Any]) -> None:
    click.secho(printable(page["word"]), bold=True)
    if page["aliases"]:
        click.echo(f"also: {', '.join(page['aliases'])}")
    click.echo()
    for line in page["doc"].splitlines():
        click.echo(printable(line))
    click.echo()
    if not page["parameters"]:
        click.echo("no parameters")
        return
    rows = [
        (
            field["name"],
            field["type"],
            "required" if field["required"] else json.dumps(field["default"], ensure_ascii=False),
            field["doc"],
        )
        for field in page["parameters"]
    ]
    print_table(("parameter", "type", "default", "meaning"), rows)
    if page["shorthand"]:
        click.echo(f"\n- {page['word']}: VALUE is short for {{{page['shorthand']}: VALUE}}")
