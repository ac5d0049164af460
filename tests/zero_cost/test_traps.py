"""Traps that lie hidden in wrapping and caching: each has bitten somebody."""

import functools
import gc
import math
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from composer import ComposeError, Grad, Jit, Partial, Pmap, Vmap, compose
from composer.plugin import ParameterError

X = np.arange(8, dtype=np.float32)
TWO, THREE = np.float32(2), np.float32(3)
SPLIT = {"split": True, "merge": True}


def double(x):
    return 2 * x


def total(x):
    return jnp.sum(x)


def times(x, n):
    return x * jnp.asarray(n, x.dtype)


def refusal(*args, **kwargs):
    with pytest.raises(ComposeError) as caught:
        compose(*args, **kwargs)
    return str(caught.value)


# Wrappers and their __dict__


def test_nested_wrappers_keep_every_layer():
    @functools.wraps(double)
    def plus_one(x):
        return double(x) + 1

    @functools.wraps(plus_one)
    def times_ten(x):
        return plus_one(x) * 10

    for layers in ((), (Jit(),), (Vmap(), Jit()), (Jit(), Vmap(), Jit())):
        np.testing.assert_array_equal(compose(times_ten, *layers)(X), (2 * X + 1) * 10)


def test_composing_a_composed_function_keeps_both_stacks():
    inner = compose(total, Grad())
    outer = compose(inner, Vmap(), Jit())
    np.testing.assert_array_equal(outer(np.ones((3, 2), np.float32)), np.ones((3, 2)))
    again = compose(compose(double, Jit()), Partial(args=(X,)), Jit())
    np.testing.assert_array_equal(again(), 2 * X)


def test_attributes_of_the_function_stay_its_own():
    def f(x):
        return x * f.factor

    f.factor, f.__wrapped__ = 3.0, double
    made = compose(f, Vmap())
    np.testing.assert_array_equal(made(X), 3 * X)
    assert not hasattr(made, "factor")
    assert f.factor == 3.0


def test_a_cache_that_functools_wraps_copied_does_not_serve_the_wrong_function():
    def first(x):
        return x * 2

    made = compose(first, Jit())

    @functools.wraps(first)
    def second(x):
        return x + 100

    assert set(vars(first)) < set(vars(second))
    np.testing.assert_array_equal(compose(second, Jit())(X), X + 100)
    np.testing.assert_array_equal(made(X), 2 * X)
    assert compose(second, Jit()) is compose(second, Jit())
    assert compose(first, Jit()) is made


# The cache


class Scaler:
    def __init__(self, c):
        self.c = c

    def scaled(self, x):
        return self.c * x

    __call__ = scaled


def test_a_changed_object_is_not_stale_after_composing_again():
    m = Scaler(np.float32(1))
    np.testing.assert_array_equal(compose(m.scaled, Jit())(X), X)
    np.testing.assert_array_equal(compose(m, Jit())(X), X)
    m.c = np.float32(5)
    np.testing.assert_array_equal(compose(m.scaled, Jit())(X), 5 * X)
    np.testing.assert_array_equal(compose(m, Jit())(X), 5 * X)


def test_equal_stacks_around_one_function_are_one_callable():
    assert compose(total, Grad(), Jit()) is compose(total, Grad(), Jit())
    assert compose(total, Grad(), Jit()) is not compose(total, Jit())
    axes = {"x": [0, {"y": None}]}
    assert compose(total, Vmap(in_axes=axes)) is compose(total, Vmap(in_axes=axes))
    assert compose(times, Jit(), static="n") is not compose(times, Jit())
    assert compose(times, Jit(), mesh={"a": 4}) is not compose(times, Jit(), mesh={"a": 2})
    assert compose(times, Jit(), mesh={"a": 4}) is compose(times, Jit(), mesh={"a": 4})


def test_zero_false_and_a_float_zero_in_a_layer_are_different_stacks():
    made = [
        compose(times, Partial(keywords={"n": value}), Jit(), static="n")
        for value in (0, False, 0.0, -0.0, 1, True)
    ]
    assert len({id(one) for one in made}) == 6
    assert compose(times, Partial(keywords={"n": 0}), Jit(), static="n") is made[0]
    seen = []

    def kinds(x, n):
        seen.append(type(n))
        return x

    for value in (0, False, 0.0):
        compose(kinds, Partial(keywords={"n": value}), Jit(), static="n")(X)
    assert seen == [int, bool, float]


def test_the_cache_dies_with_the_function():
    def build():
        def local(x):
            return 2 * x

        made = compose(local, Jit())
        jax.block_until_ready(made(X))
        return weakref.ref(local), weakref.ref(made)

    function, made = build()
    gc.collect()
    assert function() is None
    assert made() is None


