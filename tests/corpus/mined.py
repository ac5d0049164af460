"""The mined stacks, as they are recorded. Imports nothing but the standard library."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parents[1] / "data" / "corpus" / "stacks.jsonl"

LIBRARIES: Final[Mapping[str, str]] = {
    "eqx": "equinox",
    "nnx": "flax.nnx",
    "nn": "flax.linen",
    "lift": "flax.core.lift",
    "hk": "haiku",
    "objax": "objax",
    "hax": "haliax",
    "sparsify": "jax.experimental.sparse",
}
"""Where the transforms that are not JAX's own come from, by how they are recorded."""


@dataclass(frozen=True)
class Step:
    """One transform of a stack, with its recorded keyword arguments."""

    transform: str
    kwargs: Mapping[str, object]

    @property
    def library(self) -> str | None:
        """The library that it comes from; None for JAX's own."""
        return LIBRARIES.get(self.transform.partition(".")[0])


@dataclass(frozen=True)
class Hint:
    """What was seen of the innermost function and of the outermost call.

    Attributes:
        called: Positional arguments of the call.
        call_keywords: Keyword arguments of the call; `**` where they were unpacked.
        positional: Positional arguments of the function, `self` included.
        has_self: Whether the first of them is `self`.
        keyword_only: How many arguments of it are keyword-only.
        var_positional: Whether it has `*args`.
        var_keyword: Whether it has `**kwargs`.
        mesh_from_context: Whether the mesh was that of the context.
    """

    called: int | None = None
    call_keywords: tuple[str, ...] = ()
    positional: int | None = None
    has_self: bool = False
    keyword_only: int = 0
    var_positional: bool = False
    var_keyword: bool = False
    mesh_from_context: bool = False


@dataclass(frozen=True, eq=False)
class Entry:
    """One mined stack, innermost transform first."""

    number: int
    steps: tuple[Step, ...]
    hint: Hint
    pure: bool

    @property
    def libraries(self) -> frozenset[str]:
        """The libraries besides JAX that it uses."""
        return frozenset(step.library for step in self.steps if step.library is not None)

    def __str__(self) -> str:
        return " | ".join(
            step.transform + "".join(f" {name}={value!r}" for name, value in step.kwargs.items())
            for step in self.steps
        )


@functools.cache
def entries() -> tuple[Entry, ...]:
    """All mined stacks, in the order of the file."""
    return tuple(_entry(json.loads(line)) for line in DATA.read_text().splitlines())


def _entry(row: dict[str, object]) -> Entry:
    stack: list[dict[str, dict[str, object]]] = row["stack"]
    steps = tuple(Step(str(item["transform"]), item["kwargs"]) for item in stack)
    return Entry(int(row["id"]), steps, read_hint(str(row["args_hint"])), bool(row["pure"]))


def read_hint(text: str) -> Hint:
    """The hint of an entry.

    >>> hint = read_hint("called at once with 2 positional and keywords k; base takes 3 positional")
    >>> hint.called, hint.call_keywords, hint.positional
    (2, ('k',), 3)
    """
    call = re.search(r"called at once with (\d+) positional(?: and keywords ([\w,*]+))?", text)
    base = re.search(r"base takes (\d+) positional", text) or re.match(r"(\d+) positional", text)
    keyword_only = re.search(r"(\d+) keyword-only", text)
    return Hint(
        called=int(call[1]) if call else None,
        call_keywords=tuple(call[2].split(",")) if call and call[2] else (),
        positional=int(base[1]) if base else None,
        has_self="incl self" in text,
        keyword_only=int(keyword_only[1]) if keyword_only else 0,
        var_positional="*args" in text,
        var_keyword="**kwargs" in text,
        mesh_from_context="mesh from the context" in text,
    )
