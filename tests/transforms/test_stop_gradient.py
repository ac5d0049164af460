"""stop_gradient: promises, and derivatives in closed form."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Grad, Jit, StopGradient, Vmap, compose
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

X = np.array([1.0, 2.0, 3.0], np.float32)
Y = np.array([0.5, -1.0, 4.0], np.float32)


def product(x, y=1.0, *, shift=0.0):
    return jnp.sum(x * y + shift), {"x": x}


def test_stop_gradient_keeps_every_promise():
    check_transform(
        StopGradient,
        [
            Case(StopGradient(arguments="x"), product, (X, Y)),
            Case(StopGradient(arguments=("x", 1)), product, (X, Y)),
            Case(StopGradient(arguments="y"), product, (X,)),
            Case(StopGradient(arguments="shift"), product, (X,), {"shift": Y}),
            Case(StopGradient(outputs=(0, "1.x")), product, (X, Y)),
            Case(StopGradient(outputs="loss"), product, (X, Y), returns=["loss", "aux"]),
            Case(StopGradient(arguments="x"), lambda x, n: x**n, (X,), {"n": 2}, static=("n",)),
        ],
    )


def test_the_stopped_factor_counts_as_a_constant():
    def f(x):
        return compose(lambda a, b: jnp.sum(a * b), StopGradient(arguments="b"))(x, x)

    # d/dx of x * const, with const = x: x, and not 2x.
    np.testing.assert_allclose(jax.grad(f)(X), X)


def test_the_gradient_with_respect_to_a_stopped_argument_is_zero():
    grads = compose(
        lambda x, y: jnp.sum(x * y), StopGradient(arguments="x"), Grad(argnums=("x", "y")), Jit()
    )(X, Y)
    np.testing.assert_array_equal(grads[0], np.zeros(3))
    np.testing.assert_allclose(grads[1], X)


def test_a_part_of_an_argument_may_be_stopped():
    def loss(params, x):
        return jnp.sum(params["w"] * x) + jnp.sum(params["layers"][0] * x)

    params = {"w": X, "layers": [Y]}
    made = compose(loss, StopGradient(arguments="params.layers.0"), Grad(), Jit())
    grads = made(params, X)
    np.testing.assert_allclose(grads["w"], X)
    np.testing.assert_array_equal(grads["layers"][0], np.zeros(3))


def test_a_stopped_output_has_no_derivative_and_the_other_has():
    def pair(x):
        return x**2, x**3

    def total(x):
        return sum(compose(pair, StopGradient(outputs=-1))(x))

    assert float(jax.grad(total)(2.0)) == 4.0


def test_a_field_of_a_named_tuple_goes_by_position_or_name():
    from typing import NamedTuple

    class State(NamedTuple):
        a: object
        b: object

    for item in ("b", 1, -1):
        made = compose(lambda x: State(x**2, x**3), StopGradient(outputs=item))
        assert float(jax.grad(lambda x, made=made: sum(made(x)))(2.0)) == 4.0


def test_a_keyword_only_argument_may_be_stopped():
    made = compose(lambda x, *, y: jnp.sum(x * y), StopGradient(arguments="y"))
    np.testing.assert_array_equal(jax.grad(lambda y: made(X, y=y))(Y), np.zeros(3))


def test_static_arguments_are_counted_in_positions():
    made = compose(
        lambda n, x, y: jnp.sum(n * x * y), StopGradient(arguments=2), Grad(argnums=("x", "y")),
        Jit(), static="n",
    )  # fmt: skip
    grads = made(3, X, Y)
    np.testing.assert_allclose(grads[0], 3 * Y)
    np.testing.assert_array_equal(grads[1], np.zeros(3))


def test_stopping_inside_vmap_is_the_same_for_every_row():
    made = compose(lambda x, y: x * y, StopGradient(arguments="y"), Grad(argnums=1), Vmap(), Jit())
    np.testing.assert_array_equal(made(X, Y), np.zeros(3))


def test_nothing_to_stop_is_refused():
    with pytest.raises(ParameterError) as caught:
        StopGradient()
    assert str(caught.value) == (
        "CMP037 stop_gradient: arguments and outputs: at least one of them says what is held"
        " constant\n  write: stop_gradient: {arguments: target}"
    )


def test_an_unknown_argument_is_refused_with_the_nearest():
    with pytest.raises(ComposeError) as caught:
        compose(product, StopGradient(arguments="z"))
    assert str(caught.value) == (
        "CMP201 stop_gradient: arguments names 'z', but product has no such argument\n"
        "  arguments: x, y, shift"
    )


def test_an_unknown_part_is_refused_with_what_stands_there():
    with pytest.raises(ComposeError) as caught:
        compose(lambda p: p["w"], StopGradient(arguments="p.v"))({"w": X})
    assert str(caught.value) == (
        "CMP201 stop_gradient: argument 'p' has no part 'v'; what stands there is a dict\n"
        "  parts: w"
    )


def test_a_position_that_the_call_does_not_reach_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(max, StopGradient(arguments=2))(1.0, 2.0)
    assert str(caught.value) == (
        "CMP202 stop_gradient: arguments names position 2, but the call has 2"
    )
