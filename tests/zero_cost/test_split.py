"""pmap with split: numbers against closed forms in NumPy float64."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import Jit, Pmap, ValueAndGrad, compose

X = np.arange(8, dtype=np.float32)
ROWS = {"in_axes": {"x": 0, "w": 0}, "split": True}
PAD = ROWS | {"remainder": "pad", "weights": "w"}


def split(**options):
    return Pmap(**({"split": True, "in_axes": {"x": 0}} | options))


def call(function, layer, *args, **kwargs):
    """The composed function's outputs, complete, as NumPy arrays."""
    returns = kwargs.pop("returns", None)
    out = jax.block_until_ready(compose(function, layer, returns=returns)(*args, **kwargs))
    return jax.tree.map(np.asarray, out)


def double(x):
    return 2 * x


def loss(p, x, w):
    return jnp.sum(w * (x - p) ** 2) / jnp.sum(w)


def data(rows, dtype):
    rng = np.random.default_rng(rows)
    return (
        dtype(0.7),
        rng.normal(loc=2, size=rows).astype(dtype),
        rng.uniform(0.5, 2, size=rows).astype(dtype),
    )


def closed_form(p, x, w):
    p, x, w = np.float64(p), x.astype(np.float64), w.astype(np.float64)
    return (w * (x - p) ** 2).sum() / w.sum(), (-2 * w * (x - p)).sum() / w.sum()


# The weighted mean over uneven rows


@pytest.mark.parametrize("rows", [30, 25, 5, 3, 8, 1])
@pytest.mark.parametrize("outside", [(), (Jit(),)], ids=["outermost", "below_jit"])
def test_padded_rows_give_the_true_weighted_mean_and_gradient(rows, outside):
    args = data(rows, np.float32)
    made = compose(loss, ValueAndGrad("p"), Pmap(**PAD, sync="pmean"), *outside)
    value, grad = jax.block_until_ready(made(*args))
    assert value.dtype == grad.dtype == np.float32
    np.testing.assert_allclose((value, grad), closed_form(*args), rtol=1e-6)


@pytest.mark.parametrize("rows", [30, 25, 5, 3])
def test_padded_rows_give_the_true_weighted_mean_and_gradient_in_float64(rows):
    with jax.enable_x64(True):
        args = data(rows, np.float64)
        value = call(loss, Pmap(**PAD, sync="pmean"), *args)
        grad = call(jax.grad(loss), Pmap(**PAD, sync="pmean"), *args)
        assert value.dtype == grad.dtype == np.float64
        np.testing.assert_allclose((value, grad), closed_form(*args), rtol=1e-12)


def test_the_padding_has_no_weight_whatever_stands_in_the_last_row():
    p, x, w = data(5, np.float32)
    x[-1], w[-1] = 1e4, 1e-3
    got = call(loss, Pmap(**PAD, sync="pmean"), p, x, w)
    np.testing.assert_allclose(got, closed_form(p, x, w)[0], rtol=1e-6)


def test_devices_whose_weights_are_all_zero_do_not_make_nan_of_the_mean():
    w = np.array([0, 0, 1, 1, 1, 2, 0, 0], np.float32)
    p = np.float32(0.5)
    value = call(loss, Pmap(**PAD, sync="pmean"), p, X, w)
    grad = call(jax.grad(loss), Pmap(**PAD, sync="pmean"), p, X, w)
    np.testing.assert_allclose((value, grad), closed_form(p, X, w), rtol=1e-6)


def test_keyword_arguments_are_split_and_padded_like_positional_ones():
    p, x, w = data(7, np.float32)
    got = call(loss, Pmap(**PAD, sync="pmean"), w=w, x=x, p=p)
    np.testing.assert_allclose(got, closed_form(p, x, w)[0], rtol=1e-6)


def test_a_sum_over_padded_rows_is_the_sum_over_the_rows():
    got = call(lambda x, w: jnp.sum(w * x), Pmap(**PAD, sync="psum"), X[:7], np.ones(7, np.float32))
    assert got == 21


def test_weights_of_two_axes_count_every_entry():
    x = np.arange(14, dtype=np.float32).reshape(7, 2)
    w = (x % 3 != 0).astype(np.float32)
    got = call(lambda x, w: jnp.sum(w * x) / jnp.sum(w), Pmap(**PAD, sync="pmean"), x, w)
    np.testing.assert_allclose(got, x[x % 3 != 0].mean(dtype=np.float64), rtol=1e-6)


