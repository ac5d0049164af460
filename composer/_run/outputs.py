"""What came out of a call: a row of facts for each array, under a name."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from composer._run.dtypes import Array, shape_of
from composer._signature import UNKNOWN_OUTPUT, Output


@dataclass(frozen=True, slots=True)
class Row:
    """Facts about one array of the outputs.

    Attributes:
        name: Its path in the tree of outputs, with the names that are known: `grads.w`.
        shape: dtype and sizes, such as `f32[8, 3]`.
        mean: The mean, the share of true for bool; None for keys and empty arrays.
        norm: The Euclidean norm; None as for `mean`.
        nans, infs: How many entries are not finite.
    """

    name: str
    shape: str
    mean: float | complex | None
    norm: float | None
    nans: int = 0
    infs: int = 0

    def to_data(self) -> dict[str, object]:
        """For JSON, which has no numbers that are not finite and no complex ones."""
        mean = str(self.mean) if isinstance(self.mean, complex) else _finite(self.mean)
        return {
            "name": self.name,
            "shape": self.shape,
            "mean": mean,
            "norm": _finite(self.norm),
            "nan": self.nans,
            "inf": self.infs,
        }


def named_leaves(outputs: object, names: Output = UNKNOWN_OUTPUT) -> list[tuple[str, object]]:
    """Every leaf with its name; a lone array without a name is called `output`."""
    found = jax.tree_util.tree_flatten_with_path(outputs)[0]
    return [(_name(path, names), leaf) for path, leaf in found]


def _name(path: tuple[object, ...], output: Output) -> str:
    parts = [] if output.name is None else [output.name]
    for entry in path:
        key = jax.tree_util.keystr((entry,), simple=True)
        output = output.child(getattr(entry, "idx", key))
        # Below a name that stands for itself, a position adds nothing: `loss`, not `0.loss`.
        parts.append(key if output.name is None else output.name)
    return ".".join(parts) or "output"


def rows(outputs: object, names: Output = UNKNOWN_OUTPUT) -> tuple[Row, ...]:
    """A row for each leaf, computed in float64 on the host."""
    return tuple(row(name, leaf) for name, leaf in named_leaves(outputs, names))


def row(name: str, leaf: object) -> Row:
    """The row of one array or number."""
    array = leaf if isinstance(leaf, jax.Array) else np.asarray(leaf)
    shape = shape_of(array)
    if shape.dtype == "key" or array.size == 0:
        return Row(name, str(shape), None, None)
    host = _wide(np.asarray(array))
    nans, infs = int(np.isnan(host).sum()), int(np.isinf(host).sum())
    with np.errstate(all="ignore"):
        mean = host.mean()
    value = complex(mean) if np.iscomplexobj(host) else float(mean.real)
    return Row(name, str(shape), value, _norm(host), nans, infs)


def _wide(array: Array) -> Array:
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        return array.astype(np.complex128)
    return array.astype(np.float64)


def _norm(array: Array) -> float:
    # Scaled, since the square of a large float64 is infinite.
    sizes: NDArray[np.float64] = np.abs(array)
    largest = float(sizes.max())
    if largest == 0 or not np.isfinite(largest):
        return largest
    return float(largest * np.sqrt(np.sum((sizes / largest) ** 2)))


def _finite(number: float | None) -> float | None:
    return number if number is not None and np.isfinite(number) else None
