"""What a call costs: composed, written by hand, by equinox and by flax nnx."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from measure import Row, interleaved, median, ratio

import composer

ROUNDS, CALLS = 1000, 20
HAND = "by hand: jit(vmap(grad(loss)))"
COMPOSED = "composed"


def loss(w: jax.Array, x: jax.Array) -> jax.Array:
    """A small loss, so that the call is most of the time."""
    return jnp.tanh(x @ w) ** 2


def rows(skipped: dict[str, str], rounds: int = ROUNDS) -> Iterator[Row]:
    """By position and by keyword; packages that are not installed go to `skipped`."""
    w, x = jnp.linspace(-1.0, 1.0, 8), jnp.linspace(0.0, 1.0, 256).reshape(32, 8)
    expected = np.asarray(by_hand()(w, x))
    for group, args, kwargs in (
        ("calls by position", (w, x), {}),
        ("calls by keyword", (), {"w": w, "x": x}),
    ):
        made = {HAND: by_hand(), COMPOSED: composed(), **others(skipped)}
        cases = {}
        for name, fn in made.items():
            np.testing.assert_allclose(np.asarray(fn(*args, **kwargs)), expected, rtol=1e-5)
            cases[name] = prepared(fn, args, kwargs)
        times = interleaved(cases, rounds, CALLS)
        yield Row(group, HAND, median(times, HAND))
        share = ratio(times, COMPOSED, HAND)
        met = abs(share - 1) <= 0.02
        yield Row(group, COMPOSED, median(times, COMPOSED), share, HAND, "1.00 ± 0.02", met)
        for name in list(made)[2:]:
            yield Row(group, name, median(times, name), ratio(times, name, HAND), HAND)


def prepared(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Callable[[], Callable[[], object]]:
    """One call of a compiled function, waited for."""

    def call() -> object:
        return fn(*args, **kwargs).block_until_ready()

    return lambda: call


def by_hand() -> Callable[..., Any]:
    """What a JAX user writes. vmap maps every keyword argument, so keywords end before it."""

    @jax.jit
    def step(w: jax.Array, x: jax.Array) -> jax.Array:
        grads: jax.Array = jax.vmap(jax.grad(loss), in_axes=(None, 0))(w, x)
        return grads

    return step


def composed() -> Callable[..., Any]:
    """The same stack by composer."""
    layers = (composer.Grad(), composer.Vmap(in_axes={"x": 0}), composer.Jit())
    return composer.compose(loss, *layers)


def others(skipped: dict[str, str]) -> dict[str, Callable[..., Any]]:
    """The same stack by packages of the `bench` extra."""
    found = {}
    for name, make in (("equinox", by_equinox), ("flax nnx", by_nnx)):
        try:
            found[name] = make()
        except ImportError as error:
            skipped[name] = f"{error}: pip install jax-composer[bench]"
    return found


def by_equinox() -> Callable[..., Any]:
    """`filter_jit(filter_vmap(filter_grad))`; keywords end before it, as by hand."""
    eqx = importlib.import_module("equinox")
    mapped = eqx.filter_vmap(eqx.filter_grad(loss), in_axes=(None, 0))
    step: Callable[..., Any] = eqx.filter_jit(lambda w, x: mapped(w, x))
    return step


def by_nnx() -> Callable[..., Any]:
    """`nnx.jit(nnx.vmap(nnx.grad))`; keywords end before it, as by hand."""
    nnx = importlib.import_module("flax.nnx")
    mapped = nnx.vmap(nnx.grad(loss), in_axes=(None, 0))
    step: Callable[..., Any] = nnx.jit(lambda w, x: mapped(w, x))
    return step
