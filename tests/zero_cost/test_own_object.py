"""What compose hands out: JAX's own object, JAX's own names, and no trace too many."""

import functools
import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import Grad, Jit, Partial, Pmap, ShardMap, Vmap, compose

X = np.arange(8, dtype=np.float32)


def dot(x, w, *, scale=1.0):
    return jnp.sum(x * w) * scale


def test_with_jit_outermost_the_result_has_the_type_of_jax_s_own_jit():
    own = type(jax.jit(dot))
    for layers in ([Jit()], [Grad(), Jit()], [Grad(), Vmap(), Jit()], [Jit(), Jit()]):
        assert type(compose(dot, *layers)) is own
    assert type(compose(dot, Jit(), static="scale")) is own
    split = Pmap(in_axes={"x": 0, "w": 0}, split=True)
    assert type(compose(dot, split, Jit())) is own


def test_split_and_shard_map_outermost_are_jax_s_own_jit_too():
    own = type(jax.jit(dot))
    assert type(compose(dot, Pmap(in_axes={"x": 0}, split=True))) is own
    sharded = ShardMap(in_specs={"x": ["data"]}, out_specs=["data"])
    assert type(compose(lambda x, w: x * w, sharded, mesh={"data": 4})) is own


def test_lower_trace_eval_shape_and_clear_cache_work():
    traced = []

    def f(x, w):
        traced.append(1)
        return jnp.sum(x * w)

    made = compose(f, Grad(), Jit())
    assert made.eval_shape(X, X).shape == (8,)
    np.testing.assert_array_equal(made.lower(X, 2 * X).compile()(X, 2 * X), 2 * X)
    jaxpr = str(made.trace(X, X).jaxpr)
    assert "mul" in jaxpr
    made(X, X)
    before = len(traced)
    made(X, X)
    assert len(traced) == before
    made.clear_cache()
    made(X, X)
    assert len(traced) == before + 1


def test_a_call_by_keyword_gives_what_the_call_by_position_gives():
    made = compose(dot, Grad("w"), Jit())
    wanted = np.array([0, 1, 2, 3, 4, 5, 6, 7], np.float32)
    np.testing.assert_array_equal(made(X, 3 * X), wanted)
    np.testing.assert_array_equal(made(x=X, w=3 * X), wanted)
    np.testing.assert_array_equal(made(w=3 * X, x=X), wanted)
    np.testing.assert_array_equal(made(X, w=3 * X, scale=np.float32(10)), 10 * wanted)


@pytest.mark.parametrize("layers", [(), (Jit(),), (Vmap(), Jit()), (Grad(),), (Jit(), Grad())])
def test_inspect_sees_the_function_s_own_signature(layers):
    assert inspect.signature(compose(dot, *layers)) == inspect.signature(dot)


def test_a_layer_that_binds_an_argument_takes_it_out_of_the_signature():
    made = compose(dot, Partial(keywords={"w": 2.0}), Jit())
    assert str(inspect.signature(made)) == "(x, *, scale=1.0)"


def module_name(jitted, *args):
    return re.search(r"module @(\S+)", jitted.lower(*args).as_text())[1]


class Affine:
    """A callable instance: it has no `__name__`."""

    def __init__(self, slope):
        self.slope = slope

    def __call__(self, x):
        return self.slope * x

    def method(self, x):
        return self.slope + x


def double(x, by=2):
    return x * by


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (double, "jit_double"),
        (lambda x: x + 1, "jit__lambda"),
        (Affine(2), "jit__unnamed_function"),
        (Affine(2).method, "jit_method"),
        (functools.partial(double, by=3), "jit_double"),
        (functools.partial(Affine(2)), "jit__unnamed_function"),
    ],
    ids=["function", "lambda", "instance", "method", "partial", "partial_of_instance"],
)
def test_the_program_has_the_name_that_jax_gives_it(function, name):
    by_hand = jax.jit(function)
    made = compose(function, Jit())
    assert module_name(made, X).startswith(name)
    assert module_name(made, X) == module_name(by_hand, X)
    assert made.lower(X).as_text() == by_hand.lower(X).as_text()
    assert str(jax.make_jaxpr(made)(X)) == str(jax.make_jaxpr(by_hand)(X))
    deep, deep_by_hand = (
        compose(function, Jit(), Vmap(), Jit()),
        jax.jit(jax.vmap(jax.jit(function))),
    )
    assert deep.lower(X).as_text() == deep_by_hand.lower(X).as_text()
    assert str(jax.make_jaxpr(deep)(X)) == str(jax.make_jaxpr(deep_by_hand)(X))