def test_layers_that_hold_arrays_are_not_cached():
    factor = np.ones(8, np.float32)
    layer = Partial(keywords={"n": factor})
    first = compose(times, layer, Jit())
    np.testing.assert_array_equal(first(X), X)
    factor[:] = 7
    second = compose(times, layer, Jit())
    assert second is not first
    np.testing.assert_array_equal(second(X), 7 * X)


def test_an_axis_of_false_is_refused_though_it_equals_zero():
    for layer in (Vmap, Pmap):
        with pytest.raises(ParameterError) as caught:
            layer(in_axes={"x": False})
        assert str(caught.value) == (
            f"CMP037 {layer.word}: in_axes holds false; an axis is a whole number or null"
        )
        with pytest.raises(ParameterError) as caught:
            layer(in_axes=False)
        assert str(caught.value) == (
            f"CMP037 {layer.word}: in_axes does not fit: expected `int | mapping | list | null`,"
            " got `bool`"
        )


def test_changing_a_list_afterwards_does_not_change_the_layer():
    axes, by_name, names = [0, None], {"x": [0, None]}, ["n"]
    layers = Vmap(in_axes=axes), Vmap(in_axes=by_name), Jit(static_argnames=names)
    keys = [layer.stack_key() for layer in layers]
    axes[0], by_name["y"] = None, 3
    by_name["x"].append(1)
    names.append("x")
    assert layers == (
        Vmap(in_axes=(0, None)),
        Vmap(in_axes={"x": (0, None)}),
        Jit(static_argnames=("n",)),
    )
    assert [layer.stack_key() for layer in layers] == keys


# Other callables


@jax.tree_util.register_pytree_node_class
class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def tree_flatten(self):
        return (self.a, self.b), None

    @classmethod
    def tree_unflatten(cls, aux, leaves):
        return cls(*leaves)


def test_a_class_is_a_callable_with_named_arguments():
    made = compose(Pair, Vmap(in_axes={"b": 0}), Jit())(TWO, X)
    assert isinstance(made, Pair)
    np.testing.assert_array_equal(made.a, np.full(8, 2))
    np.testing.assert_array_equal(made.b, X)


def test_an_instance_is_a_callable_with_named_arguments():
    np.testing.assert_array_equal(compose(Scaler(THREE), Vmap(in_axes={"x": 0}))(X), 3 * X)


def test_a_class_that_jax_does_not_know_can_be_composed_without_a_transform():
    assert compose(Scaler)(c=THREE).c == 3


@pytest.mark.parametrize(("thing", "kind"), [(math, "module"), (3, "int"), (X, "ndarray")])
def test_what_cannot_be_called_is_refused(thing, kind):
    assert refusal(thing, Jit()) == (
        f"CMP204 compose takes a function first, not a {kind}\n"
        "  write: compose(function, Grad(), Jit())"
    )


# Donation


def step(state, x):
    return state + x


def sharded(value):
    mesh = jax.make_mesh((4,), ("devices",), axis_types=(AxisType.Auto,))
    return jax.device_put(value, NamedSharding(mesh, PartitionSpec("devices")))


@pytest.mark.parametrize(
    "layers",
    [
        (Jit(donate_argnums="state"),),
        (Jit(donate_argnames="state"),),
        (Jit(donate_argnums=0),),
        (Vmap(), Jit(donate_argnums="state")),
        (Pmap(**SPLIT, donate_argnums="state"),),
        (Pmap(**SPLIT), Jit(donate_argnums="state")),
    ],
    ids=["argnums", "argnames", "number", "vmap", "split", "split_jit"],
)
def test_a_donated_argument_is_deleted_and_the_others_are_not(layers):
    state, x = sharded(X), sharded(2 * X)
    got = jax.block_until_ready(compose(step, *layers)(state, x))
    np.testing.assert_array_equal(got, 3 * X)
    assert state.is_deleted()
    assert not x.is_deleted()


def test_a_plain_pmap_donates_by_name():
    state = jax.block_until_ready(compose(double, Pmap())(X[:4]))
    got = jax.block_until_ready(compose(step, Pmap(donate_argnums="state"))(state, X[:4]))
    np.testing.assert_array_equal(got, 3 * X[:4])
    assert state.is_deleted()


def test_a_keyword_only_argument_is_donated_by_name():
    state = jnp.arange(8.0)
    made = compose(lambda x, *, state: state + x, Jit(donate_argnames="state"))
    np.testing.assert_array_equal(jax.block_until_ready(made(X, state=state)), 2 * X)
    assert state.is_deleted()


def test_split_has_no_static_arguments_of_its_own():
    with pytest.raises(ParameterError) as caught:
        Pmap(split=True, static_broadcasted_argnums=1)
    assert str(caught.value) == (
        "CMP307 pmap: static_broadcasted_argnums is for pmap without split\n"
        "  write: static: [NAME]     # at the top level of the pipeline, or compose(static=...)"
    )
