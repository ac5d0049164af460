"""What reading costs: text to Pipeline, for 10, 100 and 1,000 layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from measure import Row, interleaved, median, ratio

import composer

ROUNDS = 15


def rows(rounds: int = ROUNDS) -> Iterator[Row]:
    """Time of one layer; at 1,000 layers it is at most 1.5 times that at 100."""
    sizes = (10, 100, 1000)
    times = interleaved({str(size): reads(size) for size in sizes}, rounds, calls=1)
    each = {str(size): [taken / size for taken in times[str(size)]] for size in sizes}
    for size in sizes:
        row = Row(f"reading {size:,} layers", "each layer", median(each, str(size)))
        if size == 1000:
            share = ratio(each, "1000", "100")
            row = Row(
                row.group, row.what, row.seconds, share, "100 layers", "<= 1.50", share <= 1.5
            )
        yield row


def reads(layers: int) -> Callable[[], Callable[[], object]]:
    """`composer.loads` of so many layers, short ones: a file has at most 64 KiB."""
    text = "composer: 1\nfunction: loss\nstack:\n" + "  - jit\n" * layers
    return lambda: lambda: composer.loads(text)
