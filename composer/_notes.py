"""What composer adds to an exception that passes through a stack: one note, and nothing else.

The exception stays the user's: never replaced, never hidden, never told twice. A note
must not raise either, since it is added while another exception is on its way.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from composer._describe import describe
from composer._pipeline import Layer
from composer._signature import Signature
from composer.errors import ComposerError, printable

Shapes = str
ROOM = 60
"""Characters that the parameters of one layer may take."""


@dataclass(frozen=True, eq=False)
class Chain:
    """One composed stack, as its notes describe it. Compared by identity.

    Attributes:
        title: What the user's function is called.
        layers: Innermost first.
    """

    title: str
    layers: tuple[Layer, ...]

    def axes_outside(self, number: int) -> list[str]:
        """Axis names bound by the layers around the first `number` ones, outermost last."""
        return [name for layer in self.layers[number:] for name in layer.transform.binds_axes()]


class Note(str):
    """The text of a note that remembers what it is made of.

    Attributes:
        chain: The stack that it tells of.
        arrived: What each callable was called with, by number of layers inside it.
        first: The innermost callable that the exception came out of.
        cure: What probably helps; may be empty.
    """

    chain: Chain
    arrived: Mapping[int, Shapes]
    first: int
    cure: str

    @staticmethod
    def make(chain: Chain, arrived: Mapping[int, Shapes], first: int, cure: str) -> Note:
        """The note with its text."""
        note = Note(_text(chain, arrived, first, cure))
        note.chain, note.arrived, note.first, note.cure = chain, arrived, first, cure
        return note


def add_note(
    error: Exception,
    chain: Chain,
    number: int,
    sig: Signature,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> None:
    """Put one callable's line into the exception's note; never raises.

    Args:
        error: On its way to the user.
        chain: The stack.
        number: How many layers are inside the callable that raised.
        sig: What it takes.
        args: What it was called with.
        kwargs: The same by keyword.
    """
    # Exceptions may refuse notes, and arguments may refuse to be described.
    try:
        shapes = describe_call(sig, args, kwargs)
        notes = getattr(error, "__notes__", [])
        for position, note in enumerate(notes):
            if isinstance(note, Note) and note.chain is chain:
                arrived = {**note.arrived, number: shapes}
                notes[position] = Note.make(chain, arrived, note.first, note.cure)
                return
        cure = likely_cure(error, chain, number) or size_or_branch(error, number, sig, args)
        error.add_note(Note.make(chain, {number: shapes}, number, cure))
    except Exception:
        return


def describe_call(sig: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Shapes:
    """Arguments by name with dtype and shape, such as `x f32[4, 2], n 3`."""
    names = [*sig.positional, *(f"argument {i}" for i in range(len(sig.positional), len(args)))]
    given = [*zip(names, args, strict=False), *kwargs.items()]
    return ", ".join(f"{name} {describe(value)}" for name, value in given)


def _text(chain: Chain, arrived: Mapping[int, Shapes], first: int, cure: str) -> str:
    """The chain, outermost first, with a mark where the exception came from."""
    rows = []
    for number in range(len(chain.layers), -1, -1):
        layer = chain.layers[number - 1] if number else None
        word = layer.word if layer else chain.title
        place = str(layer.place) if layer and layer.place else ""
        rows.append(
            (
                ">" if number == first else " ",
                word,
                place,
                _parameters(layer),
                arrived.get(number, ""),
            )
        )
    wide = max(len(row[1]) for row in rows)
    long = max(len(row[2]) for row in rows)
    lines = [f"in the stack around {chain.title}, outermost first:"]
    for mark, word, place, parameters, shapes in rows:
        where = f" {place:<{long}}" if long else ""
        lines.append(f"{mark} {word:<{wide}}{where} {parameters}".rstrip())
        if shapes:
            lines.append(f"      called with {shapes}")
    if cure:
        lines.append(f"  likely cure: {cure}")
    return printable_lines(lines)


def printable_lines(lines: list[str]) -> str:
    """Lines joined, with control characters inside them escaped."""
    return "\n".join(printable(line) for line in lines)


def _parameters(layer: Layer | None) -> str:
    if layer is None:
        return ""
    text = ", ".join(f"{name}={value!r}" for name, value in layer.transform.items())
    return text if len(text) <= ROOM else text[: ROOM - 3] + "..."


def likely_cure(error: Exception, chain: Chain, number: int) -> str:
    """What probably helps, from the exception's class alone: JAX's wordings change."""
    if isinstance(error, ComposerError):
        return ""
    for cls, text in _cures().items():
        if isinstance(error, cls):
            return text
    # Python names the name that is not defined; JAX's own error about an axis does not.
    if isinstance(error, NameError) and error.name is None and number == 0:
        bound = chain.axes_outside(number)
        names = ", ".join(map(repr, bound)) or "none"
        return f"if a collective names an axis, it must be one that a layer outside binds: {names}"
    return ""


def size_or_branch(error: Exception, number: int, sig: Signature, args: tuple[Any, ...]) -> str:
    """For a TypeError in the function itself: whole numbers that may have been meant as sizes."""
    if number or not isinstance(error, TypeError):
        return ""
    named = zip(sig.positional, args, strict=False)
    whole = [name for name, value in named if describe(value) in ("i32[]", "i64[]", "bool[]")]
    if not whole:
        return ""
    return f"static: [{', '.join(whole)}]     # if it is a size, or decides a branch"


@functools.cache
def _cures() -> Mapping[type[Exception], str]:
    import jax

    errors = jax.errors
    static = "list the argument in `static:` if it is a plain Python value"
    return {
        errors.TracerBoolConversionError: f"jnp.where or jax.lax.cond instead of `if`; or {static}",
        errors.TracerIntegerConversionError: f"{static}: it is used as an index or a size",
        errors.TracerArrayConversionError: "jax.numpy instead of numpy, which takes no tracers",
        errors.NonConcreteBooleanIndexError: "jnp.where(mask, x, 0) instead of x[mask]: a shape may"
        " not depend on values",
        errors.ConcretizationTypeError: f"{static}: its value is needed while tracing",
        errors.UnexpectedTracerError: "return the value instead of storing it outside the function",
    }
