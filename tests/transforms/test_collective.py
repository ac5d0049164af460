"""collective: promises against NumPy, gradients, and every refusal."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import Collective, ComposeError, Grad, Jit, Pmap, Vmap, compose
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

N = 4
X = np.random.default_rng(0).normal(size=(N, N, 3)).astype(np.float32)
WIDE = np.random.default_rng(1).normal(size=(N, 2 * N, 3)).astype(np.float32)
ROWS = Vmap(axis_name="i")
NAMES = ["loss", {"stats": {"n": None, "mean": None}}]


def same(x):
    return x


def stacked(x, change):
    """`change(x, row)` for every row, as a vmap puts it together."""
    return np.stack([change(x, row) for row in range(len(x))])


def outputs(x, scale=1.0, *, shift=0.0):
    n = jnp.sum(x > 0, dtype=jnp.int32)
    return scale * jnp.sum(x) + shift, {"n": n, "mean": jnp.mean(x)}


def case(layer, expected, args=(X,), function=same, **options):
    return Case(layer, function, args, outer=(ROWS,), expected=expected, **options)


def test_sums_and_extremes_keep_every_promise():
    def over(op, **options):
        return Collective(op=op, axis_name="i", **options)

    def like(reduced, x):
        return np.broadcast_to(reduced, x.shape)

    check_transform(
        Collective,
        [
            case(over("pmean"), lambda x: like(x.mean(0), x)),
            case(over("psum"), lambda x: like(x.sum(0), x)),
            case(over("pmax"), lambda x: like(x.max(0), x)),
            case(over("pmin"), lambda x: like(x.min(0), x)),
            case(over("pmax"), lambda x: like(x.max(0), x), (np.arange(N) > 1,), lambda x: x),
            case(
                over("psum", outputs="n"),
                lambda x: (
                    x.sum((1, 2)),
                    {"n": like((x > 0).sum(), x[:, 0, 0]), "mean": x.mean((1, 2))},
                ),
                function=outputs,
                returns=NAMES,
            ),
            case(
                over("pmean", outputs=(0, "1.mean")),
                lambda x: (
                    like(x.sum() / N, x[:, 0, 0]),
                    {"n": (x > 0).sum((1, 2)), "mean": like(x.mean(), x[:, 0, 0])},
                ),
                function=outputs,
            ),
            Case(
                over("pmean", outputs=0),
                lambda x, n, scale: (scale * x**n, n),
                (X, 2, np.float32(3)),
                outer=(Vmap(in_axes={"x": 0}, axis_name="i"),),
                expected=lambda x, n, scale: (like((3 * x**2).mean(0), x), np.full(N, 2)),
            ),
            Case(
                over("psum"),
                lambda x, n, *, scale=1.0: scale * x**n,
                (X,),
                {"n": 2, "scale": np.full(N, 3, np.float32)},
                static=("n",),
                outer=(ROWS,),
                expected=lambda x, n, scale: like((3 * x**2).sum(0), x),
            ),
            Case(
                Collective(op="pmean", axis_name=("i", "j")),
                same,
                (X,),
                outer=(Vmap(axis_name="j"), ROWS),
                expected=lambda x: like(x.mean((0, 1)), x),
            ),
        ],
    )


def test_moves_between_rows_keep_every_promise():
    def over(op, **options):
        return Collective(op=op, axis_name="i", **options)

    def gathered(x, axis):
        return np.broadcast_to(np.moveaxis(x, 0, axis), (N, *np.moveaxis(x, 0, axis).shape))

    def exchanged(x, joined):
        return stacked(x, lambda x, row: joined([part[row] for part in x]))

    keys = jax.random.split(jax.random.key(0), N)
    swap = ((0, 1), (1, 0), (2, 3), (3, 2))
    check_transform(
        Collective,
        [
            case(over("all_gather"), lambda x: gathered(x, 0)),
            case(over("all_gather", axis=-1), lambda x: gathered(x, 2)),
            case(
                over("all_gather", axis=1, tiled=True),
                lambda x: stacked(x, lambda x, row: np.concatenate(list(x), 1)),
            ),
            case(
                over("all_gather"),
                lambda key: jnp.stack([key] * N),
                (keys,),
                lambda key: key,
            ),
            case(over("all_gather"), lambda x: gathered(x, 0), (np.arange(N) > 1,)),
            case(over("psum_scatter"), lambda x: x.sum(0)),
            case(
                over("psum_scatter", scatter_dimension=-2, tiled=True),
                lambda x: np.stack(np.split(x.sum(0), N)),
                (WIDE,),
            ),
            case(
                over("psum_scatter", outputs=0),
                lambda x: (x.sum(0), x),
                (np.ones((N, N), np.int32),),
                lambda x: (x, x),
            ),
            case(
                over("all_to_all", split_axis=0, concat_axis=0),
                lambda x: exchanged(x, np.stack),
            ),
            case(
                over("all_to_all", split_axis=0, concat_axis=-1),
                lambda x: exchanged(x, lambda parts: np.stack(parts, 1)),
            ),
            case(
                over("all_to_all", split_axis=0, concat_axis=1, tiled=True),
                lambda x: stacked(
                    x, lambda x, row: np.concatenate([np.split(p, N)[row] for p in x], 1)
                ),
                (WIDE,),
            ),
            case(over("ppermute", perm=swap), lambda x: x[[1, 0, 3, 2]]),
            case(over("ppermute", perm=swap), lambda key: key[jnp.array([1, 0, 3, 2])], (keys,),
                 lambda key: key),
        ],
    )  # fmt: skip


def test_the_mean_of_gradients_over_devices_is_the_gradient_of_the_whole_batch():
    def loss(w, x):
        return jnp.mean((w * x) ** 2)

    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    layers = (
        Grad(),
        Collective(op="pmean", axis_name="devices"),
        Pmap(in_axes={"x": 0}, axis_name="devices"),
    )
    got = compose(loss, *layers)(np.float32(3), x)
    # d/dw mean((w x)^2) = 2 w mean(x^2), the same on every device.
    np.testing.assert_allclose(got, np.full(4, 2 * 3 * np.mean(x**2)), rtol=1e-6)


def test_a_permutation_that_leaves_devices_out_gives_them_zeros():
    x = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    layer = Collective(op="ppermute", axis_name="d", perm=((0, 1), (1, 2)))
    np.testing.assert_array_equal(compose(same, layer, Pmap(axis_name="d"))(x), [0, 1, 2, 0])


def test_several_axes_are_gathered_in_the_order_of_their_index_on_devices():
    from composer import ShardMap

    layer = Collective(op="all_gather", axis_name=("a", "b"))
    spec = [["a", "b"]]
    outer = ShardMap(in_specs=(spec,), out_specs=[], check_vma=False)
    made = compose(same, layer, outer, Jit(), mesh={"a": 2, "b": 2})
    got = made(np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(got, np.arange(4)[:, None])


def test_the_program_is_the_one_written_by_hand():
    def by_hand(x):
        return jax.vmap(lambda x: jax.lax.pmean(x, "i"), axis_name="i")(x)

    by_hand.__name__ = "same"
    made = compose(same, Collective(op="pmean", axis_name="i"), ROWS, Jit())
    assert made.lower(X).as_text() == jax.jit(by_hand).lower(X).as_text()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"op": "pmeen"},
         ("CMP037 collective: op is 'pmeen', which is none of its choices\n"
          "  choices: pmean, psum, pmax, pmin, all_gather, psum_scatter, all_to_all, ppermute\n"
          "  write: op: pmean")),
        ({"op": "psum", "axis": 1}, ("CMP037 collective: axis does not go with psum; it is for"
                                    " all_gather")),
        ({"op": "all_to_all", "split_axis": 0},
         "CMP037 collective: concat_axis is needed by all_to_all\n  write: concat_axis: 0"),
        ({"op": "ppermute"},
         "CMP037 collective: perm is needed by ppermute\n  write: perm: [[0, 1], [1, 0]]"),
        ({"op": "ppermute", "perm": ((0, 1), (2, 1))},
         "CMP037 collective: perm has the destination 1 twice"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(given, text):
    with pytest.raises(ParameterError) as caught:
        Collective(axis_name="i", **given)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("given", "x", "text"),
    [
        ({"op": "pmean"}, np.arange(N),
         ("CMP303 collective: pmean of the output, which is int32, would not be int32 any"
         " more\n  write: outputs: ...     # floating ones; the output by name in a layer of its"
         " own: psum, pmax or pmin")),
        ({"op": "all_gather", "axis": 2}, np.ones((N, 2), np.float32),
         "CMP308 collective: all_gather: the output is float32[2], which has no axis 2"),
        ({"op": "psum_scatter"}, np.ones((N, 8), np.float32),
         ("CMP308 collective: psum_scatter: the output is float32[8], whose scatter_dimension must"
         " have a size that is the axis's 4\n  write: tiled: true     # several rows each")),
        ({"op": "all_to_all", "split_axis": 0, "concat_axis": 0, "tiled": True},
         np.ones((N, 3), np.float32),
         ("CMP308 collective: all_to_all: the output is float32[3], whose split_axis must have a"
         " size that divides by the axis of 4")),
        ({"op": "ppermute", "perm": ((0, 4),)}, np.ones(N, np.float32),
         "CMP308 collective: ppermute: perm names 4, but the axis has 4 (0 to 3)"),
        ({"op": "psum", "outputs": 2}, np.ones(N, np.float32),
         "CMP207 collective: there is no output '2'; what stands there is one array float32[]"),
    ],
)  # fmt: skip
def test_outputs_that_do_not_fit_are_refused_when_traced(given, x, text):
    with pytest.raises(ComposeError) as caught:
        compose(same, Collective(axis_name="i", **given), ROWS)(x)
    assert str(caught.value) == text


def test_integers_are_summed_only_where_they_are_named():
    layer = Collective(op="psum", axis_name="i")
    with pytest.raises(ComposeError) as caught:
        compose(outputs, layer, ROWS, returns=NAMES)(X)
    assert str(caught.value) == (
        "CMP303 collective: psum of output '1.n', which is int32; only floating numbers are summed"
        " unasked\n"
        "  write: outputs: ...     # floating ones; 1.n by name in a layer of its own: psum, pmax"
        " or pmin"
    )


def test_an_axis_that_nothing_binds_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(same, Collective(op="psum", axis_name="i"), Jit())(X)
    assert str(caught.value) == (
        "CMP112 collective over axis 'i', but no layer outside binds that axis\n"
        "  bound outside: none\n"
        "  write: vmap: {axis_name: i}     # further out"
    )


def test_an_unknown_output_is_refused_when_composed():
    with pytest.raises(ComposeError) as caught:
        compose(outputs, Collective(op="psum", axis_name="i", outputs="los"), returns=NAMES)
    assert str(caught.value) == (
        "CMP207 collective: 'los' is no output\n  outputs: loss, stats, n, mean\n  write: loss"
    )
