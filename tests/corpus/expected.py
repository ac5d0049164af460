"""The stacks that do not compose to the hand-nested program, by id, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NOTHING_BOUND: Final = "partial binds nothing: CMP037 on purpose, since a layer that does nothing"
NAME_ONLY: Final = "differs in the printed name only: "

EXCEPTIONS: Final[Mapping[int, str]] = {
    1155: "called by keyword: JAX sorts the arguments by name, composer binds them to positions",
    1384: NOTHING_BOUND + " is a mistake",
    1910: NOTHING_BOUND + " is a mistake",
    2126: "static_argnames names an argument that partial has bound: CMP201, it is gone outside",
    2674: NOTHING_BOUND + " is a mistake",
    2680: NOTHING_BOUND + " is a mistake",
    3231: "the mesh of the context: a pipeline declares its mesh, which the program prints",
}
"""Stacks of JAX's own transforms that JAX takes."""

REFUSED_BY_JAX: Final[Mapping[int, str]] = {
    # Two stacks mined as one: eight axes inside, five arguments outside, nothing between.
    2699: "ValueError",
}
"""Stacks that the hand-nested call refuses for any arguments, with the class of the error."""

LIBRARY_EXCEPTIONS: Final[Mapping[int, str]] = {
    755: NAME_ONLY + "flax wraps the gradient, and jit prints the wrapper's name",
    2106: NAME_ONLY + "flax's jit finds no name in a partial, jax's does",
    2220: NAME_ONLY + "equinox's custom_vjp has no name, composer gives it the function's",
}
"""Stacks with transforms of other libraries."""

LIBRARY_REFUSED: Final[Mapping[int, str]] = {
    2221: "TypeError",
}
"""Stacks that an installed library refuses: equinox's filter_jit takes no custom_vjp here."""

NOT_TRIED: Final[Mapping[int, str]] = {
    41: "needs a mesh whose axes flax names by its own metadata",
    730: "needs a module of flax with a filter of its random streams",
    760: "needs a carry of flax's own kind",
    784: "needs a carry of flax's own kind",
    788: "needs a carry of flax's own kind",
}
"""Stacks of installed libraries that no function of arrays fits."""

CLASSES_ONLY: Final[Mapping[str, str]] = {
    "flax.linen": "its transforms take classes of modules, not functions",
    "flax.core.lift": "its transforms take functions of a scope, not of arrays",
}
"""Libraries whose transforms are none of functions of arrays."""
