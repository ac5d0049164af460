"""Typed PRNG keys, which are arrays but no numbers. Imports JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def is_key(leaf: Any) -> bool:
    """Whether a leaf is an array of typed PRNG keys (`jax.random.key`)."""
    return hasattr(leaf, "dtype") and bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))
