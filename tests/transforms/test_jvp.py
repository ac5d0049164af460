"""jvp: promises, closed forms, and the program that is written by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Grad, Jit, Jvp, Vjp, Vmap, compose
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

W = np.array([0.5, -1.0, 2.0], np.float32)
X = np.array([1.0, 2.0, 3.0], np.float32)
V = np.array([1.0, 0.5, -0.25], np.float32)


def product(w, x):
    return w * w * x


def scaled(w, x, scale=1.0, *, shift=0.0):
    return scale * jnp.sum(w * x) ** 2 + shift


def with_aux(w, x):
    return jnp.sum(w * x), {"rows": jnp.max(x)}


def power(w, n):
    return w**n


def test_jvp_keeps_every_promise():
    tree = {"a": W, "b": (X, np.float32(2))}
    moved = {"a": V, "b": (V, np.float32(-1))}
    check_transform(
        Jvp,
        [
            Case(Jvp(tangents={"x": "v"}), jnp.tanh, (X, V)),
            Case(Jvp(tangents={"w": "v"}), product, (W, X, V)),
            Case(Jvp(tangents={"x": "u", "w": "v"}), product, (W, X, V, X)),
            Case(Jvp(tangents={"w": "v"}), scaled, (W, X), {"v": V}),
            Case(Jvp(tangents={"shift": "v"}), scaled, (W, X), {"v": np.float32(2)}),
            Case(Jvp(tangents={"w": "v"}), scaled, (W, X, 2.0), {"v": V, "shift": 1.0}),
            Case(Jvp(tangents={"w": "v"}, has_aux=True), with_aux, (W, X, V)),
            Case(Jvp(tangents={"p": "v"}), lambda p: p["a"] * p["b"][1] + p["b"][0], (tree, moved)),
            Case(Jvp(tangents={"w": "v"}), power, (W,), {"v": V, "n": 3}, static=("n",)),
        ],
    )


def test_the_derivative_of_the_sine_is_the_cosine():
    value, tangent = compose(jnp.sin, Jvp(tangents={"x": "v"}), Jit())(0.1, 0.2)
    np.testing.assert_allclose(value, 0.09983342, rtol=1e-6)
    np.testing.assert_allclose(tangent, 0.19900084, rtol=1e-6)


def test_the_program_is_the_one_written_by_hand():
    made = compose(product, Jvp(tangents={"w": "v"}))

    def by_hand(w, x, v):
        return jax.jvp(lambda w: product(w, x), (w,), (v,))

    assert str(jax.make_jaxpr(made)(W, X, V)) == str(jax.make_jaxpr(by_hand)(W, X, V))


def test_tangents_stand_in_the_order_of_their_arguments_whatever_that_of_the_mapping():
    one = compose(product, Jvp(tangents={"x": "u", "w": "v"}))
    other = compose(product, Jvp(tangents={"w": "v", "x": "u"}))
    assert one is other
    assert list(jax.tree.leaves(one(W, X, V, X)[1])[0]) == list(2 * W * X * V + W * W * X)


def test_tangents_can_be_passed_by_keyword():
    made = compose(product, Jvp(tangents={"w": "v"}))
    np.testing.assert_allclose(made(v=V, x=X, w=W)[1], 2 * W * X * V)


def test_an_argument_left_to_its_default_is_moved_from_there():
    value, tangent = compose(lambda x, scale=3.0: x * scale, Jvp(tangents={"scale": "v"}))(
        2.0, v=1.0
    )
    assert (float(value), float(tangent)) == (6.0, 2.0)


def test_the_tangent_of_a_function_with_options_goes_by_keyword():
    assert float(compose(jnp.sum, Jvp(tangents={"a": "v"}))(X, v=V)[1]) == V.sum()


def test_a_static_argument_stays_out_of_the_way():
    made = compose(lambda n, x: x**n, Jvp(tangents={"x": "v"}), Jit(), static="n")
    np.testing.assert_allclose(made(3, X, V)[1], 3 * X**2 * V, rtol=1e-6)


def test_each_row_has_its_own_tangent_under_vmap():
    rows = compose(product, Jvp(tangents={"w": "v"}), Vmap(in_axes={"v": 0}), Jit())
    np.testing.assert_allclose(rows(W, X, np.eye(3, dtype=np.float32))[1], np.diag(2 * W * X))


def test_jvp_of_grad_is_the_hessian_times_a_vector():
    made = compose(lambda x: jnp.sum(x**3), Grad(), Jvp(tangents={"x": "v"}), Jit())
    np.testing.assert_allclose(made(X, V)[1], 6 * X * V, rtol=1e-6)


def test_the_cotangent_of_a_vjp_can_be_moved():
    made = compose(product, Vjp("ct", argnums="w"), Jvp(tangents={"ct": "dct"}), Jit())
    np.testing.assert_allclose(made(W, X, V, X)[1], 2 * W * X * X)


def test_outputs_are_named_value_and_tangent():
    sig = Jvp(tangents={"w": "v"}, has_aux=True).signature(
        Case(Jvp(tangents={"w": "v"}), product).context().signature
    )
    assert sig.names == ("w", "x", "v")
    assert sig.output.names() == ["value", "tangent", "aux"]


def test_an_added_name_that_exists_is_refused_with_another():
    with pytest.raises(ComposeError) as caught:
        compose(product, Jvp(tangents={"w": "x"}))
    assert str(caught.value) == (
        "CMP210 jvp adds an argument 'x', but product has one already\n"
        "  arguments: w, x\n"
        "  write: tangents: {w: w_tangent}"
    )


def test_a_tangent_of_an_unknown_argument_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda weight, x: x, Jvp(tangents={"weigth": "v"}))
    assert str(caught.value) == (
        "CMP201 jvp: tangents names 'weigth', but <lambda> has no such argument\n"
        "  arguments: weight, x\n"
        "  write: tangents: weight"
    )


def test_one_name_for_two_tangents_is_refused():
    with pytest.raises(ParameterError) as caught:
        Jvp(tangents={"w": "v", "x": "v"})
    assert str(caught.value) == "CMP037 jvp: tangents gives the name 'v' to two arguments"


def test_no_tangent_at_all_is_refused():
    with pytest.raises(ParameterError) as caught:
        Jvp(tangents={})
    assert str(caught.value) == (
        "CMP037 jvp: tangents names no argument\n  write: tangents: {x: x_tangent}"
    )


@pytest.mark.parametrize("name", ["2v", "lambda", ""])
def test_what_cannot_name_an_argument_is_refused(name):
    with pytest.raises(ParameterError) as caught:
        Jvp(tangents={"w": name})
    assert str(caught.value) == (
        f"CMP037 jvp: tangents holds {name!r}, which cannot name an argument"
    )


def test_a_missing_tangent_is_named():
    with pytest.raises(ComposeError) as caught:
        compose(product, Jvp(tangents={"w": "v"}))(W, X)
    assert str(caught.value) == (
        "CMP204 jvp: the call does not give 'v', the tangent\n  write: v=...     # at the call"
    )


def test_a_tangent_behind_a_default_goes_by_keyword_only():
    with pytest.raises(ComposeError) as caught:
        compose(scaled, Jvp(tangents={"w": "v"}))(W, X, 1.0, V)
    assert str(caught.value) == (
        "CMP204 jvp: called with 4 arguments by position, but takes 3:"
        " (w, x, scale=1.0, *, shift=0.0, v)\n"
        "  write: v=...     # at the call"
    )


def test_a_tangent_of_another_shape_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(product, Jvp(tangents={"w": "v"}))(W, X, V[:2])
    assert str(caught.value) == (
        "CMP221 jvp: v is f32[2], but w is f32[3]\n  write: v of the same shape"
    )


def test_a_tangent_of_another_structure_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda w: w[0] + w[1], Jvp(tangents={"w": "v"}))((X, X), [X, X])
    assert str(caught.value) == (
        "CMP221 jvp: v is a list (f32[3], f32[3]), but w is a tuple (f32[3], f32[3])\n"
        "  write: v with the structure of w"
    )


def test_a_tangent_of_another_dtype_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda w: w["a"], Jvp(tangents={"w": "v"}))({"a": X}, {"a": np.array([1, 2, 3])})
    assert str(caught.value) == (
        "CMP221 jvp: v['a'] is i32, but w['a'] is f32\n  write: v['a'].astype('float32')"
    )


def test_integers_have_no_tangent():
    with pytest.raises(ComposeError) as caught:
        compose(product, Jvp(tangents={"w": "v"}))(np.array([1, 2, 3]), X, V)
    assert str(caught.value) == (
        "CMP212 jvp: w is int32, and integers have no derivative\n"
        "  write: w as a floating array; or no tangent for it"
    )


def test_has_aux_needs_a_pair():
    with pytest.raises(ComposeError) as caught:
        compose(product, Jvp(tangents={"w": "v"}, has_aux=True))(W, X, V)
    assert str(caught.value) == (
        "CMP215 jvp: has_aux is true, but the layer below returns one array float32[3]\n"
        "  write: return value, aux     # in the function; or has_aux: false"
    )
