"""vjp: promises, closed forms, and the program that is written by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Grad, Jit, Vjp, Vmap, compose
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

A = np.arange(6, dtype=np.float32).reshape(2, 3)
X = np.array([1.0, 2.0, 3.0], np.float32)
CT = np.array([1.0, -2.0], np.float32)


def affine(a, x):
    return a @ x


def with_aux(a, x):
    return a @ x, {"total": jnp.sum(x)}


def scaled(x, scale=2.0, *, shift=0.0):
    return scale * x**2 + shift


def power(x, n):
    return x**n


def test_vjp_keeps_every_promise():
    outputs = {"y": CT, "z": X}
    check_transform(
        Vjp,
        [
            Case(Vjp("ct"), affine, (A, X, CT)),
            Case(Vjp("ct", argnums="x"), affine, (A, X, CT)),
            Case(Vjp("ct", argnums=("x", 0)), affine, (A, X, CT)),
            Case(Vjp("ct", argnums=1, has_aux=True), with_aux, (A, X, CT)),
            Case(Vjp("ct", argnums=1, value=True), affine, (A, X, CT)),
            Case(Vjp("ct", argnums="x", has_aux=True, value=True), with_aux, (A, X, CT)),
            Case(Vjp("ct"), lambda a, x: {"y": a @ x, "z": x**2}, (A, X, outputs)),
            Case(Vjp("ct"), scaled, (X,), {"ct": X}),
            Case(Vjp("ct", argnums="shift"), scaled, (X, 3.0), {"ct": X, "shift": X}),
            Case(Vjp("ct"), power, (X,), {"ct": X, "n": 3}, static=("n",)),
            Case(Vjp("ct"), jnp.tanh, (X, X)),
        ],
    )


def test_the_cotangent_is_pulled_back_through_the_matrix():
    grads = compose(affine, Vjp("ct", argnums=("a", "x")), Jit())(A, X, CT)
    np.testing.assert_allclose(grads[0], np.outer(CT, X))
    np.testing.assert_allclose(grads[1], A.T @ CT)


def test_the_documented_example_of_jax_gives_its_numbers():
    def f(x, y):
        return jnp.sin(x), jnp.cos(y)

    xbar, ybar = compose(f, Vjp("ct"))(0.5, 1.0, (-0.7, 0.3))
    np.testing.assert_allclose([xbar, ybar], [-0.61430776, -0.2524413], rtol=1e-6)


def test_the_program_is_the_one_written_by_hand():
    made = compose(affine, Vjp("ct", argnums="x"))

    def by_hand(a, x, ct):
        return jax.vjp(lambda x: affine(a, x), x)[1](ct)[0]

    assert str(jax.make_jaxpr(made)(A, X, CT)) == str(jax.make_jaxpr(by_hand)(A, X, CT))
    every = compose(affine, Vjp("ct"))

    def by_hand_every(a, x, ct):
        return jax.vjp(affine, a, x)[1](ct)

    assert str(jax.make_jaxpr(every)(A, X, CT)) == str(jax.make_jaxpr(by_hand_every)(A, X, CT))


def test_by_default_a_tuple_comes_out_even_for_one_argument():
    grads = compose(jnp.sin, Vjp("ct"))(0.5, 1.0)
    assert isinstance(grads, tuple)
    np.testing.assert_allclose(grads, [np.cos(0.5)], rtol=1e-6)


def test_with_cotangent_one_it_is_the_gradient():
    def loss(x):
        return jnp.sum(x**2)

    np.testing.assert_array_equal(
        compose(loss, Vjp("ct", argnums=0))(X, np.float32(1)), compose(loss, Grad())(X)
    )


def test_the_cotangent_can_be_passed_by_keyword():
    np.testing.assert_allclose(compose(affine, Vjp("ct"))(x=X, a=A, ct=CT)[1], A.T @ CT)


def test_a_function_of_any_number_of_arguments_takes_the_cotangent_by_keyword():
    made = compose(lambda *xs: xs[0] * xs[1], Vjp("ct"), Jit())
    np.testing.assert_allclose(made(X, 2 * X, ct=X)[0], 2 * X * X)
    second = compose(lambda *xs: xs[0] * xs[1], Vjp("ct", argnums=1))
    np.testing.assert_allclose(second(X, 2 * X, ct=X), X * X)


def test_integers_have_a_gradient_of_float0():
    xbar, nbar = compose(lambda x, n: x * n.astype(jnp.float32), Vjp("ct"))(X, np.int32(2), X)
    np.testing.assert_allclose(xbar, 2 * X)
    assert nbar.dtype == jax.dtypes.float0


def test_a_vmap_over_the_cotangents_gives_the_jacobian():
    made = compose(affine, Vjp("ct", argnums="x"), Vmap(in_axes={"ct": 0}), Jit())
    np.testing.assert_allclose(made(A, X, np.eye(2, dtype=np.float32)), A)


def test_outputs_have_the_names_of_grad_and_value_and_grad():
    sig = Case(Vjp("ct"), affine).context().signature
    assert Vjp("ct").signature(sig).output.names() == ["grads"]
    assert Vjp("ct", argnums=("x", 0), value=True).signature(sig).output.names() == [
        "value",
        "grads",
        "x",
        "a",
    ]
    assert Vjp("ct").signature(sig).names == ("a", "x", "ct")


def test_a_cotangent_named_like_an_argument_is_refused_with_another():
    with pytest.raises(ComposeError) as caught:
        compose(affine, Vjp("x"))
    assert str(caught.value) == (
        "CMP210 vjp adds an argument 'x', but affine has one already\n"
        "  arguments: a, x\n"
        "  write: cotangent: x_bar"
    )


def test_an_unknown_argument_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(scaled, Vjp("ct", argnums="scal"))
    assert str(caught.value) == (
        "CMP201 vjp: argnums names 'scal', but scaled has no such argument\n"
        "  arguments: x, scale, shift\n"
        "  write: argnums: scale"
    )


def test_an_argument_listed_by_name_and_position_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(affine, Vjp("ct", argnums=("x", 1)))
    assert str(caught.value) == (
        "CMP204 vjp: x is named twice in argnums\n  write: each argument once"
    )


def test_an_argument_listed_twice_is_refused_before_any_function_is_seen():
    with pytest.raises(ParameterError) as caught:
        Vjp("ct", argnums=("x", "x"))
    assert str(caught.value) == "CMP037 vjp: argnums names 'x' twice"


def test_a_static_argument_has_no_gradient():
    with pytest.raises(ComposeError) as caught:
        compose(power, Vjp("ct", argnums="n"), static="n")
    assert str(caught.value) == (
        "CMP205 vjp: argnums names 'n', which is static: it holds no array\n"
        "  write: another argument, or take n out of `static:`"
    )


def test_a_missing_cotangent_is_named():
    with pytest.raises(ComposeError) as caught:
        compose(affine, Vjp("ct"))(A, X)
    assert str(caught.value) == (
        "CMP204 vjp: the call does not give 'ct', the cotangent\n  write: ct=...     # at the call"
    )


def test_a_cotangent_unlike_the_output_is_refused():
    made = compose(affine, Vjp("ct"))
    with pytest.raises(ComposeError) as caught:
        made(A, X, X)
    assert str(caught.value) == (
        "CMP221 vjp: ct is f32[3], but the output is f32[2]\n  write: ct of the same shape"
    )
    with pytest.raises(ComposeError) as caught:
        made(A, X, np.array([1, 2]))
    assert str(caught.value) == (
        "CMP221 vjp: ct is i32, but the output is f32\n  write: ct.astype('float32')"
    )
    with pytest.raises(ComposeError) as caught:
        made(A, X, (CT,))
    assert str(caught.value) == (
        "CMP221 vjp: ct is a tuple (f32[2]), but the output is f32[2]\n"
        "  write: ct with the structure of the output"
    )


def test_an_integer_output_takes_a_cotangent_of_float0():
    made = compose(lambda x: (x, jnp.argmax(x)), Vjp("ct"))
    with pytest.raises(ComposeError) as caught:
        made(X, (X, np.float32(1)))
    assert str(caught.value) == (
        "CMP221 vjp: ct[1] is f32, but the output[1] is i32\n"
        "  write: ct[1] = numpy.zeros(shape, jax.dtypes.float0)     # integers have no derivative"
    )
    (grad,) = made(X, (X, np.zeros((), jax.dtypes.float0)))
    np.testing.assert_array_equal(grad, X)
