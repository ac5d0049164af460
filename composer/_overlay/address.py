"""`stack.vmap.in_axes.x`: where an edit goes, and the layer that a word means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from composer._findings import shown
from composer._overlay.nodes import Node
from composer.errors import ComposerError, PipelineError, Place, fail, nearest

_PART: Final = re.compile(
    r"""(?P<dot>\.)?(?:"(?P<quoted>[^"]+)"|(?P<word>[^.\[\]"'\s]+))|\[(?P<number>[0-9]{1,9})\]"""
)
# No pipeline is nested deeper, as the reader of YAML says.
_DEEPEST: Final = 32


@dataclass(frozen=True, slots=True)
class Part:
    """One step of an address.

    Attributes:
        key: A name, or a position.
        place: Where it is written.
    """

    key: str | int
    place: Place

    def __str__(self) -> str:
        return f"[{self.key}]" if isinstance(self.key, int) else self.key


@dataclass(frozen=True, slots=True)
class Address:
    """Steps from the root to a value.

    Attributes:
        text: As it is written.
        place: Where.
        parts: The steps; at least one.
    """

    text: str
    place: Place
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class World:
    """What is known about names while edits are applied.

    Attributes:
        keys: The keys that a pipeline may have.
        targets: What each word of a transform stands for: words with one target are one
            transform under two names.
        elsewhere: Names that other profiles bring: an edit of one of these can't be judged
            while a profile is tried alone.
    """

    keys: tuple[str, ...]
    targets: Mapping[str, str] = field(default_factory=dict)
    elsewhere: frozenset[str] = frozenset()


class BroughtElsewhere(Exception):
    """The name that an edit needs is not here, but another profile brings it."""


def parse_address(text: str, place: Place) -> Address:
    """Split an address into its parts.

    Args:
        text: Names with dots between them, positions in brackets; a name that holds a dot
            stands in double quotes.
        place: Where the text is written, so that each part has a place of its own.

    Raises:
        PipelineError: CMP059.
    """
    parts: list[Part] = []
    at = 0
    # Only where the text stands as it is, and not escaped in some way, parts can be found in it.
    start = place.column - 1 if place.text[place.column - 1 :].startswith(text) else None
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or (match["dot"] is None and match["number"] is None) == bool(parts):
            break
        word = match["quoted"] or match["word"]
        key = int(match["number"] or word) if _is_position(match) else word
        skip = 1 if match["dot"] else 0
        span = (match.start() + skip, match.end() - match.start() - skip)
        part = place if start is None else _within(place, start + span[0], span[1])
        parts.append(Part(key, part))
        at = match.end()
    if at < len(text) or not 1 <= len(parts) <= _DEEPEST or isinstance(parts[0].key, int):
        raise fail(
            PipelineError,
            "CMP059",
            f"{shown(text)} is no address" if text else "an address is missing",
            place=place,
            cure="stack.vmap.in_axes.x, run.simulate_devices or stack[2].axis_size",
        )
    return Address(text, place, tuple(parts))


def _is_position(match: re.Match[str]) -> bool:
    word = match["word"]
    return match["number"] is not None or (
        word is not None and bool(re.fullmatch("[0-9]{1,9}", word))
    )


def _within(place: Place, start: int, width: int) -> Place:
    return replace(place, column=start + 1, width=width)


def word_of(layer: Node) -> str | None:
    """The word of a layer; None for what is no layer."""
    if isinstance(layer.value, str):
        return layer.value
    words = [key for key in layer.mapping if key != "id"]
    return words[0] if len(words) == 1 and isinstance(words[0], str) else None


def names_of(layer: Node) -> set[str]:
    """The word of a layer and its id: what it can be addressed by."""
    word = word_of(layer)
    found = {word} if word is not None else set()
    inside = layer.mapping[word].mapping if word in layer.mapping else {}
    for mapping in (layer.mapping, inside):
        if "id" in mapping and isinstance(mapping["id"].value, str):
            found.add(mapping["id"].value)
    return found


def is_stack(path: tuple[str | int, ...]) -> bool:
    """Whether a list of layers stands at a path: the pipeline's or a sub-pipeline's."""
    return path == ("stack",) or (len(path) == 3 and path[0] == "args" and path[2] == "stack")


def find_layer(stack: Node, part: Part, world: World) -> int:
    """The position of the layer that is meant.

    Raises:
        PipelineError: CMP054, there is none; CMP055, there are several.
    """
    layers = stack.items
    if isinstance(part.key, int):
        if part.key >= len(layers):
            raise no_layer(stack, part)
        return part.key
    name = part.key
    found = [at for at, layer in enumerate(layers) if name in names_of(layer)]
    if not found and name in world.targets:
        same = world.targets[name]
        found = [
            at for at, layer in enumerate(layers) if world.targets.get(word_of(layer) or "") == same
        ]
    if len(found) > 1:
        raise fail(
            PipelineError,
            "CMP055",
            f"{name} stands {len(found)} times in the stack, so it does not say which one is meant",
            place=part.place,
            notes=[f"stack[{at}] {_title(layers[at])}, {layers[at].place}" for at in found],
            cure=" or ".join(f"stack[{at}]" for at in found)
            + f"; or give the layer a name: {{{name}: {{id: NAME}}}}",
        )
    if not found:
        check_elsewhere(name, world)
        raise no_layer(stack, part)
    return found[0]


def check_elsewhere(name: str | int, world: World) -> None:
    """Give up on a name that is not here where another profile brings it."""
    if name in world.elsewhere:
        raise BroughtElsewhere


def no_layer(stack: Node, part: Part) -> ComposerError:
    """There is no such layer."""
    layers = stack.items
    if isinstance(part.key, int):
        message = f"there is no stack[{part.key}]: the stack has {_count(len(layers))}"
    else:
        message = f"the stack has no layer {part.key!r}"
    listed = ", ".join(f"stack[{at}] {_title(layer)}" for at, layer in enumerate(layers))
    known = {name for layer in layers for name in names_of(layer)}
    return fail(
        PipelineError,
        "CMP054",
        message,
        place=part.place,
        notes=[f"innermost first: {listed}"] if layers else [],
        cure=nearest(str(part.key), known),
    )


def _title(layer: Node) -> str:
    word = word_of(layer) or "(no layer)"
    ids = names_of(layer) - {word}
    return f"{word} ({min(ids)})" if ids else word


def _count(number: int) -> str:
    return f"{number} layer{'' if number == 1 else 's'}, counted from 0" if number else "no layers"
