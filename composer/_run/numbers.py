"""Sources that make numbers -> arrays."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from composer._run.dtypes import Array, Loss, cast, device_dtype, on_device
from composer._sources import (
    Arange,
    Eye,
    Full,
    Geomspace,
    Key,
    Linspace,
    Logspace,
    Ones,
    Random,
    Source,
    Zeros,
)
from composer._sources.shapes import parse_dtype


def make_numbers(source: Source) -> jax.Array | Array:
    """The array that a source of numbers describes.

    Ranges are computed in float64 on the host and then rounded once, so that they do
    not depend on the device; random numbers are drawn by jax.random.

    Raises:
        Loss: the dtype cannot hold a number, or needs 64 bits that are switched off.
    """
    match source:
        case Key():
            return _key(source)
        case Random():
            return draw(source)
        case Zeros():
            return np.zeros(source.zeros.sizes(), device_dtype(source.zeros.dtype))
        case Ones():
            return np.ones(source.ones.sizes(), device_dtype(source.ones.dtype))
        case Full():
            dtype = device_dtype(source.full.dtype)
            return np.broadcast_to(cast(np.asarray(source.value), dtype), source.full.sizes())
        case Eye():
            return np.eye(source.eye, dtype=_dtype(source.dtype, whole=False))
        case Arange():
            whole = all(isinstance(number, int) for number in source.arange)
            return _rounded(np.arange(*source.arange), source.dtype, whole)
        case Linspace():
            return _rounded(np.linspace(*source.linspace), source.dtype)
        case Logspace():
            start, stop, count = source.logspace
            return _rounded(np.logspace(start, stop, count, base=source.base), source.dtype)
        case Geomspace():
            return _rounded(np.geomspace(*source.geomspace), source.dtype)
    raise AssertionError(f"{source.word} makes no numbers")


def _key(source: Key) -> jax.Array:
    key = jax.random.key(source.key, impl=source.impl)
    return key if source.split is None else jax.random.split(key, source.split)


def draw(source: Random) -> jax.Array:
    """Random numbers of the declared dtype and sizes; the same for the same seed."""
    key = jax.random.key(source.seed)
    sizes, dtype = source.size.sizes(), device_dtype(source.size.dtype)
    match source.random:
        case "normal":
            return _scaled(jax.random.normal(key, sizes, dtype), source)
        case "truncated_normal":
            assert source.low is not None
            assert source.high is not None
            cut = jax.random.truncated_normal(key, source.low, source.high, sizes, dtype)
            return _scaled(cut, source)
        case "uniform":
            low, high = _or(source.low, 0), _or(source.high, 1)
            return jax.random.uniform(key, sizes, dtype, low, high)
        case "exponential":
            return jax.random.exponential(key, sizes, dtype) * _or(source.scale, 1)
        case "integers":
            assert source.low is not None
            assert source.high is not None
            _check_bounds(int(source.low), int(source.high), dtype)
            return jax.random.randint(key, sizes, int(source.low), int(source.high), dtype)
        case "bernoulli":
            return jax.random.bernoulli(key, _or(source.p, 0.5), sizes)


def _scaled(array: jax.Array, source: Random) -> jax.Array:
    return array * _or(source.std, 1) + _or(source.mean, 0)


def _or(number: float | None, default: float) -> float:
    return default if number is None else number


def _check_bounds(low: int, high: int, dtype: np.dtype[np.generic]) -> None:
    # jax.random.randint clips bounds that do not fit, without a word.
    limits: np.iinfo[Any] = np.iinfo(dtype)
    if low < limits.min or high > limits.max:
        raise Loss(f"integers from {low} to {high} do not fit into {dtype}")


def _dtype(word: str | None, whole: bool) -> np.dtype[np.generic]:
    if word is not None:
        return device_dtype(parse_dtype(word))
    found: np.dtype[np.generic] = np.dtype(jnp.result_type(int if whole else float))
    return found


def _rounded(array: Array, word: str | None, whole: bool = False) -> Array:
    return on_device(cast(array, _dtype(word, whole)))
