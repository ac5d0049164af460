"""Times each wrap and each trace that composer tells of."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from composer.errors import Place
from composer.plugin import Context, hookimpl

if TYPE_CHECKING:
    from composer import Layer

Kind = Literal["wrap", "trace"]
Fn = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One wrap or trace of one layer.

    Attributes:
        kind: `wrap`: the layer was put around the function. `trace`: JAX went through it.
        composition: Which composed callable, counted from 1 in the order of composing.
        function: The name of the user's function.
        word: The layer's word; None for the user's function.
        id: The layer's id, where the file gives one.
        number: The layer's position in the stack, 0 is the innermost; -1 for the function.
        place: Where the layer is written; None in Python.
        thread: `threading.get_ident()` of the thread.
        started: In seconds of `time.perf_counter`.
        seconds: Wall time, with everything inside.
        own: Wall time without the records inside.
    """

    kind: Kind
    composition: int
    function: str
    word: str | None
    id: str | None
    number: int
    place: Place | None
    thread: int
    started: float
    seconds: float
    own: float


@dataclass(slots=True)
class _Frame:
    """Something that has begun and not ended: when, and how much of it was inside others."""

    started: float
    inside: float = 0.0


class _Frames(threading.local):
    """What has begun in this thread, outermost first."""

    def __init__(self) -> None:
        self.open: list[_Frame] = []


class Recorder:
    """Keeps what it sees, up to a limit; changes nothing about the functions.

    Args:
        limit: How many records to keep. Without jit outside each call is a trace, so a
            long loop would fill the memory.

    Attributes:
        dropped: How many records came after the limit.
    """

    def __init__(self, limit: int = 100_000) -> None:
        self.limit, self.dropped = limit, 0
        self._records: list[Record] = []
        self._frames = _Frames()
        self._lock = threading.Lock()
        # Weak, so that watching does not keep a stack alive.
        self._numbers: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()
        self._count = 0

    def records(self) -> tuple[Record, ...]:
        """All records so far, in the order in which they ended: inner before outer ones."""
        with self._lock:
            return tuple(self._records)

    def clear(self) -> None:
        """Forget all records; composed callables keep their numbers."""
        with self._lock:
            self._records.clear()
            self.dropped = 0

    @hookimpl(wrapper=True)
    def composer_wrap(self, layer: Layer, ctx: Context) -> Generator[None, Fn | None, Fn | None]:
        """Time the wrap of one layer; hands on what the layer built."""
        self._begin()
        start = time.perf_counter()
        try:
            return (yield)
        finally:
            self._end("wrap", layer, ctx, time.perf_counter() - start)

    @hookimpl
    def composer_tracing(self) -> None:
        """A trace begins."""
        self._begin()

    @hookimpl
    def composer_traced(self, layer: Layer | None, ctx: Context, seconds: float) -> None:
        """The trace that began last in this thread has ended."""
        self._end("trace", layer, ctx, seconds)

    def _begin(self) -> None:
        self._frames.open.append(_Frame(time.perf_counter()))

    def _end(self, kind: Kind, layer: Layer | None, ctx: Context, seconds: float) -> None:
        frames = self._frames.open
        frame = frames.pop()
        if frames:
            frames[-1].inside += seconds
        with self._lock:
            number = self._number(ctx.composition)
            if len(self._records) >= self.limit:
                self.dropped += 1
                return
            self._records.append(
                Record(
                    kind=kind,
                    composition=number,
                    function=ctx.name,
                    word=layer.word if layer is not None else None,
                    id=layer.id if layer is not None else None,
                    number=ctx.number if layer is not None else -1,
                    place=layer.place if layer is not None else None,
                    thread=threading.get_ident(),
                    started=frame.started,
                    seconds=seconds,
                    own=max(0.0, seconds - frame.inside),
                )
            )

    def _number(self, composition: object) -> int:
        if composition not in self._numbers:
            self._count += 1
            self._numbers[composition] = self._count
        return self._numbers[composition]
