"""Dtypes as they will stand on the devices, and values brought to them without loss."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from composer._dtypes import LONG_NAMES, SHORT_NAMES
from composer._sources import Shape

Array = NDArray[np.generic]


class Loss(ValueError):
    """A value that its dtype cannot hold.

    Attributes:
        cure: What to do instead, or None.
    """

    def __init__(self, message: str, cure: str | None = None) -> None:
        super().__init__(message)
        self.cure = cure


def device_dtype(short: str) -> np.dtype[np.generic]:
    """NumPy's dtype for a short name such as `bf16`.

    Raises:
        Loss: 64 bits are declared, but JAX would make 32 of them.
    """
    dtype: np.dtype[np.generic] = jnp.dtype(LONG_NAMES[short])
    if _canonical(dtype) != dtype:
        raise Loss(
            f"{short} needs 64-bit numbers, which are switched off",
            "run: {enable_x64: true}     # or --x64",
        )
    return dtype


def on_device(array: Array) -> Array:
    """A host array with the dtype that JAX gives it: 32 bits unless x64 is on.

    Raises:
        Loss: a number does not fit into 32 bits, or the dtype is none of JAX's.
    """
    if array.dtype.name not in SHORT_NAMES:
        raise Loss(f"dtype {array.dtype} is none of JAX's")
    return cast(array, _canonical(array.dtype))


def cast(array: Array, dtype: np.dtype[np.generic]) -> Array:
    """The array in another dtype; floating numbers may lose digits, but nothing else.

    Raises:
        Loss: a number would change otherwise: overflow, a fraction in an integer, an
            imaginary part in a real number.
    """
    if array.dtype == dtype:
        return array
    with np.errstate(all="ignore"):
        found = array.real.astype(dtype) if _drops_imaginary(array, dtype) else array.astype(dtype)
    exact = jnp.issubdtype(dtype, np.integer) or dtype == np.bool_
    if exact or jnp.issubdtype(array.dtype, np.integer):
        wrong = found.astype(array.dtype) != array if exact else ~np.isfinite(_float(found))
    else:
        wrong = np.isfinite(_float(array)) & ~np.isfinite(_float(found))
        if _drops_imaginary(array, dtype):
            wrong |= array.imag != 0
    if wrong.any():
        first = array[wrong].flat[0]
        name, held = SHORT_NAMES[dtype.name], SHORT_NAMES.get(array.dtype.name, "")
        halved = name.endswith("32") and held == name.replace("32", "64")
        cure = "run: {enable_x64: true}     # or --x64" if halved else None
        raise Loss(f"{first} does not fit into {name}", cure)
    return found


def shape_of(value: jax.Array | Array) -> Shape:
    """The shape of an array on the host or a device: dtype and sizes."""
    dims = tuple(int(size) for size in value.shape)
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return Shape("key", dims)
    return Shape(SHORT_NAMES.get(value.dtype.name, str(value.dtype)), dims)


def _canonical(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    found: np.dtype[np.generic] = np.dtype(jax.dtypes.canonicalize_dtype(dtype))
    return found


def _drops_imaginary(array: Array, dtype: np.dtype[np.generic]) -> bool:
    return jnp.issubdtype(array.dtype, np.complexfloating) and not jnp.issubdtype(
        dtype, np.complexfloating
    )


def _float(array: Array) -> Array:
    """For isfinite, which does not know the small floating dtypes."""
    if jnp.issubdtype(array.dtype, np.complexfloating):
        return array
    return array.astype(np.float64)
