"""Softmax regression on the handwritten digits of scikit-learn: 1,797 images of 8 x 8 pixels."""

import jax
import jax.numpy as jnp


def load(part):
    """The pixels `x` in [0, 1], f[1796, 64], or the labels `y`, i[1796].

    One image is left out: 1,797 rows do not divide over 4 devices, and this job shows
    that 4 devices give what 1 gives. See `remainder:` for batches that do not divide.
    """
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return (x / 16.0)[:1796] if part == "x" else y[:1796]


def init_params(seed):
    """Small random weights f[64, 10] and a bias f[10]."""
    return {"w": 0.1 * jax.random.normal(jax.random.key(seed), (64, 10)), "b": jnp.zeros(10)}


def loss(params, x, y):
    """The mean cross-entropy of a batch: a scalar."""
    log_p = jax.nn.log_softmax(x @ params["w"] + params["b"])
    return -jnp.mean(jnp.take_along_axis(log_p, y[:, None], axis=1))
