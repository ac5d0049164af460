"""vmap: promises, and closed forms by NumPy."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Grad, Jit, Reduce, Vmap, compose
from composer._yaml import parse
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

A = np.arange(12, dtype=np.float32).reshape(4, 3)
B = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
V = np.array([1.0, 2.0, 3.0], np.float32)


def dot(x, w):
    return x @ w


def batch_loss(params, batch, *, scale=1.0):
    return scale * jnp.sum(params * batch["x"]) + batch["n"]


def power(x, n):
    return x**n


def test_vmap_keeps_every_promise():
    batch = {"x": A, "n": np.arange(4.0, dtype=np.float32)}
    check_transform(
        Vmap,
        [
            Case(Vmap(), dot, (A, A)),
            Case(Vmap(in_axes=(0, None)), dot, (A, V)),
            Case(Vmap(in_axes={"x": 0}), dot, (A, V)),
            Case(Vmap(in_axes={"x": 0, "w": 1}, out_axes=-1), dot, (A, B)),
            Case(Vmap(in_axes=-1, out_axes=1), lambda x, w: x * w, (B, B)),
            Case(Vmap(in_axes=(None, {"x": 0, "n": None})), batch_loss, (V, batch | {"n": V[0]})),
            Case(
                Vmap(in_axes={"batch": 0, "scale": 0}),
                batch_loss,
                (V, batch),
                {"scale": V[[0, 0, 1, 2]]},
            ),
            Case(Vmap(in_axes={"batch": 0}), batch_loss, (V, batch), {"scale": np.float32(3)}),
            Case(Vmap(in_axes={"x": None}, axis_size=3), lambda x: x * 2, (V,)),
            Case(Vmap(axis_name="rows"), lambda x: x * 2, (A,)),
            Case(Vmap(out_axes={"a": 0, "b": 1}), lambda x: {"a": x, "b": x + 1}, (A,)),
            Case(Vmap(), power, (V,), {"n": 2}, static=("n",)),
            Case(Vmap(in_axes=(0, None)), power, (V,), {"n": 2}, static=("n",)),
            Case(
                Vmap(),
                lambda key: jax.random.normal(key, (2,)),
                (jax.random.split(jax.random.key(0), 3),),
            ),
        ],
    )


def test_unlisted_arguments_are_not_mapped():
    x, w = np.ones((32, 10), np.float32), np.ones((10, 5), np.float32)
    got = compose(dot, Vmap(in_axes={"x": 0}), Jit())(x, w)
    assert got.shape == (32, 5)
    assert np.all(np.asarray(got) == 10)


def test_a_keyword_argument_is_mapped_as_its_position_says():
    square = np.arange(9, dtype=np.float32).reshape(3, 3)
    scale = np.array([1.0, 10.0, 100.0], np.float32)
    got = compose(lambda x, scale: jnp.sum(x * scale), Vmap(in_axes=(0, None)))(square, scale=scale)
    np.testing.assert_allclose(got, [210, 543, 876])


def test_omitted_defaults_shorten_in_axes():
    def f(x, y, shift=10.0):
        return x * y + shift

    made = compose(f, Vmap(in_axes=(0, None, 0)), Jit())
    np.testing.assert_allclose(made(V, 2.0), V * 2 + 10)
    np.testing.assert_allclose(made(V, 2.0, V), V * 2 + V)


def test_the_axes_of_a_list_argument_may_be_written_as_a_list():
    got = compose(lambda pair: pair[0] + pair[1], Vmap(in_axes=([0, None],)))([V, np.float32(1)])
    np.testing.assert_allclose(got, V + 1)


def test_nested_vmaps_see_every_pair():
    got = compose(lambda x, y: x * y, Vmap(in_axes=(None, 0)), Vmap(in_axes=(0, None)))(V, A[0])
    np.testing.assert_allclose(got, np.outer(V, A[0]))


@pytest.mark.parametrize("axes", ["0", True, 0.0, {"x": "0"}, (0, False)])
def test_axes_of_a_wrong_type_are_refused(axes):
    with pytest.raises(ParameterError, match="CMP037 vmap: in_axes"):
        Vmap(in_axes=axes)


def test_nothing_mapped_is_refused_with_what_could_be():
    with pytest.raises(ComposeError) as caught:
        compose(dot, Vmap(in_axes={"x": None}))
    assert str(caught.value) == (
        "CMP206 vmap: in_axes maps no argument, so there is no batch\n"
        "  arguments: x, w\n"
        "  write: in_axes: {x: 0}"
    )


def test_more_axes_than_arguments_are_refused():
    with pytest.raises(ComposeError, match="CMP209 vmap: in_axes has 3 entries, but dot takes 2"):
        compose(dot, Vmap(in_axes=(0, None, None)))


@pytest.mark.parametrize(
    ("axes", "cure"),
    [
        (0, "in_axes: {x: 0}"),
        ({"tree": 0, "x": 1, "n": 0}, "in_axes: {x: 1}"),
        ({"tree": {"a": 0, "b": 0}}, "in_axes: {tree: {a: 0, b: null}}"),
        ({"x": 2}, "in_axes: {x: 0}"),
        ({"n": 0}, "the stack without vmap, or an argument that has an axis"),
    ],
)
def test_an_axis_that_is_not_there_is_refused_with_axes_that_can_be_mapped(axes, cure):
    def f(tree, x, n):
        return tree["a"].sum() + x.sum() + n

    args = {"a": jnp.ones(2), "b": jnp.float32(1)}, jnp.ones((2, 3)), jnp.float32(1)
    with pytest.raises(ComposeError) as caught:
        compose(f, Vmap(in_axes=axes))(*args)
    [item] = caught.value.diagnostics
    assert (item.code, item.cure) == ("CMP209", cure)
    if cure.startswith("in_axes"):
        compose(f, Vmap(**parse(cure).data))(*args)


def test_fewer_axes_than_arguments_are_refused_at_the_call():
    with pytest.raises(ComposeError, match="CMP209 vmap: in_axes has 1 entries, but it is called"):
        compose(dot, Vmap(in_axes=(0,)))(A, A)


def test_chunks_keep_every_promise():
    batch = {"x": A, "n": np.arange(4.0, dtype=np.float32)}
    keys = jax.random.split(jax.random.key(0), 5)
    check_transform(
        Vmap,
        [
            Case(Vmap(chunk=2), dot, (A, A)),
            Case(Vmap(chunk=3), dot, (A, A)),
            Case(Vmap(chunk=9), dot, (A, A)),
            Case(Vmap(in_axes={"x": 0, "w": 1}, out_axes=-1, chunk=3), dot, (A, B)),
            Case(Vmap(in_axes=-1, out_axes=1, chunk=3), lambda x, w: x * w, (B, B)),
            Case(
                Vmap(in_axes=(None, {"x": 0, "n": None}), chunk=1),
                batch_loss,
                (V, batch | {"n": V[0]}),
            ),
            Case(
                Vmap(in_axes={"batch": 0, "scale": 0}, chunk=3),
                batch_loss,
                (V, batch),
                {"scale": V[[0, 0, 1, 2]]},
            ),
            Case(Vmap(in_axes={"x": None}, axis_size=3, chunk=2), lambda x: x * 2, (V,)),
            Case(Vmap(axis_size=4, chunk=2), lambda x: x * 2, (A,)),
            Case(Vmap(out_axes={"a": -1, "b": None}, chunk=3), lambda x: {"a": x, "b": V}, (A,)),
            Case(Vmap(chunk=2), power, (V,), {"n": 2}, static=("n",)),
            Case(Vmap(chunk=2), lambda key: jax.random.normal(key, (2,)), (keys,)),
            Case(Vmap(in_axes=1, chunk=2), lambda key: jax.random.normal(key[0]), (keys[None],)),
        ],
    )


def test_chunks_are_done_one_after_the_other_as_written_by_hand():
    made = compose(dot, Vmap(in_axes={"x": 0}, chunk=3))

    def by_hand(x, w):
        return jax.lax.map(lambda x: dot(x, w), x, batch_size=3)

    assert str(jax.make_jaxpr(made)(A, V)) == str(jax.make_jaxpr(by_hand)(A, V))


def test_chunks_can_be_differentiated():
    made = compose(dot, Vmap(in_axes={"x": 0}, chunk=3), Reduce(op="sum"), Grad(argnums="w"), Jit())
    np.testing.assert_allclose(made(A, V), A.sum(0))


def test_no_rows_are_no_chunks():
    assert compose(dot, Vmap(in_axes={"x": 0}, chunk=3))(A[:0], V).shape == (0,)


def test_an_output_that_differs_between_rows_has_an_axis_in_chunks_too():
    with pytest.raises(ComposeError, match="CMP216 vmap: out_axes is null for the output"):
        compose(lambda x: x * 2, Vmap(out_axes=None, chunk=2))(A)


def test_an_axis_size_that_no_axis_has_is_refused_in_chunks():
    with pytest.raises(ComposeError) as caught:
        compose(dot, Vmap(axis_size=3, chunk=2))(A, A)
    assert str(caught.value) == (
        "CMP214 vmap: axis_size is 3, but the mapped axes have other sizes\n"
        "  x on axis 0: 4\n"
        "  w on axis 0: 4\n"
        "  write: axis_size: null"
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"chunk": 0}, "chunk is 0; it is at least 1"),
        (
            {"chunk": 2, "axis_name": "rows"},
            (
                "chunk and axis_name exclude each other: a collective would see the rows of one"
                " chunk only\n  write: axis_name without chunk; or `- reduce: mean` outside, for"
                " a mean of all rows"
            ),
        ),
        (
            {"chunk": 2, "spmd_axis_name": "data"},
            (
                "chunk and spmd_axis_name exclude each other: rows that are done one chunk after"
                " the other cannot be split over devices\n  write: one of the two"
            ),
        ),
    ],
)
def test_chunks_that_cannot_be_are_refused(options, text):
    with pytest.raises(ParameterError) as caught:
        Vmap(**options)
    assert str(caught.value) == f"CMP037 vmap: {text}"


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: jax.Array
    b: jax.Array | None
    power: int = dataclasses.field(default=2, metadata={"static": True})


class Pair(NamedTuple):
    w: jax.Array
    b: jax.Array | None


def powered(params, x):
    return (params.w * x) ** 2 if params.b is None else params.w * x + params.b


@pytest.mark.parametrize("cls", [Layer, Pair])
@pytest.mark.parametrize("options", [{}, {"chunk": 2}], ids=["whole", "chunks"])
def test_axes_go_by_the_fields_of_dataclasses_and_named_tuples(cls, options):
    made = compose(powered, Vmap(in_axes={"params": {"w": 1, "b": None}, "x": 0}, **options))
    w, x, one = A.T, np.float32([1, 2, 3, 4]), np.float32(1)
    np.testing.assert_array_equal(made(cls(w, one), x), A * x[:, None] + 1)
    np.testing.assert_array_equal(made(cls(w, None), x), (A * x[:, None]) ** 2)


@pytest.mark.parametrize(
    ("axes", "value", "text"),
    [
        ({"w": 0}, Layer(A, A), "params['b'] has no axis\n  write: b: null     # not mapped; or 0"),
        ({"w": 0, "b": 0, "c": 0}, Layer(A, A), "params has no part 'c'; it has w, b"),
        ({"w": 0}, [A, A], "params has axes by key, but is a list"),
        ({"w": 0}, A, "params has axes by key, but is float32[4, 3]"),
    ],
    ids=["missing", "unknown", "list", "array"],
)
def test_axes_by_field_that_do_not_fit_are_refused(axes, value, text):
    with pytest.raises(ComposeError) as caught:
        compose(powered, Vmap(in_axes={"params": axes, "x": 0}))(value, A)
    assert str(caught.value) == f"CMP213 vmap: in_axes: {text}"


def test_sizes_inside_a_dataclass_are_compared():
    with pytest.raises(ComposeError) as caught:
        compose(powered, Vmap(in_axes={"params": {"w": 0, "b": 1}}))(Layer(A, A), 1.0)
    assert str(caught.value) == (
        "CMP214 vmap: the mapped axes have different sizes\n"
        "  params.w on axis 0: 4\n"
        "  params.b on axis 1: 3\n"
        "  write: in_axes with the batch axis of each argument, null where there is none"
    )


def test_a_null_beside_out_axes_that_do_not_follow_the_output_leaves_jax_s_own_words():
    with pytest.raises(ValueError, match="vmap out_axes") as composed:
        compose(lambda x: [x, x], Vmap(out_axes=(0, None)))(A)
    with pytest.raises(ValueError, match="vmap out_axes") as by_hand:
        jax.vmap(lambda x: [x, x], out_axes=(0, None))(A)
    assert str(composed.value) == str(by_hand.value)
