"""Changes of a pipeline's text that a finding proposes, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Edit:
    """One change.

    Paths begin at the pipeline or sub-pipeline: `("static",)` is a key, `("stack", 1)` a
    layer, counted from the innermost, and `("stack", 1, "in_axes")` a parameter of it,
    whichever word it is written with.

    Attributes:
        op: set a value, which may not be there yet; remove a layer or a key; insert a layer
            before the one at `path`, or behind the last one.
        path: What is changed.
        value: The new value, or the new layer, as plain data.
    """

    op: Literal["set", "remove", "insert"]
    path: tuple[str | int, ...]
    value: object = None


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that cure a finding, all of them together.

    Positions are those of the text as it is: no edit counts what another one changes.

    Attributes:
        edits: The changes.
        safe: Whether what the pipeline means stays what it was meant to be, beyond doubt.
    """

    edits: tuple[Edit, ...]
    safe: bool = False


def layer_data(word: str, **parameters: object) -> object:
    """A layer as plain data.

    >>> layer_data("jit"), layer_data("vmap", in_axes=0)
    ('jit', {'vmap': {'in_axes': 0}})
    """
    return {word: parameters} if parameters else word
