"""One mistake: the pipeline that has it, what lint says, and the cured one with its right value."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Level = Literal["static", "shapes"]
HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

"""


@dataclass(frozen=True)
class Row:
    """A row of the list of mistakes.

    Attributes:
        id: Its name there; several where one pipeline shows them all.
        level: Where it is found: from the file and the source, or from a trace.
        source: The module `m`.
        wrong: The pipeline.
        code: What lint finds.
        at: A part of the line that the finding points at.
        value: What the cured pipeline gives: arrays by their closed form, or a check.
        right: The cured pipeline; None: the finding's own fix is applied.
        right_source: The cured module; None: the same.
        says: What the finding's cure holds.
        runs: Whether the wrong pipeline runs, silently, and does not give the value.
    """

    id: str
    level: Level
    source: str
    wrong: str
    code: str
    at: str
    value: Any | Callable[[Any], None]
    right: str | None = None
    right_source: str | None = None
    says: tuple[str, ...] = ()
    runs: bool = False

    def __str__(self) -> str:
        return self.id


def module(text: str) -> str:
    """A module with the usual imports."""
    return HEAD + textwrap.dedent(text).lstrip("\n")


def pipeline(stack: str, function: str = "f", **keys: str) -> str:
    """A pipeline's text: `args=` and other keys as YAML, a layer a line."""
    lines = ["composer: 1", f"function: m:{function}"]
    for key, value in keys.items():
        if key == "args":
            lines += ["args:", *(f"  {line.strip()}" for line in value.strip().splitlines())]
        else:
            lines.append(f"{key}: {value}")
    lines += ["stack:", *(f"  - {line.strip()}" for line in stack.strip().splitlines())]
    return "\n".join(lines) + "\n"