def test_merge_cuts_the_padding_off_again():
    for rows in (7, 5, 3, 1):
        ones = np.ones(rows, np.float32)
        got = call(lambda x, w: 2 * x, Pmap(**PAD, merge=True), X[:rows], ones)
        np.testing.assert_array_equal(got, 2 * X[:rows])


def test_padded_integers_and_keys_come_back_unchanged():
    keys = jax.random.split(jax.random.key(0), 7)

    def both(x, w):
        return x["n"] + 1, jax.random.key_data(x["key"])

    n, key = call(
        both, Pmap(**PAD, merge=True), {"n": np.arange(7), "key": keys}, np.ones(7, np.float32)
    )
    np.testing.assert_array_equal(n, np.arange(1, 8))
    np.testing.assert_array_equal(key, jax.random.key_data(keys))


def test_drop_loses_the_last_rows():
    got = call(double, split(remainder="drop", merge=True), X[:7])
    np.testing.assert_array_equal(got, 2 * X[:4])
    assert call(jnp.mean, Pmap(split=True, remainder="drop", sync="pmean"), X[:7]) == 1.5


# Where axes stand

GRID = np.arange(24, dtype=np.float32).reshape(3, 8)


@pytest.mark.parametrize("axis", [1, -1])
def test_a_batch_on_another_axis_is_split_and_joined_there(axis):
    merged = call(double, split(in_axes={"x": axis}, merge=True, out_axes=axis), GRID)
    np.testing.assert_array_equal(merged, 2 * GRID)
    first = call(jnp.transpose, Pmap(split=True, in_axes=axis, merge=True), GRID)
    np.testing.assert_array_equal(first, GRID.T)


@pytest.mark.parametrize("place", [0, 1, 2, -1, -2, -3])
def test_the_device_axis_stands_where_out_axes_says(place):
    got = call(double, split(in_axes={"x": 1}, out_axes=place), GRID)
    blocks = [2 * GRID[:, 2 * d : 2 * d + 2] for d in range(4)]
    np.testing.assert_array_equal(got, np.stack(blocks, axis=place))


def test_out_axes_null_gives_what_every_device_has_once():
    def total(x):
        return jax.lax.psum(jnp.sum(x), "rows")

    got = call(total, split(axis_name="rows", out_axes=None), X)
    assert got.shape == ()
    assert got == 28


def test_out_axes_go_by_output():
    got = call(lambda x: (x, x[:, None]), split(out_axes=(0, -1)), X)
    np.testing.assert_array_equal(got[0], X.reshape(4, 2))
    np.testing.assert_array_equal(got[1], X.reshape(4, 2).T[:, None])


def predict(params, batch):
    return params["a"] * batch["x"] + batch["shift"]


PARAMS = {"a": np.float32(2)}


@pytest.mark.parametrize(
    ("axes", "shift"),
    [
        ({"batch": 0}, X),
        ((None, 0), X),
        ({"batch": {"x": 0, "shift": None}}, np.float32(1)),
        ((None, {"x": 0, "shift": None}), np.float32(1)),
        ({"batch": {"x": 0, "shift": 0}}, X),
    ],
    ids=["by_name", "by_position", "tree_by_name", "tree_by_position", "tree_all"],
)
def test_a_batch_is_a_tree_with_axes_as_a_prefix(axes, shift):
    got = call(predict, split(in_axes=axes, merge=True), PARAMS, {"x": X, "shift": shift})
    np.testing.assert_array_equal(got, 2 * X + shift)


def test_an_empty_part_of_a_tree_is_no_argument():
    got = call(lambda batch: batch["x"], split(in_axes=0, merge=True), {"x": X, "y": None})
    np.testing.assert_array_equal(got, X)


def test_one_device_takes_every_row():
    assert call(double, split(axis_size=1), X[:7]).shape == (1, 7)
    np.testing.assert_array_equal(call(double, split(axis_size=1, merge=True), X[:7]), 2 * X[:7])
    assert call(jnp.mean, Pmap(split=True, axis_size=1, sync="pmean"), X) == 3.5


def test_fewer_devices_than_there_are_can_be_chosen():
    np.testing.assert_array_equal(call(double, split(axis_size=2), X), 2 * X.reshape(2, 4))
    np.testing.assert_array_equal(call(double, split(devices=[3, 1]), X), 2 * X.reshape(2, 4))


def test_a_function_without_outputs_has_nothing_to_sync():
    for sync in (None, "pmean"):
        assert call(lambda x: None, split(sync=sync), X) is None


# Sync by output


