"""The functions of the tutorials: each pipeline in this folder names one of them."""

import jax
import jax.numpy as jnp


def fast_fn(x):
    """One addition."""
    return x + 1000


def slow_fn(x):
    """The same by a thousand additions, which jit traces one by one."""
    for _ in range(1000):  # composer: ignore[CMP413] what it costs is the lesson
        x = x + 1
    return x


def double_and_add(x, steps):
    """x * 2 + 1, again and again: 2^steps x + 2^steps - 1."""
    for _ in range(steps):
        x = x * 2 + 1
    return x


def dot(x, w):
    """One row x f[10] times w f[10, 5]."""
    return jnp.dot(x, w)


def multiply_add(x, y):
    """Of two numbers."""
    return x * y + 1


def distance(a, b):
    """Of two points f[2]."""
    return jnp.sqrt(jnp.sum((a - b) ** 2))


def square(x):
    """x**2, of any shape."""
    return x**2


def loss(params, x, y):
    """Mean squared error of a linear model: params f[2], x f[rows, 2], y f[rows]."""
    return jnp.mean((x @ params - y) ** 2)


def example_loss(params, x, y):
    """The same of one example: x f[2], y f[]."""
    return (x @ params - y) ** 2


def polynomial(x):
    """x^3 + 2x^2 - 3x + 1."""
    return x**3 + 2 * x**2 - 3 * x + 1


def train_step(params, x, y):
    """One step of gradient descent, its gradient taken inside."""
    return params - 0.01 * jax.grad(loss)(params, x, y)


def descend(slope, params, x, y):
    """The same step, for any gradient `slope(params, x, y)`."""
    return params - 0.01 * slope(params, x, y)


def normalise_locally(x):
    """Batch normalisation with the statistics of this device's rows only."""
    mean = jnp.mean(x, axis=0)  # composer: ignore[CMP323] meant
    var = jnp.mean(x**2, axis=0) - mean**2  # composer: ignore[CMP323] meant
    return {"mean": mean, "var": var, "x": (x - mean) / jnp.sqrt(var + 1e-5)}


def normalise(x):
    """Batch normalisation with the statistics of all rows.

    The mean and the mean of squares are averaged, never the variances: the mean of the
    devices' variances is not the variance of all rows.
    """
    mean = jax.lax.pmean(jnp.mean(x, axis=0), "devices")
    square = jax.lax.pmean(jnp.mean(x**2, axis=0), "devices")
    var = square - mean**2
    return {"mean": mean, "var": var, "x": (x - mean) / jnp.sqrt(var + 1e-5)}


def two_losses(params, x, y):
    """Squared and absolute error, f[2]."""
    error = x @ params - y
    return jnp.stack([jnp.mean(error**2), jnp.mean(jnp.abs(error))])


def pendulum(state, key, params):
    """One step of a noisy pendulum: state f[2] is angle and speed; params gravity and step."""
    angle, speed = state
    push = 0.1 * jax.random.normal(key)
    speed = speed - params["dt"] * params["g"] * jnp.sin(angle) + push
    return jnp.stack([angle + params["dt"] * speed, speed])
