"""What a stack must refuse in composer's or Python's words, where it once went on or JAX spoke."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Jit, Pmap, SetupError, ShardMap, Vmap, compose

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


def rest(x, **more):
    return x * jnp.sum(more["scale"])


def test_a_slip_in_an_axis_that_kwargs_would_take_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(rest, Vmap(in_axes={"x": 0, "scales": 0}))(X, scale=X)
    assert str(caught.value) == (
        "CMP201 vmap: in_axes names 'scales', but the call gives no such argument\n"
        "  given by keyword: scale\n"
        "  write: in_axes: {scale: ...}"
    )


def test_a_call_without_the_one_mapped_argument_is_told_so():
    with pytest.raises(ComposeError) as caught:
        compose(lambda n, x=1.0: n, Vmap(in_axes={"x": 0}))(X)
    assert str(caught.value) == (
        "CMP206 vmap: in_axes maps x, which the call does not give, so there is no batch\n"
        "  write: x in the call"
    )


def test_a_device_axis_without_entries_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda x: x, Pmap())(X[:0])
    assert str(caught.value) == (
        "CMP301 pmap: x on axis 0 has size 0, so no device has anything to do\n"
        "  write: at least one entry on the mapped axis"
    )


def test_a_device_that_is_listed_twice_is_refused():
    with pytest.raises(SetupError) as caught:
        compose(lambda x: x, Pmap(devices=(1, 1)))(X[:2])
    assert str(caught.value) == ("CMP090 pmap: devices holds 1 twice\n  write: each device once")


def test_an_axis_that_does_not_divide_over_the_mesh_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda x: x, SHARDED, mesh={"data": 4})(X[:7])
    assert str(caught.value) == (
        "CMP301 shard_map: axis 0 of x has size 7, which does not divide over 'data': 4 devices\n"
        "  the spec of x: [data], and it is f32[7]\n"
        "  write: 4 or 8 in its place: cut or pad before the call"
    )


def test_a_spec_with_more_entries_than_the_argument_has_axes_is_refused():
    layer = ShardMap(in_specs={"p": {"w": [None, "data"]}}, out_specs=["data"])
    with pytest.raises(ComposeError) as caught:
        compose(lambda p: p["w"], layer, Jit(), mesh={"data": 4})({"w": X})
    assert str(caught.value) == (
        "CMP209 shard_map: the spec of p['w'] is [null, data], but it is f32[8]\n"
        "  write: p: []     # whole on every device; or a shorter spec"
    )