def several(x):
    return {
        "sum": jnp.sum(x),
        "count": jnp.int32(x.shape[0]),
        "big": jnp.any(x > 5),
        "key": jax.random.key(7),
    }


def test_integers_bools_and_keys_are_synced_by_name_exactly():
    sync = {"sum": "psum", "count": "psum", "big": "pmax", "key": "same"}
    made = compose(several, split(sync=sync))
    got = jax.block_until_ready(made(X))
    assert (float(got["sum"]), int(got["count"]), bool(got["big"])) == (28, 8, True)
    assert (got["count"].dtype, got["big"].dtype) == (np.int32, np.bool_)
    assert jax.random.key_impl(got["key"]) == jax.random.key_impl(jax.random.key(7))
    wanted = jax.random.key_data(jax.random.key(7))
    np.testing.assert_array_equal(jax.random.key_data(got["key"]), wanted)


def test_a_large_count_is_summed_exactly_where_a_float_mean_would_round():
    def count(x):
        return jnp.sum(x)

    big = np.array([2**24 + 1, 0, 0, 0], np.int32)
    assert call(count, Pmap(split=True, sync={"n": "psum"}), big, returns=["n"]) == 2**24 + 1


def test_bools_are_all_any_or_counted():
    for word, wanted in (("pmax", True), ("pmin", False), ("psum", 1), ("device0", False)):
        got = call(lambda x: {"big": jnp.any(x > 5)}, split(sync={"big": word}), X)["big"]
        assert got == wanted
        assert got.dtype == (np.int32 if word == "psum" else np.bool_)


def test_device0_is_what_the_first_device_has():
    assert call(jnp.sum, Pmap(split=True, sync="device0"), X) == 1

    def keys(x):
        return jax.random.fold_in(jax.random.key(0), jax.lax.axis_index("rows"))

    first = jax.block_until_ready(compose(keys, split(sync="device0", axis_name="rows"))(X))
    wanted = jax.random.key_data(jax.random.fold_in(jax.random.key(0), 0))
    np.testing.assert_array_equal(jax.random.key_data(first), wanted)


def test_sync_goes_by_position_by_name_and_by_the_rest():
    def stats(x):
        return jnp.sum(x), {"mean": jnp.mean(x), "top": jnp.max(x)}, x

    def shown(out):
        total, inner, rows = out
        return float(total), float(inner["mean"]), float(inner["top"]), rows.tolist()

    wanted = (28.0, 3.5, 7.0, X.reshape(4, 2).tolist())
    returns = ["total", {"inner": {"mean": None, "top": None}}, "rows"]
    by_position = ["psum", {"mean": "pmean", "top": "pmax"}, None]
    by_name = {"total": "psum", "mean": "pmean", "inner.top": "pmax", "rows": None}
    by_rest = {"total": "psum", "inner": {"top": "pmax", "_": "pmean"}, "_": None}
    assert shown(call(stats, split(sync=by_position), X)) == wanted
    assert shown(call(stats, split(sync=by_name), X, returns=returns)) == wanted
    assert shown(call(stats, split(sync=by_rest), X, returns=returns)) == wanted


CHILD = """
import jax
jax.config.update("jax_num_cpu_devices", 4)
import jax.numpy as jnp
import numpy as np
from composer import Pmap, compose

made = compose(jnp.sum, Pmap(split=True, sync="same"))
print("equal", jax.block_until_ready(made(np.ones(8, np.float32))), flush=True)
jax.block_until_ready(made(np.arange(8, dtype=np.float32)))
print("not reached")
"""


def test_same_raises_at_run_time_where_devices_differ():
    # In a child process: an exception in a callback may abort the interpreter.
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD)],
        env=os.environ | {"PYTHONPATH": str(root), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "equal 2.0\n"
    assert done.returncode != 0
    assert "CMP306 pmap: sync: same, but output 'the output' differs between devices" in done.stderr
    assert "write: pmean, psum, pmax or null in its place" in done.stderr


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16], ids=["float16", "bfloat16"])
def test_the_weights_of_a_mean_in_half_precision_are_counted_in_float32(dtype):
    # 75,001 rows on a device are infinitely many in float16, and 257 are 256 in bfloat16.
    def half(x, w):
        return jnp.float32(1) * jnp.sum(x * w) / jnp.sum(w)

    layer = Pmap(**PAD | {"in_axes": 0}, sync="pmean")
    ones = np.ones(300_001, np.float32)
    got = call(lambda x, w: half(x, w).astype(dtype), layer, ones, ones)
    assert got.dtype == dtype
    assert float(got) == 1
