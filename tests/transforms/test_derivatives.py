"""grad, value_and_grad, jacfwd, jacrev and hessian: promises, and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Grad, Hessian, Jacfwd, Jacrev, Jit, ValueAndGrad, compose
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

W = np.array([0.5, -0.2], np.float32)
X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
Y = np.array([1.0, 2.0], np.float32)


def loss(params, x, y):
    return jnp.mean((x @ params - y) ** 2)


def loss_aux(params, x, y):
    errors = x @ params - y
    return jnp.mean(errors**2), {"worst": jnp.max(jnp.abs(errors))}


def tree_loss(params, x, scale=2.0):
    return scale * jnp.sum((x @ params["w"] + params["b"]) ** 2)


def power(x, n):
    return jnp.sum(x**n)


def field(x, t):
    return {"a": jnp.sin(x) * t, "b": jnp.sum(x) * t**2}


TREE = {"w": W, "b": np.float32(0.3)}
# Differences of float64 values agree to 1e-9; the float32 gradient has 1e-6 of its own.
SCALAR_CASES = [
    ({}, loss, (W, X, Y), {}),
    ({"argnums": "x"}, loss, (W, X, Y), {}),
    ({"argnums": ("params", "y")}, loss, (W, X, Y), {}),
    ({"argnums": -1}, loss, (W, X, Y), {}),
    ({"argnums": (0,)}, tree_loss, (TREE, X), {}),
    ({"has_aux": True}, loss_aux, (W, X, Y), {}),
]


def cases(cls, table):
    return [
        Case(cls(**options), fn, args, kwargs, rtol=1e-4, atol=1e-4)
        for options, fn, args, kwargs in table
    ]


@pytest.mark.parametrize("cls", [Grad, ValueAndGrad, Jacrev, Jacfwd, Hessian])
def test_each_derivative_keeps_every_promise_on_scalar_functions(cls):
    check_transform(cls, cases(cls, SCALAR_CASES))


@pytest.mark.parametrize("cls", [Jacrev, Jacfwd, Hessian])
def test_jacobians_keep_every_promise_on_functions_with_many_outputs(cls):
    table = [
        ({}, field, (W, np.float32(0.7)), {}),
        ({"argnums": ("x", "t")}, field, (W, np.float32(0.7)), {}),
    ]
    check_transform(cls, cases(cls, table))


@pytest.mark.parametrize("cls", [Grad, ValueAndGrad, Jacrev, Jacfwd, Hessian])
def test_a_static_argument_is_closed_over_by_a_derivative(cls):
    case = Case(cls(), power, (W,), {"n": 3}, static=("n",), rtol=1e-4, atol=1e-4)
    check_transform(cls, [case])


def test_the_gradient_of_the_mean_squared_error_is_its_closed_form():
    got = compose(loss, Grad(argnums="params"), Jit())(W, X, Y)
    np.testing.assert_allclose(got, [-4.8, -7.0], rtol=1e-6)


def test_the_hessian_of_the_mean_squared_error_is_its_closed_form():
    np.testing.assert_allclose(
        compose(loss, Hessian(), Jit())(W, X, Y), [[10, 14], [14, 20]], rtol=1e-6
    )


def test_grad_of_grad_is_the_second_derivative():
    second = compose(lambda x: x**3 + 2 * x**2 - 3 * x + 1, Grad(), Grad(), Jit())
    assert float(second(1.0)) == 10.0


def test_both_jacobians_equal_the_closed_form_and_each_other():
    x = np.array([0.1, 0.5, 2.0], np.float32)
    wanted = np.diag(np.cos(x.astype(np.float64)))
    for cls in (Jacfwd, Jacrev):
        np.testing.assert_allclose(compose(jnp.sin, cls(), Jit())(x), wanted, atol=1e-6)


def test_value_and_grad_with_aux_nests_value_and_aux_first():
    (value, aux), grads = compose(loss_aux, ValueAndGrad(has_aux=True), Jit())(W, X, Y)
    errors = X.astype(np.float64) @ W - Y
    np.testing.assert_allclose(value, np.mean(errors**2), rtol=1e-6)
    np.testing.assert_allclose(aux["worst"], np.abs(errors).max(), rtol=1e-6)
    np.testing.assert_allclose(grads, [-4.8, -7.0], rtol=1e-6)


def test_a_derivative_reaches_an_argument_behind_an_omitted_default():
    def f(x, a=2.0, b=3.0):
        return x * a * b**2

    assert float(compose(f, Grad(argnums="b"))(1.0, b=5.0)) == 2 * 2 * 5


def test_an_unknown_argument_is_named_with_the_nearest_one():
    with pytest.raises(ComposeError) as caught:
        compose(loss, Grad(argnums="parms"))
    assert str(caught.value) == (
        "CMP201 grad: argnums names 'parms', but loss has no such argument\n"
        "  arguments: params, x, y\n"
        "  write: argnums: params"
    )


def test_a_position_out_of_range_is_named_with_what_there_is():
    with pytest.raises(ComposeError) as caught:
        compose(loss, Grad(argnums=3))
    assert str(caught.value) == (
        "CMP202 grad: argnums is 3, but loss has 3 arguments by position\n"
        "  arguments: 0 params, 1 x, 2 y\n"
        "  write: argnums: y"
    )


def test_a_static_argument_cannot_be_differentiated():
    with pytest.raises(ComposeError, match="CMP205 grad: argnums names 'n', which is static"):
        compose(power, Grad(argnums="n"), static="n")


@pytest.mark.parametrize("value", [True, 1.0, None, {"x": 0}])
def test_argnums_of_a_wrong_type_is_refused(value):
    with pytest.raises(ParameterError, match="CMP037 grad: argnums does not fit"):
        Grad(argnums=value)


def test_a_complex_function_is_differentiated_when_it_is_promised_holomorphic():
    z = jnp.asarray(0.5 + 0.25j)
    got = compose(lambda z: z**3, Grad(holomorphic=True), Jit())(z)
    np.testing.assert_allclose(got, 3 * (0.5 + 0.25j) ** 2, rtol=1e-6)


def test_integers_are_differentiated_to_float0_where_that_is_asked_for():
    got = compose(lambda n: n * 2.5, Grad(allow_int=True))(np.int32(3))
    assert got.dtype == jax.dtypes.float0


@pytest.mark.parametrize(
    ("output", "found", "cure"),
    [
        (lambda x: None, "None", "a floating number"),
        (
            lambda x: jnp.sum(x > 0),
            "int32, which has no derivative",
            "a floating number, not a count or a comparison",
        ),
        (lambda x: "done", "the text 'done'", "a floating number"),
    ],
    ids=["none", "count", "text"],
)
@pytest.mark.parametrize("outside", [(), (Jit(),)], ids=["outermost", "below_jit"])
def test_an_output_that_is_no_floating_number_is_refused(output, found, cure, outside):
    with pytest.raises(ComposeError) as caught:
        compose(output, Grad(), *outside)(X[0])
    assert str(caught.value) == (
        f"CMP211 grad needs one scalar, but the layer below returns {found}\n"
        f"  write: return value     # {cure}"
    )


@pytest.mark.parametrize(
    ("argnums", "text"),
    [((), "names no argument"), ((0, 0), "names 0 twice"), (("x", "x"), "names 'x' twice")],
    ids=["none", "position", "name"],
)
def test_argnums_hold_each_argument_once(argnums, text):
    with pytest.raises(ParameterError) as caught:
        Grad(argnums=argnums)
    assert str(caught.value) == f"CMP037 grad: argnums {text}"


def test_an_argument_that_is_differentiated_by_name_and_by_position_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda x, y: x * y, Grad(argnums=("y", 1)))
    assert str(caught.value) == (
        "CMP204 grad: y is named twice in argnums\n  write: each argument once"
    )
