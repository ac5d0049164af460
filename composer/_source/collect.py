"""A walk through a function and those that it calls in its module, noting every fact.

Functions are entered where they are used: a function that `jax.grad` differentiates is
walked as one that stands inside a derivative, a local one that is never used is not walked.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from composer._source.names import FunctionNode, Module
from composer._source.walk import Walk

KINDS: Final = (
    "collectives", "derivatives", "branches", "loops", "prints", "globals", "host_random",
    "numpy_calls", "outer_writes", "argument_writes", "reused_keys", "draws", "global_keys",
    "checks", "custom_rules", "loops_of_jax", "compiled", "constraints", "statistics", "sizes",
    "frozen_reads",
)  # fmt: skip
DEPTH: Final = 12
"""How deep calls within one module are followed."""


class Collector:
    """Facts of a function and of those that it calls, each kind in the order of the walk."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.found: dict[str, list[Any]] = {name: [] for name in KINDS}
        self._seen: set[tuple[object, ...]] = set()
        self._depth = 0

    def sorted(self) -> dict[str, tuple[Any, ...]]:
        """All facts by kind, each once."""
        return {name: tuple(dict.fromkeys(items)) for name, items in self.found.items()}

    def enter(
        self,
        node: FunctionNode | ast.Lambda,
        name: str,
        values: frozenset[str],
        derivatives: int = 0,
        outer: Walk | None = None,
        gradients: frozenset[str] = frozenset(),
    ) -> None:
        """Collect from one function.

        Args:
            node: Its definition.
            name: What it is called.
            values: Names, its own parameters' and those of functions around it, that hold
                values of the outermost function's arguments.
            derivatives: How many derivatives the source takes around it.
            outer: The walk of the function that it is defined in, if any.
            gradients: Its parameters that hold what a derivative gave.
        """
        key = (node, values, derivatives, gradients)
        if key in self._seen or self._depth > DEPTH:
            return
        self._seen.add(key)
        self._depth += 1
        Walk(self, node, name, values, derivatives, outer, gradients).run()
        self._depth -= 1
