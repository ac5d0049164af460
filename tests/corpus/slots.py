"""The arguments and the plan that a mined stack is tried on. Imports nothing of composer."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from corpus.body import double
from corpus.filling import MESH, Filled, Spec, leaves
from corpus.mined import Entry

DIM, LENGTH, DEVICES = 2, 3, 4
"""Sizes: of a dimension, of a loop, of all devices."""

STATIC: Final = 2
"""The value of every static argument."""

CONSTANT: Final = 0.5
"""The value that partial binds by position."""


class Shape(tuple[int, ...]):
    """The shape of one array."""

    __slots__ = ()


@dataclass
class Slot:
    """One argument of the innermost function.

    Attributes:
        name: What it is called there.
        kind: How it can be passed.
        shape: A tree of shapes; grows an axis with each mapping layer.
        static: Whether it is a Python integer.
        optional: Whether the call leaves it to its default.
        by_keyword: Whether the call passes it by keyword.
        bound: Whether partial has given it a value.
    """

    name: str
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shape: Any = field(default_factory=Shape)
    static: bool = False
    optional: bool = False
    by_keyword: bool = False
    bound: bool = False

    def value(self) -> Any:
        """An argument of its shape."""
        return STATIC if self.static else arrays_of(self.shape)


@dataclass
class Plan:
    """A stack with everything that is needed to write it down and to call it.

    Attributes:
        layers: Innermost first, without placeholders; the values that partial binds are
            in `args` and `keywords` of its layer.
        function: The innermost function, made anew for each plan.
        slots: Its arguments.
        live: Names of the arguments by position below each layer, and at last outside.
        args, kwargs: Of the outermost call, without tangents, cotangents and loop inputs.
        static_positions: Which of args are static.
    """

    entry: Entry
    layers: tuple[Filled, ...] = ()
    function: Callable[..., Any] = double
    slots: list[Slot] = field(default_factory=list)
    live: list[tuple[str, ...]] = field(default_factory=list)
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    static_positions: tuple[int, ...] = ()

    @property
    def needs_mesh(self) -> bool:
        """Whether specs are used anywhere."""
        return any(
            isinstance(leaf, Spec)
            for layer in self.layers
            for value in layer.kwargs.values()
            for leaf in leaves(value)
        )

    def has(self, *transforms: str) -> bool:
        """Whether one of these transforms stands in the stack."""
        return any(layer.kind in transforms for layer in self.layers)


def arrays_of(shape: Any) -> Any:
    """Arrays of a tree of shapes."""
    if isinstance(shape, dict):
        return {key: arrays_of(item) for key, item in shape.items()}
    if isinstance(shape, tuple) and not isinstance(shape, Shape):
        return tuple(arrays_of(item) for item in shape)
    return np.full(shape, CONSTANT, np.float32)


def parameter(slot: Slot) -> inspect.Parameter:
    default = (STATIC if slot.static else CONSTANT) if slot.optional else inspect.Parameter.empty
    return inspect.Parameter(slot.name, slot.kind, default=default)


def grown(shape: Any, axis: Any, size: int) -> Any:
    """The shapes with one axis more, where the axis is no None."""
    if isinstance(shape, dict):
        inside = axis if isinstance(axis, dict) else dict.fromkeys(shape, axis)
        return {key: grown(item, inside[key], size) for key, item in shape.items()}
    if not isinstance(shape, Shape):
        return tuple(grown(item, axis, size) for item in shape)
    if axis is None:
        return shape
    at = axis % (len(shape) + 1)
    return Shape((*shape[:at], size, *shape[at:]))


def spread(shape: Any, spec: Any) -> Any:
    """The shapes of whole arrays, from those of a device's part."""
    if isinstance(shape, dict):
        return {key: spread(item, spec[key]) for key, item in shape.items()}
    if not isinstance(shape, Shape):
        parts = (spec,) * len(shape) if isinstance(spec, Spec) else spec
        return tuple(spread(item, part) for item, part in zip(shape, parts, strict=True))
    padded = (*spec, *(None,) * (len(shape) - len(spec)))
    return Shape(d * (MESH[a] if a else 1) for d, a in zip(shape, padded, strict=True))


def bound_value(slot: Slot) -> Any:
    if slot.static:
        return STATIC
    return CONSTANT if slot.shape == Shape() else slot.value()


def setting(number: int, slot: Slot) -> Any:
    """A value for an argument that partial binds by name: by what the name says it is."""
    if slot.static:
        return STATIC
    if slot.name.endswith(("_fn", "_fun", "_fns")):
        return double
    if slot.name.startswith(("is_", "use_", "return_", "debug", "train")):
        return True
    return (CONSTANT, 3, "text")[number % 3]
