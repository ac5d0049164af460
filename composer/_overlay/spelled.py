"""Edits of the command line and of Python, each to a step with places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from composer._overlay import Kind
from composer._overlay.address import parse_address
from composer._overlay.edits import Drop, Edit, InsertAfter, InsertBefore, Set, Spelling
from composer._overlay.nodes import Node, Origin, node_from
from composer._overlay.steps import Step, layers_from
from composer._yaml import Document, dump, parse
from composer.errors import PipelineError, Place, fail

COMMAND_LINE: Final = "<command line>"

EDITS: Final[Mapping[str, type[Edit]]] = MappingProxyType(
    {
        "--set": Set,
        "--drop": Drop,
        "--insert-before": InsertBefore,
        "--insert-after": InsertAfter,
    }
)
"""The edit that each option of the command line makes."""

_KINDS: Final[Mapping[type[Edit], Kind]] = MappingProxyType(
    {Set: "set", Drop: "drop", InsertBefore: "insert_before", InsertAfter: "insert_after"}
)
_WANTED: Final = {
    "--set": ("ADDRESS=VALUE", "--set stack.vmap.axis_size=8"),
    "--insert-before": ("LAYER=NEW", "--insert-before jit='{stop_gradient: params}'"),
    "--insert-after": ("LAYER=NEW", "--insert-after grad='{stop_gradient: params}'"),
}


def parse_edit(option: str, text: str) -> Edit:
    """The edit of one option of the command line.

    Args:
        option: A key of `EDITS`.
        text: What is written behind it; a value in it is YAML.

    Raises:
        PipelineError: CMP059, there is no value; CMP001 to CMP023, it is not YAML.

    >>> parse_edit("--set", "stack.vmap.in_axes={x: 0}")
    Set(address='stack.vmap.in_axes', value={'x': 0})
    """
    whole = f"{option} {text}"
    kind = EDITS[option]
    if issubclass(kind, Drop):
        return kind(text, spelling=Spelling(option, whole))
    address, _, written = text.partition("=")
    if not written.strip() or written.lstrip().startswith("#"):
        wanted, example = _WANTED[option]
        place = Place(COMMAND_LINE, 1, len(option) + 2, whole, max(1, len(text)))
        message = f"{option} takes {wanted}, and here is no value"
        raise fail(PipelineError, "CMP059", message, place=place, cure=example)
    # Blanks for what stands before it, so that columns are those of the whole option; a
    # value of several lines is told by its own lines.
    alone = "\n" in written
    try:
        value = parse(written if alone else written.rjust(len(whole)), COMMAND_LINE)
    except PipelineError as error:
        if alone:
            raise
        found = (replace(item, place=_in_text(item.place, whole)) for item in error.diagnostics)
        raise PipelineError(*found) from None
    return kind(address, value.data, spelling=Spelling(option, whole, value))


def step_from(edit: Edit) -> Step:
    """The edit as a step, with places in the text that it was made of.

    Raises:
        PipelineError: CMP059, what is addressed can't be understood; CMP041, a value is not
            plain data; CMP053, what is inserted is no layer.
    """
    target = edit.address if isinstance(edit, Set) else edit.layer
    spelling = edit.spelling
    if spelling is not None:
        option, file, text = spelling.option, COMMAND_LINE, spelling.text
        column = len(option) + 2
    else:
        option, file, text = type(edit).__name__, "<edits>", repr(edit)
        column = max(0, text.find(target)) + 1
    address = parse_address(target, Place(file, 1, column, text, max(1, len(target))))
    if isinstance(edit, Drop):
        return Step("drop", address)
    data = edit.value if isinstance(edit, Set) else edit.new
    origin = Origin(edit=option)
    if spelling is not None and spelling.value is not None:
        node = _spelled(spelling.value, origin, text)
    else:
        node = _plain(data, origin, Place(file, 1, 1, text, len(text)))
    kind = _KINDS[type(edit)]
    return Step(kind, address, (node,) if kind == "set" else layers_from(node))


def _spelled(value: Document, origin: Origin, text: str) -> Node:
    node = node_from(value, origin)
    return node if "\n" in value.text else node.moved(lambda place: replace(place, text=text))


def _plain(data: object, origin: Origin, place: Place) -> Node:
    # Refuses what is not plain data, so that a resolved pipeline can always be written.
    try:
        dump(data)
    except PipelineError as error:
        found = (replace(item, place=place) for item in error.diagnostics)
        raise PipelineError(*found) from None
    return node_from(Document(data, place.file, place.text, {(): place}, {}), origin)


def _in_text(place: Place | None, text: str) -> Place | None:
    return None if place is None else replace(place, text=text)
