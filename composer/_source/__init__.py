"""What a function's source says, read with `ast`: nothing is imported, nothing runs."""

from composer._source.find import NotFound, facts_of_callable, find_facts
from composer._source.model import Branch, Collective, Derivative, Draw, Facts, Loop, Spot
from composer._source.read import facts_in

__all__ = [
    "Branch",
    "Collective",
    "Derivative",
    "Draw",
    "Facts",
    "Loop",
    "NotFound",
    "Spot",
    "facts_in",
    "facts_of_callable",
    "find_facts",
]
