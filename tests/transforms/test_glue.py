"""partial, select and reduce: promises, and the right values by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Jit, Partial, Reduce, Select, Vmap, compose
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def affine(x, scale, shift=0.0, *, sign=1.0):
    return sign * (x * scale + shift)


def outputs(x):
    return jnp.sum(x), {"n": x.shape[0] * jnp.ones((), jnp.int32), "mean": jnp.mean(x)}


NAMES = ["total", {"stats": {"n": None, "mean": None}}]


def test_partial_keeps_every_promise():
    check_transform(
        Partial,
        [
            Case(Partial(keywords={"scale": 2.0}), affine, (X,)),
            Case(Partial(keywords={"shift": 1.5}), affine, (X, np.float32(2))),
            Case(Partial(args=(3.0, 2.0)), affine, ()),
            Case(Partial(keywords={"sign": -1.0}), affine, (X, np.float32(2))),
            Case(Partial(keywords={"scale": 3}), affine, (X,), static=("scale",)),
        ],
    )


def test_select_keeps_every_promise():
    check_transform(
        Select,
        [
            Case(Select(output=0), outputs, (X,)),
            Case(Select(output="stats"), outputs, (X,), returns=NAMES),
            Case(Select(output="stats.mean"), outputs, (X,), returns=NAMES),
            Case(Select(output="1.mean"), outputs, (X,)),
            Case(Select(output=("mean", "total")), outputs, (X,), returns=NAMES),
            Case(Select(drop="total"), outputs, (X,), returns=NAMES),
            Case(Select(drop="stats.n"), outputs, (X,), returns=NAMES),
            Case(Select(drop=-1), outputs, (X,)),
        ],
    )


def test_reduce_keeps_every_promise():
    check_transform(
        Reduce,
        [
            Case(Reduce(op="mean"), lambda x: x * 2, (X,)),
            Case(Reduce(op="sum", axis=None), lambda x: {"a": x, "b": x + 1}, (X,)),
            Case(Reduce(op="sum", axis=(0, 1)), lambda x: x, (X,)),
            Case(Reduce(op="mean", axis=-1, outputs="a"), lambda x: {"a": x, "b": x}, (X,)),
            Case(Reduce(op="sum"), lambda x: x.astype(jnp.int32), (X,)),
        ],
    )


def test_a_bound_argument_is_gone_from_the_signature_of_outer_layers():
    made = compose(affine, Partial(keywords={"scale": 2.0}), Vmap(in_axes=(0, None)), Jit())
    np.testing.assert_allclose(made(X, np.float32(1)), X * 2 + 1)


def test_a_static_argument_bound_by_partial_is_no_array_for_the_layers_inside():
    made = compose(lambda x, n: x**n, Vmap(), Partial(keywords={"n": 3}), Jit(), static="n")
    np.testing.assert_allclose(made(X), X.astype(np.float64) ** 3)


def test_an_argument_cannot_be_bound_twice():
    with pytest.raises(ComposeError, match="CMP204 partial: 'x' is bound twice"):
        compose(affine, Partial(args=(1.0,), keywords={"x": 2.0}))


def test_partial_that_binds_nothing_is_refused():
    with pytest.raises(ParameterError, match="CMP037 partial: keywords binds nothing"):
        Partial()


def test_select_names_the_nearest_output():
    with pytest.raises(ComposeError) as caught:
        compose(outputs, Select(output="totl"), returns=NAMES)
    assert str(caught.value) == (
        "CMP207 select: 'totl' is no output\n  outputs: total, stats, n, mean\n  write: total"
    )


def test_select_of_a_part_that_does_not_exist_says_what_stands_there():
    with pytest.raises(
        ComposeError, match=r"there is no output '2'; what stands there is a tuple of 2"
    ):
        compose(outputs, Select(output=2))(X)


def test_reduce_mean_of_integers_is_refused():
    with pytest.raises(ComposeError, match=r"the output is int32\[2, 3\]; a mean would turn it"):
        compose(lambda x: x.astype(jnp.int32), Reduce(op="mean"))(X)


def test_reduce_of_a_scalar_says_that_there_is_no_axis():
    with pytest.raises(
        ComposeError, match=r"CMP209 reduce: the output is float32\[\], which has no axis 0"
    ):
        compose(jnp.sum, Reduce(op="mean"))(X)
