"""Numbers that JAX's own documentation prints, from stacks written as text."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify

from composer import Checkify, Jit, Vmap, compose, loads


def stack(text, function):
    return loads(f"composer: 1\nfunction: f\nstack: {text}\n", functions={"f": function}).build()


def polynomial(x):
    return x**3 + 2 * x**2 - 3 * x + 1


def test_the_gradient_of_tanh_at_one():
    assert float(stack("[grad]", jnp.tanh)(1.0)) == pytest.approx(0.4199743, abs=1e-6)


def test_the_third_derivative_of_tanh_at_one():
    got = float(stack("[grad, grad, grad]", jnp.tanh)(1.0))
    assert got == pytest.approx(0.62162673, abs=1e-6)


def test_the_second_derivative_of_tanh_at_two():
    got = float(stack("[grad, grad, jit]", jnp.tanh)(2.0))
    assert got == pytest.approx(-0.13621889, abs=1e-6)


@pytest.mark.parametrize(("order", "value"), [(1, 4.0), (2, 10.0), (3, 6.0), (4, 0.0)])
def test_the_derivatives_of_a_polynomial_at_one(order, value):
    layers = ", ".join(["grad"] * order)
    assert float(stack(f"[{layers}, jit]", polynomial)(1.0)) == value


def test_the_hessian_of_a_dot_product_is_twice_the_identity():
    x = np.array([1.0, 2.0, 3.0], np.float32)
    np.testing.assert_array_equal(
        stack("[hessian, jit]", lambda x: jnp.dot(x, x))(x), 2 * np.eye(3)
    )


def positive(x):
    checkify.check(x > 0, "must be positive: {x}", x=x)
    return jnp.log(x)


def test_checkify_inside_vmap_gives_an_error_a_row_and_outside_one_for_all():
    x = np.array([1.0, -1.0, 2.0, -2.0], np.float32)
    errors, logs = compose(positive, Checkify(), Vmap(), Jit())(x)
    whole, same = compose(positive, Vmap(), Checkify(), Jit())(x)
    np.testing.assert_allclose(logs, same)
    assert errors.get().count("at mapped index") == 2
    assert "at mapped index" not in whole.get()
    assert whole.get().count("must be positive: -") == 1


def test_a_vector_jacobian_product_pulls_back_each_of_two_losses():
    def losses(p):
        return jnp.stack([jnp.sum(p**2), jnp.sum(p)])

    p = np.array([1.0, -2.0], np.float32)
    pull = stack("[{vjp: ct}, jit]", losses)
    for row, wanted in enumerate([2 * p, np.ones(2)]):
        [got] = pull(p, np.eye(2, dtype=np.float32)[row])
        np.testing.assert_allclose(got, wanted)


def test_linearize_through_apply_gives_the_value_and_the_tangent_map():
    got, tangent = compose(jnp.sin, apply_linearize())(1.0)
    assert float(got) == pytest.approx(np.sin(1.0), abs=1e-6)
    assert float(tangent(2.0)) == pytest.approx(2 * np.cos(1.0), abs=1e-6)


def apply_linearize():
    from composer import Apply

    return Apply(function=jax.linearize, how="call")
