"""Functions and arguments of the tests of `composer code`. Without composer, as a user's module."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jax.experimental import checkify

P = np.array([0.5, -0.2], np.float32)
V = np.array([1.0, 2.0], np.float32)
X = np.random.default_rng(0).normal(size=(8, 2)).astype(np.float32)
Y = np.random.default_rng(1).normal(size=8).astype(np.float32)
ONES = np.ones(8, np.float32)
SQUARE = np.arange(16, dtype=np.float32).reshape(4, 4)
TREE = {"w": P, "b": np.float32(0.1)}
PAIR = [X, Y]
MANY = np.arange(8, dtype=np.float32)
COUNTS = np.arange(8, dtype=np.int32)
KEY = jax.random.key(0)


class Stats(NamedTuple):
    mean: jax.Array
    n: jax.Array


def predict(params, x):
    return x @ params


def loss(params, x, y):
    return jnp.mean((x @ params - y) ** 2)


def example_loss(params, x, y):
    return (x @ params - y) ** 2


def tree_loss(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)


def pair_loss(pair, params):
    x, y = pair
    return (x @ params - y) ** 2


def with_aux(params, x, y):
    return loss(params, x, y), {"n": x.shape[0] * jnp.ones((), jnp.int32), "x": x}


def grads(params, x, y):
    return {"loss": loss(params, x, y), "grads": jax.grad(loss)(params, x, y)}


def weighted(params, x, y, w):
    return jnp.sum(w * (x @ params - y) ** 2) / jnp.sum(w)


def weighted_rows(params, x, y, w):
    return {"loss": weighted(params, x, y, w), "rows": (x @ params - y) ** 2}


def stats(x):
    return Stats(jnp.mean(x), jnp.ones((), jnp.int32)), x


def counted(x):
    return {"n": jnp.sum(x > 0), "any": jnp.any(x > 3), "mean": jnp.mean(x)}


def power(x, n):
    return x**n


def scaled(x, *, by, offset):
    return x * by + offset


def activated(x, activation, n):
    return activation(x) * n


def defaulted(x, n=2, y=3.0):
    return x**n + y


def doubled(x):
    return 2 * x


def sum_of_squares(x):
    return jnp.sum(x * x)


def add(x, y):
    return x + y


def total(*args):
    return sum(args)


def noise(key, x):
    return x + jax.random.normal(key, x.shape)


def rnn(h, x, w):
    h = jnp.tanh(w * h + x)
    return h, h * h


def oscillator(x, v, dt):
    return x + dt * v, v - dt * x


def two_carries(h, c, x):
    return (h + x, c * x), h


def step(x, w):
    return jnp.cos(x * w)


def log_checked(x):
    checkify.check(jnp.all(x > 0), "not positive")
    return jnp.log(x)


def named_point(x):
    y = checkpoint_name(jnp.sin(x), "sin")
    return jnp.sum(jnp.cos(y) * y)


def halved(out):
    return jax.tree.map(lambda leaf: leaf / 2, out)


def product(a, b):
    return a * b


def rows_and_total(x):
    return 2 * x, jax.lax.psum(jnp.sum(x), "d")


def rows_of(x):
    return x * 2.0, x[0]


class Model:
    @staticmethod
    def apply(params, x):
        return jnp.tanh(x @ params)


def affine(scale, shift=0.0):
    def apply(x):
        return x * scale + shift

    return apply


def laplace(u, x):
    return u(x) + 1.0


def carried(params, x, y):
    return params * jnp.mean(x) + jnp.mean(y)


def stepped(params, x, y):
    return carried(params, x, y), jnp.sum(x) * y
