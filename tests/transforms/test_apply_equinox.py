"""apply with equinox's own transforms, where equinox is installed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import Apply, Vmap, compose
from composer.testing import Case, check_transform

eqx = pytest.importorskip("equinox")
X = np.array([1.0, 2.0, 3.0], np.float32)


def norm(x, power=2):
    return jnp.sum(x**power)


def test_filter_jit_keeps_every_promise():
    filter_jit = Apply(function="equinox:filter_jit")
    check_transform(
        Apply,
        [
            Case(filter_jit, norm, (X,), no_reference="equinox's to say"),
            Case(filter_jit, norm, (X,), {"power": 3}, no_reference="equinox's to say"),
        ],
    )


def test_filter_jit_compiles_once_for_arrays_of_one_shape():
    traced = []

    def counted(x, power):
        traced.append(power)
        return norm(x, power)

    made = compose(counted, Apply(function="equinox:filter_jit"))
    assert [float(made(X * k, 2)) for k in (1, 2)] == [14.0, 56.0]
    assert float(made(X, 3)) == 36.0
    assert traced == [2, 3]


def test_filter_value_and_grad_differentiates_a_module():
    model = eqx.nn.Linear(3, 1, key=jax.random.key(0))

    def loss(model, x):
        return jnp.sum(model(x))

    made = compose(loss, Apply(function="equinox:filter_value_and_grad"))
    value, grads = made(model, X)
    np.testing.assert_allclose(value, np.asarray(model.weight) @ X + np.asarray(model.bias), 1e-5)
    np.testing.assert_allclose(grads.weight, X[None])
    np.testing.assert_allclose(grads.bias, [1.0])


def test_filter_vmap_takes_its_axes_as_keywords():
    layer = Apply(function="equinox:filter_vmap", keywords={"in_axes": (0, None)})
    got = compose(lambda x, y: x * y, layer)(X, np.float32(2))
    np.testing.assert_allclose(got, compose(lambda x, y: x * y, Vmap(in_axes=(0, None)))(X, 2.0))
    np.testing.assert_allclose(got, 2 * X)
