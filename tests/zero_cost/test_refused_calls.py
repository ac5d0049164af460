"""What a stack must refuse in composer's or Python's words, where it once went on or JAX spoke."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Jit, Pmap, ShardMap, Vmap, compose

X = np.arange(8, dtype=np.float32)
SPLIT = Pmap(in_axes={"x": 0}, split=True)


def affine(x, n, m):
    return x * n + m


@pytest.mark.parametrize(
    "layers",
    [(), (Jit(),), (Vmap(in_axes={"x": 0}),), (SPLIT,)],
    ids=["none", "jit", "vmap", "split"],
)
@pytest.mark.parametrize("static", [(), "n"], ids=["no_static", "static"])
def test_an_argument_given_twice_is_refused_as_python_does(layers, static):
    made = compose(affine, *layers, static=static)
    with pytest.raises(TypeError) as caught:
        made(X, 2, np.float32(3), n=4)
    assert str(caught.value) == "affine() got multiple values for argument 'n'"


def test_a_keyword_may_have_the_name_of_an_argument_by_position_only():
    def scaled(x, /, **rest):
        return x * rest["x"]

    # Without jit, which fails with an assertion of JAX's own on such a call.
    np.testing.assert_array_equal(compose(scaled)(X, x=np.float32(3)), 3 * X)


@pytest.mark.parametrize(
    ("out_axes", "output", "kind"),
    [
        ((0,), lambda x: (x, x), "a tuple of 2"),
        ((0, 0), lambda x: [x, x], "a list of 2"),
        ({"a": 0}, lambda x: {"b": x}, "a dict"),
    ],
    ids=["fewer", "list", "keys"],
)
def test_out_axes_of_split_that_do_not_follow_the_output_are_refused(out_axes, output, kind):
    with pytest.raises(ComposeError) as caught:
        compose(output, Pmap(split=True, out_axes=out_axes))(X)
    assert str(caught.value) == (
        f"CMP209 pmap: out_axes do not follow the output, which is {kind}\n"
        "  write: out_axes: 0     # one place in all outputs; a list is for a tuple"
    )


HALF = {"split": True, "axis_size": 2}
SHARDED = ShardMap(in_specs=[["data"]], out_specs=["data"])
CURE = "  write: vmap in its place; or one shard_map over a mesh with an axis for each of the two"


@pytest.mark.parametrize(
    ("layers", "word", "bound"),
    [
        ((Pmap(**HALF, axis_name="in"), Pmap(**HALF, axis_name="out")), "pmap", "'out'"),
        ((Pmap(), Pmap(axis_name="out")), "pmap", "'out'"),
        ((Pmap(split=True), SHARDED), "pmap", "'data'"),
        ((SHARDED, Pmap(axis_name="out")), "shard_map", "'out'"),
        (
            (Pmap(**HALF), Vmap(axis_name="rows"), Pmap(**HALF, axis_name="out")),
            "pmap",
            "'rows', 'out'",
        ),
    ],
    ids=["split_split", "pmap_pmap", "split_shard_map", "shard_map_pmap", "a_vmap_between"],
)
@pytest.mark.parametrize("outside", [(), (Jit(),)], ids=["outermost", "below_jit"])
def test_a_layer_over_devices_inside_another_is_refused(layers, word, bound, outside):
    made = compose(lambda x: 2 * x, *layers, *outside, mesh={"data": 4})
    with pytest.raises(ComposeError) as caught:
        made(np.ones((4, 4, 4), np.float32))
    assert str(caught.value) == (
        f"CMP309 {word} stands inside a layer that is already one program for each device\n"
        f"  bound outside: {bound}\n" + CURE
    )


def test_a_layer_over_devices_inside_vmap_is_none_inside_another():
    x = np.arange(16, dtype=np.float32).reshape(2, 8)
    got = jax.block_until_ready(compose(lambda x: jnp.sum(x), SPLIT, Vmap(), Jit())(x))
    np.testing.assert_array_equal(got, x.reshape(2, 4, 2).sum(axis=2))
