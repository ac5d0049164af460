"""What came of each mined stack: the two programs, or why there are not two."""

from __future__ import annotations

import difflib
import functools
from dataclasses import dataclass
from typing import Literal

from corpus import calls, composed, handnest
from corpus.mined import Entry
from corpus.plan import plan
from corpus.slots import Plan

Kind = Literal["equal", "differs", "refused by JAX", "not composed"]


@dataclass(frozen=True)
class Outcome:
    """What came of one stack.

    Attributes:
        kind: Whether the two programs are equal, or where it ended.
        detail: The difference, or the class and text of the error.
        as_text: Whether the composed one was built by way of a pipeline's text.
    """

    kind: Kind
    detail: str = ""
    as_text: bool = False


@functools.cache
def outcome(entry: Entry) -> Outcome:
    """Nest the stack by hand, compose it, and compare the programs."""
    made = plan(entry)
    with calls.as_mined(made):
        try:
            by_hand = calls.program(handnest.nested(made), made)
        except Exception as error:
            return Outcome("refused by JAX", f"{type(error).__name__}: {error}")
        return _compared(made, by_hand)


def _compared(made: Plan, by_hand: str) -> Outcome:
    try:
        found = calls.program(composed.built(made), made)
    except Exception as error:
        return Outcome("not composed", f"{type(error).__name__}: {error}")
    if found == by_hand:
        return Outcome("equal", as_text=composed.has_text(made))
    return Outcome("differs", difference(by_hand, found))


def difference(by_hand: str, found: str) -> str:
    """The lines that differ."""
    lines = difflib.unified_diff(
        by_hand.splitlines(), found.splitlines(), "by hand", "composed", lineterm="", n=1
    )
    return "\n".join(lines)
