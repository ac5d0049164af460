"""What pmap with split refuses: every text as a whole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Jit, MaxTraces, Pmap, compose
from composer.errors import SetupError
from composer.plugin import ParameterError

X = np.arange(8, dtype=np.float32)
ONES = np.ones(7, np.float32)
PAD = {"in_axes": {"x": 0, "w": 0}, "split": True, "remainder": "pad", "weights": "w"}
PARAMS = {"a": np.float32(2)}


def split(**options):
    return Pmap(**({"split": True, "in_axes": {"x": 0}} | options))


def refusal(function, layer, *args, returns=None):
    with pytest.raises(ComposeError) as caught:
        compose(function, layer, returns=returns)(*args)
    return str(caught.value)


def double(x):
    return 2 * x


def weighted(x, w):
    return jnp.sum(w * x) / jnp.sum(w)


def predict(params, batch):
    return params["a"] * batch["x"] + batch["shift"]


def several(x):
    return {
        "sum": jnp.sum(x),
        "count": jnp.int32(x.shape[0]),
        "big": jnp.any(x > 5),
        "key": jax.random.key(7),
    }


def test_a_mean_of_integers_or_bools_is_refused_with_what_fits():
    assert refusal(several, split(sync={"count": "pmean", "_": "device0"}), X) == (
        "CMP303 pmap: pmean of output 'count', which is int32, would not be int32 any more\n"
        "  write: sync: {count: ..., _: pmean}     # ... is psum, pmax, pmin, same or device0"
    )
    assert refusal(several, split(sync="pmean"), X) == (
        "CMP303 pmap: pmean of output 'big', which is bool, would not be bool any more\n"
        "  write: sync: {big: ..., _: pmean}     # ... is psum, pmax, pmin, same or device0"
    )


def test_a_sum_of_integers_that_were_not_named_is_refused():
    assert refusal(lambda x: {"n": jnp.int32(1)}, split(sync="psum"), X) == (
        "CMP303 pmap: psum of output 'n', which is int32; only floating numbers are summed"
        " unasked\n"
        "  write: sync: {n: ..., _: psum}     # ... is psum, pmax, pmin, same or device0"
    )


@pytest.mark.parametrize("word", ["pmean", "psum", "pmax", "pmin"])
def test_keys_have_no_mean_sum_or_largest(word):
    assert refusal(several, split(sync={"key": word, "_": "device0"}), X) == (
        f"CMP303 pmap: {word} of output 'key', which is key<fry>, would not be key<fry> any more\n"
        f"  write: sync: {{key: ..., _: {word}}}     # ... is same or device0"
    )


def test_an_unknown_output_is_refused_with_the_nearest_one():
    two = split(sync={"los": "pmean", "_": None})
    assert refusal(lambda x: (x, x), two, X, returns=["loss", "aux"]) == (
        "CMP207 pmap: 'los' is no output\n  outputs: loss, aux\n  write: loss"
    )
    assert refusal(lambda x: {"loss": x, "aux": x}, two, X) == (
        "CMP302 pmap: sync names output 'los', but there is none\n"
        "  outputs: aux, loss\n"
        "  write: loss"
    )


def test_a_sync_that_leaves_outputs_out_or_names_too_many_is_refused():
    assert refusal(lambda x: {"a": x, "b": x}, split(sync={"a": "pmean"}), X) == (
        "CMP302 pmap: sync says nothing about output 'b'\n"
        "  sync names: a\n"
        "  write: _: null     # in the sync, for all other outputs"
    )
    assert refusal(lambda x: (x, x), split(sync=["pmean"]), X) == (
        "CMP302 pmap: sync says nothing about output '1'\n"
        "  sync names: 0\n"
        "  write: _: null     # in the sync, for all other outputs"
    )
    assert refusal(lambda x: (x, x), split(sync=["pmean", "psum", "pmax"]), X) == (
        "CMP302 pmap: sync names output '2', but there is none\n  outputs: 0, 1"
    )


@pytest.mark.parametrize(("rows", "sum_"), [(7, "4 * 1 + 3"), (3, "4 * 0 + 3")])
def test_rows_that_do_not_divide_are_refused_with_both_ways_out(rows, sum_):
    assert refusal(double, split(), X[:rows]) == (
        f"CMP301 pmap: {rows} rows of x (axis 0) do not divide over 4 devices\n"
        f"  {rows} = {sum_}\n"
        "  write: remainder: drop     # loses the last rows; or\n"
        "         remainder: pad, weights: NAME     # keeps them: one weight a row, 0 for padding"
    )


def test_dropping_every_row_is_refused():
    assert refusal(double, split(remainder="drop"), X[:3]) == (
        "CMP301 pmap: remainder: drop drops all 3 rows of x (axis 0) on 4 devices\n"
        "  write: axis_size: 3, or a batch of at least 4 rows"
    )


@pytest.mark.parametrize("remainder", ["error", "drop"])
def test_an_empty_batch_is_refused(remainder):
    assert refusal(double, split(remainder=remainder), X[:0]) == (
        "CMP301 pmap: the batch is empty: x (axis 0) has 0 rows\n  write: at least one row"
    )


def test_two_batch_sizes_are_refused_with_both_named():
    assert refusal(lambda x, y: x + y, split(in_axes=0), X, X[:4]) == (
        "CMP214 pmap: the mapped axes have different sizes\n"
        "  x on axis 0: 8\n"
        "  y on axis 0: 4\n"
        "  write: in_axes with the batch axis of each argument, null where there is none"
    )
    batch = {"x": X, "shift": X[:4]}
    assert refusal(predict, split(in_axes={"batch": 0}), PARAMS, batch) == (
        "CMP214 pmap: the mapped axes have different sizes\n"
        "  batch['shift'] on axis 0: 4\n"
        "  batch['x'] on axis 0: 8\n"
        "  write: in_axes with the batch axis of each argument, null where there is none"
    )


def test_an_axis_that_an_argument_does_not_have_is_refused():
    assert refusal(double, split(in_axes={"x": 1}), X) == (
        "CMP209 pmap: x is mapped on axis 1, but it is float32[8]\n  write: in_axes: {x: 0}"
    )


def test_axes_that_do_not_follow_the_tree_are_refused():
    batch = {"x": X, "shift": X}
    assert refusal(predict, split(in_axes={"batch": {"x": 0}}), PARAMS, batch) == (
        "CMP213 pmap: in_axes: batch['shift'] has no axis\n"
        "  write: shift: null     # not mapped; or 0"
    )
    axes = {"batch": {"x": 0, "shift": 0, "y": 0}}
    assert refusal(predict, split(in_axes=axes), PARAMS, batch) == (
        "CMP213 pmap: in_axes: batch has no part 'y'; it has shift, x"
    )


def test_a_place_that_the_output_does_not_have_is_refused():
    assert refusal(double, split(out_axes=2), X) == (
        "CMP209 pmap: out_axes puts the device axis at 2 of 'the output', but on each device that"
        " is float32[2]\n"
        "  write: out_axes: 0     # or up to 1"
    )
    assert refusal(lambda x: {"s": jnp.sum(x)}, split(out_axes=-2), X) == (
        "CMP209 pmap: out_axes puts the device axis at -2 of 's', but on each device that"
        " is float32[]\n"
        "  write: out_axes: 0"
    )
    assert refusal(jnp.sum, Pmap(split=True, merge=True), X) == (
        "CMP209 pmap: merge joins axis 0 of 'the output', but on each device that is float32[],"
        " which has no such axis\n"
        "  write: sync: pmean     # one value for all devices; or merge: false, one for each"
    )


def test_weights_that_are_not_mapped_or_are_a_tree_are_refused():
    assert refusal(weighted, Pmap(**(PAD | {"in_axes": {"x": 0}}), sync="pmean"), X[:7], ONES) == (
        "CMP301 pmap: the weights 'w' are not mapped, so they cannot be split with the rows\n"
        "  write: in_axes: {w: 0}     # beside the others"
    )
    assert refusal(weighted, Pmap(**PAD, sync="pmean"), X[:7], {"a": ONES, "b": ONES}) == (
        "CMP301 pmap: the weights 'w' are a tree; they are one array with a weight for each row\n"
        "  write: weights: NAME     # an argument of its own"
    )


def test_padding_without_weights_is_refused():
    with pytest.raises(ParameterError) as caught:
        Pmap(split=True, remainder="pad")
    assert str(caught.value) == (
        "CMP307 pmap: remainder pad needs weights: the argument that says how much each row"
        " counts\n"
        "  write: weights: NAME     # an argument with one weight a row, 1 where all count"
    )


@pytest.mark.parametrize("option", [{"merge": True}, {"remainder": "drop"}, {"weights": "w"}])
def test_options_of_split_are_refused_without_it(option):
    with pytest.raises(ParameterError) as caught:
        Pmap(**option)
    assert str(caught.value) == (
        f"CMP307 pmap: {next(iter(option))} needs split: true\n  write: split: true"
    )


@pytest.mark.parametrize("size", [0, -1])
def test_an_axis_size_below_one_is_refused(size):
    with pytest.raises(ParameterError) as caught:
        Pmap(axis_size=size)
    assert str(caught.value) == f"CMP037 pmap: axis_size is {size}; it is at least 1"


def test_more_devices_than_there_are_are_refused():
    with pytest.raises(SetupError) as caught:
        compose(double, split(axis_size=9))(X)
    assert str(caught.value) == (
        "CMP090 pmap needs 9 devices, but there are 4\n"
        "  found: cpu\n"
        "  write: run: {simulate_devices: 9}     # or --devices 9: on CPU"
    )


def device_sum(x):
    return jnp.sum(x)


def everyones_sum(x):
    return jax.lax.psum(jnp.sum(x), "d"), jax.jit(lambda y: jax.lax.pmax(y, "d"))(jnp.sum(x))


def loops_over_everyone(x):
    return jax.lax.fori_loop(0, 2, lambda i, s: jax.lax.psum(s, "d"), jnp.sum(x))


@pytest.mark.parametrize("split", [True, False])
def test_a_null_out_axis_is_refused_where_each_device_has_its_own_value(split):
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    made = compose(device_sum, Pmap(split=split, out_axes=None))
    for _ in range(2):
        with pytest.raises(ComposeError) as caught:
            made(x)
        assert str(caught.value) == (
            "CMP216 pmap: out_axes is null for the output, of which each device has its own value\n"
            "  write: sync: pmean     # or psum, pmax, pmin: one value for all; or\n"
            "         out_axes: 0     # one value a device"
        )


@pytest.mark.parametrize("split", [True, False])
def test_a_null_out_axis_is_right_where_a_collective_made_all_devices_equal(split):
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    made = compose(everyones_sum, Pmap(axis_name="d", split=split, out_axes=None), Jit())
    total, largest = made(x)
    assert (float(total), float(largest)) == (28.0, 13.0)


def test_what_a_loop_does_with_collectives_is_not_judged():
    x = np.arange(4, dtype=np.float32)
    made = compose(loops_over_everyone, Pmap(axis_name="d", split=True, out_axes=None))
    assert float(made(x)) == 6.0 * 4


def test_looking_at_the_program_does_not_count_as_a_trace():
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    stack = Pmap(axis_name="d", split=True, out_axes=None)
    made = compose(everyones_sum, stack, max_traces=MaxTraces(1, "error"))
    for _ in range(3):
        jax.block_until_ready(made(x))
