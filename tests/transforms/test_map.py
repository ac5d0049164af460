"""map: promises, closed forms, and the program that is written by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Grad, Jit, Map, Reduce, Vmap, compose
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

A = np.arange(15, dtype=np.float32).reshape(5, 3)
W = np.array([1.0, 0.5, -2.0], np.float32)


def dot(x, w):
    return x @ w


def affine(x, w, scale=2.0, *, shift=0.0):
    return {"y": scale * (x @ w) + shift, "x": x}


def power(x, n):
    return x**n


def test_map_keeps_every_promise():
    check_transform(
        Map,
        [
            Case(Map(), dot, (A, A)),
            Case(Map(xs="x"), dot, (A, W)),
            Case(Map(xs=("w", 0)), dot, (A, A)),
            Case(Map(xs="x", batch_size=2), affine, (A, W)),
            Case(Map(xs="x", batch_size=5), affine, (A, W), {"shift": np.float32(1)}),
            Case(Map(xs="x", batch_size=9), affine, (A, W), {"scale": np.float32(1)}),
            Case(Map(xs="x", batch_size=0), dot, (A, W)),
            Case(Map(xs=("x", "shift")), affine, (A, W), {"shift": W[[0, 0, 1, 1, 2]]}),
            Case(Map(), affine, (A, A), {"shift": A[:, 0]}),
            Case(Map(), dot, (A[:0], A[:0])),
            Case(Map(batch_size=2), dot, (A[:0], A[:0])),
            Case(Map(), power, (A,), {"n": 2}, static=("n",)),
            Case(
                Map(batch_size=2),
                lambda k: jax.random.normal(k),
                (jax.random.split(jax.random.key(0), 5),),
            ),
        ],
    )


def test_each_row_is_multiplied():
    np.testing.assert_allclose(compose(dot, Map(xs="x"), Jit())(A, W), A @ W)
    np.testing.assert_allclose(compose(dot, Map(xs="x", batch_size=2), Jit())(A, W), A @ W)


@pytest.mark.parametrize("batch_size", [None, 2])
def test_the_program_is_the_one_written_by_hand(batch_size):
    made = compose(dot, Map(xs="x", batch_size=batch_size))

    def by_hand(x, w):
        return jax.lax.map(lambda x: dot(x, w), x, batch_size=batch_size)

    assert str(jax.make_jaxpr(made)(A, W)) == str(jax.make_jaxpr(by_hand)(A, W))


def test_all_arguments_are_gone_through_by_default_keywords_too():
    made = compose(affine, Map())
    np.testing.assert_allclose(made(w=A, x=A, shift=A[:, 0])["y"], 2 * (A * A).sum(1) + A[:, 0])


def test_a_default_that_is_left_out_has_no_rows():
    np.testing.assert_allclose(compose(affine, Map(xs="x"))(A, W)["y"], 2 * A @ W)


def test_the_gradient_goes_through_the_rows():
    made = compose(dot, Map(xs="x"), Reduce(op="sum"), Grad(argnums="w"), Jit())
    np.testing.assert_allclose(made(A, W), A.sum(0))


def test_it_equals_vmap():
    by_vmap = compose(jnp.tanh, Vmap(), Jit())(A)
    np.testing.assert_allclose(compose(jnp.tanh, Map(), Jit())(A), by_vmap, rtol=1e-6)


def test_rows_that_differ_in_number_are_told_with_all_of_them():
    with pytest.raises(ComposeError) as caught:
        compose(lambda x, p: x + p["b"], Map())(A, {"b": A[:3]})
    assert str(caught.value) == (
        "CMP214 map: the rows do not agree in number\n"
        "  x: 5\n"
        "  p['b']: 3\n"
        "  write: xs with the same length along the first axis"
    )


def test_a_number_among_the_arguments_is_named():
    with pytest.raises(ComposeError) as caught:
        compose(affine, Map())(A, A, 2.0)
    assert str(caught.value) == (
        "CMP209 map: xs goes through the rows of scale, but it is 2.0, which has no axis\n"
        "  write: xs without scale: it is the same for all rows then"
    )


def test_a_call_without_rows_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda x=1.0: x, Map())()
    assert str(caught.value) == (
        "CMP206 map: there are no rows: the call holds no array\n  write: at least one array in xs"
    )


def test_an_unknown_argument_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(affine, Map(xs=("x", "shif")))
    assert str(caught.value) == (
        "CMP201 map: xs names 'shif', but affine has no such argument\n"
        "  arguments: x, w, scale, shift\n"
        "  write: xs: shift"
    )


def test_a_static_argument_has_no_rows():
    with pytest.raises(ComposeError) as caught:
        compose(power, Map(xs="n"), static="n")
    assert str(caught.value) == (
        "CMP205 map: xs names 'n', which is static: it holds no array\n"
        "  write: another argument, or take n out of `static:`"
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"xs": ()}, "xs names no argument"),
        ({"xs": ("x", "x")}, "xs names 'x' twice"),
        ({"batch_size": -1}, "batch_size is -1; it is at least 0"),
    ],
)
def test_parameters_that_map_nothing_are_refused(options, text):
    with pytest.raises(ParameterError) as caught:
        Map(**options)
    assert str(caught.value) == f"CMP037 map: {text}"
