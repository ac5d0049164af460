"""Plain data with the place of each part, which the parts keep when they are put elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from composer._yaml import Document, Path
from composer.errors import Place

Key: TypeAlias = str | int
Mapped: TypeAlias = "dict[Key, Node]"


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote a value.

    Attributes:
        file: The file that it stands in; None for text without a file, and for edits.
        profile: The profile that it belongs to, if any.
        edit: The edit that brought it, as it is spelled: `--set`, or `Set` in Python.
    """

    file: str | None = None
    profile: str | None = None
    edit: str | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place; its parts are nodes again.

    Attributes:
        value: Nodes by key, a list of nodes, or a scalar.
        place: Where the value is written.
        key: Where its key is written, if it has one.
        origin: Who wrote it.
    """

    value: Mapped | list[Node] | str | int | float | bool | None
    place: Place
    key: Place | None
    origin: Origin

    @property
    def mapping(self) -> Mapped:
        """The parts by key; none for a list and for a scalar."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Node]:
        """The items; none for a mapping and for a scalar."""
        return self.value if isinstance(self.value, list) else []

    @property
    def where(self) -> Place:
        """The place of the key, or of the value where there is no key."""
        return self.key or self.place

    def with_part(self, key: Key, part: Node) -> Node:
        """The mapping with one part more, or another one in its place."""
        return replace(self, value={**self.mapping, key: part})

    def with_item(self, number: int, item: Node) -> Node:
        """The list with another item in the place of one."""
        items = self.items
        return replace(self, value=[*items[:number], item, *items[number + 1 :]])

    def moved(self, move: Callable[[Place], Place]) -> Node:
        """The node with every place in it changed."""
        value = self.value
        if isinstance(value, dict):
            value = {key: part.moved(move) for key, part in value.items()}
        elif isinstance(value, list):
            value = [item.moved(move) for item in value]
        key = None if self.key is None else move(self.key)
        return Node(value, move(self.place), key, self.origin)

    def plain(self) -> object:
        """The value without its places."""
        if isinstance(self.value, dict):
            return {key: part.plain() for key, part in self.value.items()}
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        return self.value


def node_from(document: Document, origin: Origin) -> Node:
    """The whole of a document."""
    return _node(document.data, (), document, origin)


def _node(data: object, path: Path, document: Document, origin: Origin) -> Node:
    place, key = document.place(*path), document.keys.get(path)
    if isinstance(data, dict):
        parts = {name: _node(part, (*path, name), document, origin) for name, part in data.items()}
        return Node(parts, place, key, origin)
    if isinstance(data, list):
        items = [_node(item, (*path, at), document, origin) for at, item in enumerate(data)]
        return Node(items, place, key, origin)
    assert data is None or isinstance(data, str | int | float)
    return Node(data, place, key, origin)


def walk(node: Node, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """The node and everything in it, each with its path."""
    yield path, node
    for key, part in node.mapping.items():
        yield from walk(part, (*path, key))
    for number, item in enumerate(node.items):
        yield from walk(item, (*path, number))


def document_from(root: Node, file: str | None, text: str) -> Document:
    """The nodes as a document, whose places may lie in several files.

    Args:
        root: The whole.
        file: The file that the user named.
        text: That file's text.
    """
    places: dict[Path, Place] = {}
    keys: dict[Path, Place] = {}
    for path, node in walk(root):
        places[path] = node.place
        if node.key is not None:
            keys[path] = node.key
    return Document(root.plain(), file, text, places, keys)


def origins_of(root: Node) -> Mapping[Path, Origin]:
    """Who wrote each value."""
    return {path: node.origin for path, node in walk(root)}
