"""The records as a table, or as a file for a trace viewer."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Iterator, Sequence

from composer.errors import printable
from composer_trace._recorder import Record, Recorder

HEAD = ("layer", "place", "wrapped", "ms", "traced", "ms", "own ms")


def finish(recorder: Recorder, file: str | None) -> None:
    """What happens at the end of the process: a file if one is named, else a table.

    Called by `atexit`, where an exception would be no more than a traceback after the
    program's own output; so a file that cannot be written is said in one line.
    """
    if file is None:
        text = table(recorder.records(), recorder.dropped)
    else:
        try:
            with open(file, "w", encoding="utf-8") as out:
                json.dump(chrome_trace(recorder.records(), recorder.dropped), out)
            text = f"jax-composer-trace: {len(recorder.records())} records in {file}\n"
        except OSError as error:
            text = f"jax-composer-trace: {file} cannot be written: {error.strerror}\n"
    if text and sys.stderr is not None:
        sys.stderr.write(text)


def table(records: Sequence[Record], dropped: int = 0) -> str:
    """One block for each composed callable, the function first and then outwards.

    Returns:
        The text with its line ends; empty if there are no records.
    """
    blocks = []
    by_composition = sorted(records, key=lambda record: (record.composition, record.number))
    for number, group in itertools.groupby(by_composition, lambda record: record.composition):
        members = list(group)
        blocks.append(f"trace {number}: {printable(members[0].function)}\n")
        blocks.append(_aligned([HEAD, *_rows(members)]))
    if dropped:
        blocks.append(f"{dropped} more records were not kept\n")
    return "".join(blocks)


def _rows(members: Sequence[Record]) -> Iterator[tuple[str, ...]]:
    """A row for each layer of one composed callable; `members` is in order of layers."""
    for _, group in itertools.groupby(members, lambda record: record.number):
        records = list(group)
        wraps = [record for record in records if record.kind == "wrap"]
        traces = [record for record in records if record.kind == "trace"]
        yield (
            _label(records[0]),
            str(records[0].place or ""),
            str(len(wraps) or ""),
            _milliseconds([record.seconds for record in wraps]),
            str(len(traces) or ""),
            _milliseconds([record.seconds for record in traces]),
            _milliseconds([record.own for record in traces]),
        )


def _label(record: Record) -> str:
    if record.word is None:
        return f"{printable(record.function)}()"
    return record.word if record.id is None else f"{record.word} {printable(record.id)}"


def _milliseconds(seconds: Sequence[float]) -> str:
    return f"{sum(seconds) * 1e3:.2f}" if seconds else ""


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        texts = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
        numbers = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        lines.append(f"  {'  '.join(texts + numbers)}".rstrip() + "\n")
    return "".join(lines)


def chrome_trace(records: Sequence[Record], dropped: int = 0) -> dict[str, object]:
    """The records in the Trace Event Format, which chrome://tracing and Perfetto read."""
    events = [
        {
            "name": _label(record),
            "cat": record.kind,
            "ph": "X",
            "ts": record.started * 1e6,
            "dur": record.seconds * 1e6,
            "pid": os.getpid(),
            "tid": record.thread,
            "args": {
                "composition": record.composition,
                "function": record.function,
                "layer": record.number,
                "place": str(record.place or ""),
                "own_us": record.own * 1e6,
            },
        }
        for record in records
    ]
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"dropped": dropped}}
