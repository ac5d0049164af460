"""All that decides what is composed around a function, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from composer._freeze import canonical_key
from composer._pipeline import Layer
from composer._retrace import MaxTraces
from composer._signature import UNKNOWN_OUTPUT, Output
from composer.errors import Place

if TYPE_CHECKING:
    import jax


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides what is composed, but the function.

    Attributes:
        layers: Innermost first.
        static: Arguments that hold no arrays, by name.
        mesh: Sizes by axis name, a `jax.sharding.Mesh`, or None.
        output: Names of the function's outputs.
        plugins: Names of plugins to load.
        folder: Where references in parameters are looked up first.
        max_traces: How often JAX may trace the stack; None: as often as it likes.
        static_places: Where each static argument is declared.
    """

    layers: tuple[Layer, ...]
    static: tuple[str, ...] = ()
    mesh: Mapping[str, int] | jax.sharding.Mesh | None = None
    output: Output = UNKNOWN_OUTPUT
    plugins: tuple[str, ...] = ()
    folder: Path | None = None
    max_traces: MaxTraces | None = None
    static_places: Mapping[str, Place | None] = field(default_factory=dict)

    def key(self) -> object:
        """Equal for recipes that compose the same callable.

        Raises:
            Uncacheable: a layer holds an array, or something else without a key.
        """
        mesh = tuple(self.mesh.items()) if isinstance(self.mesh, Mapping) else self.mesh
        # Places too: the notes of a stack must not name another file's lines.
        layers = tuple((layer.transform.stack_key(), layer.place) for layer in self.layers)
        return (
            layers,
            self.static,
            canonical_key(mesh),
            self.output,
            self.plugins,
            self.folder,
            self.max_traces,
        )
