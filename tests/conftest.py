"""The world that every test lives in: four simulated CPU devices, strict dtype promotion."""

from __future__ import annotations

import os

# Before JAX is imported, and in the environment, so that child processes use the CPU too.
os.environ["JAX_PLATFORMS"] = "cpu"

import hypothesis
import jax

# Before any call of JAX: the number of devices is fixed by the first one.
jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_numpy_dtype_promotion", "strict")

# The first example of a property compiles, so a deadline would measure XLA.
hypothesis.settings.register_profile("composer", deadline=None, derandomize=True)
hypothesis.settings.load_profile("composer")