SHARDED = ShardMap(in_specs={"x": ["data"]}, out_specs=["data"])
SPLIT = Pmap(in_axes={"x": 0}, split=True, merge=True)
COMPILED = {
    "jit": (Jit(),),
    "jit_below_vmap": (Jit(), Vmap()),
    "jit_outside_vmap": (Vmap(), Jit()),
    "split": (SPLIT,),
    "split_below_jit": (SPLIT, Jit()),
    "shard_map": (SHARDED,),
    "shard_map_below_jit": (SHARDED, Jit()),
}


@pytest.fixture
def traced():
    """What the function was traced with, one entry a trace."""
    return []


@pytest.fixture
def times(traced):
    def times(x, n):
        traced.append(n)
        return x * jnp.asarray(n, x.dtype)

    return times


@pytest.mark.parametrize("layers", COMPILED.values(), ids=COMPILED)
def test_three_calls_with_one_static_value_trace_once(layers, times, traced):
    made = compose(times, *layers, static="n", mesh={"data": 4})
    for _ in range(3):
        np.testing.assert_array_equal(jax.block_until_ready(made(X, 3)), 3 * X)
    assert traced == [3]
    np.testing.assert_array_equal(jax.block_until_ready(made(X, 2)), 2 * X)
    np.testing.assert_array_equal(jax.block_until_ready(made(X, 3)), 3 * X)
    assert traced == [3, 2]


@pytest.mark.parametrize("layers", COMPILED.values(), ids=COMPILED)
def test_zero_false_and_a_float_zero_are_three_static_values(layers, times, traced):
    made = compose(times, *layers, static="n", mesh={"data": 4})
    for value in (0, False, 0.0, 0, False, 0.0):
        jax.block_until_ready(made(X, value))
    assert [(type(value), value) for value in traced] == [(int, 0), (bool, False), (float, 0.0)]


@pytest.mark.parametrize("layers", COMPILED.values(), ids=COMPILED)
def test_repeated_calls_with_new_values_do_not_trace_again(layers, times, traced):
    if Vmap() in layers:
        layers = tuple(Vmap(in_axes=(0, None)) if item == Vmap() else item for item in layers)
    made = compose(times, *layers, mesh={"data": 4})
    for number in (1, 2, 3, 4):
        got = jax.block_until_ready(made(X + number, np.float32(number)))
        np.testing.assert_array_equal(got, (X + number) * number)
    assert len(traced) == 1


def test_a_plain_pmap_traces_once_for_each_static_value(times, traced):
    made = compose(times, Pmap(), static="n")
    for value in (3, 3, 0, False, 0.0, 0, False, 3):
        jax.block_until_ready(made(X[:4], value))
    assert [(type(v), v) for v in traced] == [(int, 3), (int, 0), (bool, False), (float, 0.0)]


def test_a_plain_pmap_by_position_and_by_keyword_does_not_trace_again_on_repeats(times, traced):
    made = compose(times, Pmap(in_axes={"x": 0}))
    for number in (1, 2, 3):
        value = np.float32(number)
        np.testing.assert_array_equal(jax.block_until_ready(made(X[:4], value)), X[:4] * number)
        np.testing.assert_array_equal(jax.block_until_ready(made(n=value, x=X[:4])), X[:4] * number)
    assert len(traced) == 1


@pytest.mark.parametrize(
    ("layer", "mesh"),
    [
        (Pmap(in_axes={"x": 0}), None),
        (Pmap(in_axes={"x": 0}, split=True), None),
        (ShardMap(in_specs={"x": ["data"]}, out_specs=["data"]), {"data": 4}),
    ],
    ids=["pmap", "split", "shard_map"],
)
def test_static_arguments_do_not_cost_lower(layer, mesh):
    def power(x, n):
        return x**n

    made = compose(power, layer, static="n", mesh=mesh)
    plain = compose(lambda x: x**3, layer, mesh=mesh)
    wanted = plain.lower(X[:4]).as_text().split("\n", 1)[1]
    for lowered in (made.lower(X[:4], 3), made.lower(n=3, x=X[:4])):
        assert lowered.as_text().split("\n", 1)[1] == wanted
