"""How a callable that a stack stands for is called, and the program that comes of it.

The same for the hand-nested and the composed one. Imports nothing of composer.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from corpus import handnest
from corpus.slots import LENGTH, Plan

Fn = Callable[..., Any]


@contextlib.contextmanager
def as_mined(made: Plan) -> Iterator[None]:
    """What JAX advises against today but the stack uses goes without a warning, in its mesh."""
    with warnings.catch_warnings():
        for message in ("backend and device argument", "jax.experimental.shard_map"):
            warnings.filterwarnings("ignore", message, DeprecationWarning)
        in_context = made.entry.hint.mesh_from_context
        with jax.set_mesh(handnest.mesh()) if in_context else contextlib.nullcontext():
            yield


def program(fn: Fn, made: Plan) -> str:
    """The text of the jaxpr of the outermost call, addresses in memory left out."""
    args, call = _call(fn, made)
    jaxpr = jax.make_jaxpr(call, static_argnums=made.static_positions)(*args, **made.kwargs)
    return re.sub(r"0x[0-9a-f]+", "0x", str(jaxpr))


def _call(fn: Fn, made: Plan) -> tuple[tuple[Any, ...], Fn]:
    """The arguments of the call, and what to do with a function that comes out."""
    last, args = made.layers[-1], made.args
    if last.kind == "jvp":
        return (*args, *args[: int(str(last["n_primals"]))]), fn
    if last.kind == "vjp":
        out = jax.eval_shape(handnest.below_the_last(made), *args)
        return (*args, _ones(out)), fn
    if last.kind == "linearize":

        def linearized(*both: Any) -> Any:
            value, linear = fn(*both[: len(args)])
            return value, linear(*both[len(args) :])

        return (*args, *args), linearized
    if last.kind == "linear_transpose":
        out = jax.eval_shape(handnest.below_the_last(made), *args)
        return (_ones(out),), lambda cotangent: fn(*args)(cotangent)
    return _looped(last.transform, last.get("length"), args), fn


def _looped(transform: str, length: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a loop, from those of its body."""
    if transform == "lax.scan":
        rows = jax.tree.map(lambda x: np.stack([x] * LENGTH), args[1])
        return args[0], None if length is not None else rows
    if transform == "lax.map":
        return (jax.tree.map(lambda x: np.stack([x] * LENGTH), args[0]),)
    if transform == "lax.fori_loop":
        return args[1:2]
    return args[:1] if transform == "lax.associative_scan" else args


def _ones(shapes: Any) -> Any:
    return jax.tree.map(lambda leaf: np.ones(leaf.shape, leaf.dtype), shapes)
