"""split_key: promises, distinct draws, and keys equal to those split by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Jit, Pmap, SplitKey, Vmap, compose
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

KEY = jax.random.key(7)
RAW = jax.random.PRNGKey(7)
X = np.arange(8, dtype=np.float32)
BOTH = pytest.mark.parametrize("key", [KEY, RAW], ids=["typed", "raw"])


def noisy(x, key, scale=1.0, *, shift=0.0):
    return x + scale * jax.random.normal(key) + shift


def draw(key):
    return jax.random.normal(key)


def folded(key, rows):
    return np.stack([np.asarray(draw(jax.random.fold_in(key, row))) for row in rows])


def split_by_hand(key, rows):
    keys = jax.random.split(key, rows)
    return np.stack([np.asarray(draw(keys[row])) for row in range(rows)])


def rows_of_noise(x, key):
    return x + folded(key, range(len(x)))


def rows_of_two_axes(x, key):
    flat = folded(key, range(x.size)).reshape(x.shape)
    return x + flat


def test_split_key_keeps_every_promise():
    inside = SplitKey(key="key", axis_name="batch")
    rows = Vmap(in_axes={"x": 0}, axis_name="batch")
    grid = Vmap(in_axes={"x": 0}, axis_name="j"), Vmap(in_axes={"x": 0}, axis_name="i")
    table = X.reshape(2, 4)
    check_transform(
        SplitKey,
        [
            Case(inside, noisy, (X, KEY), outer=(rows,), expected=rows_of_noise),
            Case(inside, noisy, (X, RAW), outer=(rows,), expected=rows_of_noise),
            Case(inside, noisy, (X,), {"key": KEY}, outer=(rows,), expected=rows_of_noise),
            Case(
                SplitKey(key=1, axis_name=("i", "j")),
                noisy,
                (table, KEY),
                outer=grid,
                expected=rows_of_two_axes,
            ),
            Case(SplitKey(key="key", num=4), jax.vmap(draw), (KEY,), {}),
            Case(SplitKey(key=0, num=4), lambda key: jax.vmap(draw)(key), (RAW,)),
            Case(SplitKey(key="key", like="x"), lambda x, key: x + jax.vmap(draw)(key), (X, KEY)),
            Case(
                SplitKey(key="key", like="x", axis=-1),
                lambda x, key: {"n": x["a"][0] + jax.vmap(draw)(key)},
                ({"a": table, "b": table},),
                {"key": KEY},
            ),
            Case(
                SplitKey(key="key", fold="step"),
                lambda key, step: draw(key) + step.astype(jnp.float32),
                (KEY, np.int32(3)),
            ),
            Case(
                SplitKey(key="key", num=3),
                lambda n, key: jax.vmap(draw)(key) * n,
                (),
                {"n": 2, "key": KEY},
                static=("n",),
            ),
            Case(
                SplitKey(key="key", num=3),
                lambda x, *, key: x + jax.vmap(draw)(key),
                (np.float32(1),),
                {"key": RAW},
            ),
        ],
    )


@BOTH
def test_rows_inside_a_vmap_draw_eight_distinct_numbers_equal_to_the_hand_folded(key):
    layers = SplitKey(key="key", axis_name="batch"), Vmap(in_axes={"x": 0}, axis_name="batch")
    got = np.asarray(compose(noisy, *layers, Jit())(np.zeros(8, np.float32), key))
    assert len(set(got.tolist())) == 8
    np.testing.assert_allclose(got, folded(key, range(8)), rtol=1e-6)


def test_without_it_every_row_draws_the_same_number():
    got = compose(noisy, Vmap(in_axes={"x": 0}), Jit())(np.zeros(8, np.float32), KEY)
    assert len(set(np.asarray(got).tolist())) == 1


@BOTH
@pytest.mark.parametrize("layer", [SplitKey(key="key", num=8), SplitKey(key="key", like="x")])
def test_outside_a_vmap_draws_are_distinct_and_equal_to_the_hand_split(layer, key):
    made = compose(noisy, Vmap(in_axes=(0, 0)), layer, Jit())
    got = np.asarray(made(np.zeros(8, np.float32), key))
    assert len(set(got.tolist())) == 8
    np.testing.assert_allclose(got, split_by_hand(key, 8), rtol=1e-6)


def test_devices_of_a_pmap_draw_distinct_numbers():
    layers = SplitKey(key="key", axis_name="d"), Pmap(in_axes={"x": 0}, axis_name="d")
    got = np.asarray(compose(noisy, *layers)(np.zeros(4, np.float32), KEY))
    np.testing.assert_allclose(got, folded(KEY, range(4)), rtol=1e-6)
    assert len(set(got.tolist())) == 4


@BOTH
def test_every_step_draws_another_number_equal_to_the_hand_folded(key):
    def noise(step, key):
        return draw(key) + 0 * step.astype(jnp.float32)

    made = compose(noise, SplitKey(key="key", fold="step"), Jit())
    got = [float(made(np.int32(step), key)) for step in range(4)]
    np.testing.assert_allclose(got, folded(key, range(4)), rtol=1e-6)
    assert len(set(got)) == 4


def test_two_layers_split_by_step_and_by_row():
    def noise(x, key, step):
        return x + draw(key)

    made = compose(
        noise,
        SplitKey(key="key", axis_name="batch"),
        Vmap(in_axes={"x": 0}, axis_name="batch"),
        SplitKey(key="key", fold="step"),
        Jit(),
    )
    got = made(np.zeros(3, np.float32), KEY, np.int32(5))
    np.testing.assert_allclose(got, folded(jax.random.fold_in(KEY, 5), range(3)), rtol=1e-6)


def test_an_omitted_default_stays_omitted():
    made = compose(noisy, Vmap(in_axes=0), SplitKey(key="key", like="x"), Jit())
    np.testing.assert_allclose(made(X, KEY), X + split_by_hand(KEY, 8), rtol=1e-6)


def test_the_program_is_the_one_written_by_hand():
    def by_hand(x, key):
        def row(x, key):
            return noisy(x, jax.random.fold_in(key, jax.lax.axis_index("batch")))

        return jax.vmap(row, in_axes=(0, None), axis_name="batch")(x, key)

    by_hand.__name__ = "noisy"
    layers = SplitKey(key="key", axis_name="batch"), Vmap(in_axes={"x": 0}, axis_name="batch")
    made = compose(noisy, *layers, Jit())
    assert made.lower(X, KEY).as_text() == jax.jit(by_hand).lower(X, KEY).as_text()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, ("axis_name exactly one of axis_name, num, like, fold says how to split; none is"
             " written\n  write: split_key: {key: key, axis_name: batch}")),
        ({"num": 2, "like": "x"},
         ("like exactly one of axis_name, num, like, fold says how to split; num and like are"
         " written\n  write: split_key: {key: key, axis_name: batch}")),
        ({"num": 0}, "num is 0; at least one key is made"),
        ({"num": 2, "axis": 1}, "axis goes with like: the argument whose rows are counted"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(given, text):
    with pytest.raises(ParameterError) as caught:
        SplitKey(key="key", **given)
    assert str(caught.value) == f"CMP037 split_key: {text}"


def test_an_axis_that_nothing_binds_is_refused_with_those_that_are():
    layers = SplitKey(key="key", axis_name="bach"), Vmap(in_axes={"x": 0}, axis_name="batch")
    with pytest.raises(ComposeError) as caught:
        compose(noisy, *layers)(X, KEY)
    assert str(caught.value) == (
        "CMP112 split_key over axis 'bach', but no layer outside binds that axis\n"
        "  bound outside: 'batch'\n"
        "  write: axis_name: batch"
    )


def test_an_axis_bound_around_the_whole_stack_is_found():
    made = compose(noisy, SplitKey(key="key", axis_name="rows"))
    got = jax.vmap(made, in_axes=(0, None), axis_name="rows")(X, KEY)
    np.testing.assert_allclose(got, rows_of_noise(X, KEY), rtol=1e-6)


@pytest.mark.parametrize(
    ("layer", "args", "text"),
    [
        (SplitKey(key="key", num=2), (X, jax.random.split(KEY, 3)),
         ("CMP220 split_key: 'key' is key<fry>[3], which is not one key\n"
         "  a key is jax.random.key(0), or a raw u32[2] of jax.random.PRNGKey(0)\n"
         "  write: vmap outside with in_axes that leave key out, or no split_key")),
        (SplitKey(key="x", num=2), (X, KEY),
         ("CMP220 split_key: 'x' is float32[8], which is not one key\n"
         "  a key is jax.random.key(0), or a raw u32[2] of jax.random.PRNGKey(0)")),
        (SplitKey(key="key", fold="x"), (X, KEY),
         "CMP220 split_key: fold names 'x', which is float32[8], not one whole number"),
        (SplitKey(key="key", like="x"), ({"a": X, "b": X[:3]}, KEY),
         ("CMP214 split_key: like names 'x', which has no single size on axis 0: [8], [3]\n"
         "  write: num: N, or another argument")),
        (SplitKey(key="key", like="x", axis=1), (X, KEY),
         ("CMP209 split_key: like names 'x', which has no axis 1: [8]\n"
         "  write: num: N, or another argument")),
        (SplitKey(key="scale", num=2), (X, KEY),
         ("CMP220 split_key: the call does not pass 'scale', so there is nothing to split\n"
         "  write: a value for scale in the call")),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused_when_traced(layer, args, text):
    with pytest.raises(ComposeError) as caught:
        compose(noisy, layer)(*args)
    assert str(caught.value) == text


def test_an_argument_that_does_not_exist_is_refused_when_composed():
    with pytest.raises(ComposeError) as caught:
        compose(noisy, SplitKey(key="keys", num=3))
    assert str(caught.value) == (
        "CMP201 split_key: key names 'keys', but noisy has no such argument\n"
        "  arguments: x, key, scale, shift\n"
        "  write: key: key"
    )
