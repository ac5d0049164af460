"""Side by side measurements: every round times each case once, in a shuffled order."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the report.

    Attributes:
        group: The measurement it belongs to.
        what: What was timed.
        seconds: Median time of one.
        ratio: Median over rounds of its time against `against` in the same round; None
            where there is nothing to compare with.
        against: What the ratio is to.
        target: The target in words; empty: measured for information.
        met: Whether the target is met; None without one.
    """

    group: str
    what: str
    seconds: float
    ratio: float | None = None
    against: str = ""
    target: str = ""
    met: bool | None = None


def interleaved(
    cases: Mapping[str, Callable[[], Callable[[], object]]], rounds: int, calls: int
) -> dict[str, list[float]]:
    """Seconds of one call, for each case and round.

    Args:
        cases: By name, a function that prepares, untimed, what is then called.
        rounds: How often each case has its turn.
        calls: How many calls make one turn.

    The order is shuffled, since a case that always follows a slow one finds its caches cold
    (seen: 1.5 % of a call). The garbage collector waits until the end of each turn.
    """
    names = list(cases)
    found: dict[str, list[float]] = {name: [] for name in names}
    shuffle = random.Random(0).shuffle
    for _ in range(rounds):
        shuffle(names)
        for name in names:
            prepared = cases[name]()
            gc.disable()
            start = time.perf_counter()
            for _ in range(calls):
                prepared()
            taken = time.perf_counter() - start
            gc.enable()
            found[name].append(taken / calls)
    return found


def ratio(times: Mapping[str, list[float]], name: str, against: str) -> float:
    """The median over rounds of the ratio within a round, which a busy machine disturbs least."""
    pairs = zip(times[name], times[against], strict=True)
    return statistics.median(one / other for one, other in pairs)


def median(times: Mapping[str, list[float]], name: str) -> float:
    """The median time of one call."""
    return statistics.median(times[name])
