"""Functions for the error cases: each goes wrong under some stack."""

import jax
import jax.numpy as jnp
import numpy as np


def loss(params, x, y):
    return jnp.mean((x @ params - y) ** 2)


def residual(params, x, y):
    return x @ params - y


def loss_aux(params, x):
    return jnp.sum(params * x), {"n": x.shape[0]}


def branch(x):
    if x > 0:
        return x
    return -x


def sized(x, n):
    return x + jnp.zeros(n)


def numpy_inside(x):
    return np.sin(x)


def masked(x):
    return jnp.sum(x[x > 0])


def synced(params, x, y):
    return jax.lax.pmean(loss(params, x, y), "batch")


def tree_loss(params, x):
    return jnp.sum(params["w"] * x) + params["n"]


def batch_loss(params, batch):
    return jnp.sum(params * batch["x"]) + batch["y"]


def power(x, n):
    return x**n


def buggy(x):
    return x.reshape(7)
