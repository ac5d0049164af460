"""Single edits of a pipeline, as Python and the command line write them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from composer._yaml import Document


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an edit stands on a command line.

    Attributes:
        option: `--set` and the like.
        text: The option with what is written behind it.
        value: What stands behind the equals sign, read as YAML.
    """

    option: str
    text: str
    value: Document | None = None


@dataclass(frozen=True, slots=True)
class Set:
    """Set one value; a parameter that a layer does not have yet is added.

    Attributes:
        address: Names with dots between them: `stack.vmap.in_axes.x`, `run.simulate_devices`.
            A layer is its word, its id, or its position from 0, innermost first:
            `stack[2].in_axes`.
        value: Plain data: text, numbers, True, False, None, lists, dicts.
    """

    address: str
    value: object
    spelling: Spelling | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove a layer.

    Attributes:
        layer: Its word, its id, or its position from 0, innermost first: `stack[2]`.
    """

    layer: str
    spelling: Spelling | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class InsertBefore:
    """Insert a layer before another one, so that it is applied earlier: inside.

    Attributes:
        layer: The other layer, as for `Drop`.
        new: A word, one word with its parameters, or a list of such layers.
    """

    layer: str
    new: object
    spelling: Spelling | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class InsertAfter:
    """Insert a layer after another one, so that it is applied later: outside.

    Attributes:
        layer: The other layer, as for `Drop`.
        new: A word, one word with its parameters, or a list of such layers.
    """

    layer: str
    new: object
    spelling: Spelling | None = field(default=None, compare=False, repr=False, kw_only=True)


Edit: TypeAlias = Set | Drop | InsertBefore | InsertAfter
