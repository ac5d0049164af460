"""How arguments arrive: by keyword only, left out, in `*args`, by position only, without names."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Grad, Jit, Partial, Pmap, ShardMap, Vmap, compose

X = np.arange(8, dtype=np.float32)
ONE, TWO, THREE = np.float32(1), np.float32(2), np.float32(3)
LINE = {"data": 4}
SPLIT = {"split": True, "merge": True}


def refusal(*args, **kwargs):
    with pytest.raises(ComposeError) as caught:
        compose(*args, **kwargs)
    return str(caught.value)


# Keyword-only arguments


def scaled(x, *, w, s=ONE):
    return x * w * s


@pytest.mark.parametrize(
    "layers",
    [
        (Vmap(in_axes={"x": 0, "w": 0}),),
        (Vmap(in_axes={"x": 0, "w": 0}), Jit()),
        (Vmap(),),
        (Jit(),),
        (Pmap(in_axes={"x": 0, "w": 0}),),
        (Pmap(in_axes={"x": 0, "w": 0}, **SPLIT),),
        (Pmap(in_axes={"x": 0, "w": 0}, **SPLIT), Jit()),
        (ShardMap(in_specs={"x": ["data"], "w": ["data"]}, out_specs=["data"]),),
    ],
    ids=["vmap", "vmap_jit", "vmap_all", "jit", "pmap", "split", "split_jit", "shard_map"],
)
def test_a_keyword_only_argument_is_mapped_where_its_name_says(layers):
    x = X[:4]
    got = jax.block_until_ready(compose(scaled, *layers, mesh=LINE)(x, w=x + 1))
    np.testing.assert_array_equal(got, x * (x + 1))


@pytest.mark.parametrize(
    "layers",
    [
        (Vmap(in_axes={"x": 0}),),
        (Vmap(in_axes={"x": 0}), Jit()),
        (Pmap(in_axes={"x": 0}),),
        (Pmap(in_axes={"x": 0}, **SPLIT),),
        (Pmap(in_axes={"x": 0}, **SPLIT), Jit()),
        (ShardMap(in_specs={"x": ["data"]}, out_specs=["data"]),),
    ],
    ids=["vmap", "vmap_jit", "pmap", "split", "split_jit", "shard_map"],
)
def test_a_keyword_only_argument_that_is_not_listed_is_not_mapped(layers):
    x = X[:4]
    got = jax.block_until_ready(compose(scaled, *layers, mesh=LINE)(x, w=TWO, s=THREE))
    np.testing.assert_array_equal(got, 6 * x)


def test_grad_passes_a_keyword_only_argument_through_and_does_not_differentiate_it():
    def f(x, *, w):
        return jnp.sum(x * w)

    np.testing.assert_array_equal(compose(f, Grad())(X, w=X + 1), X + 1)
    assert refusal(f, Grad("w")) == (
        "CMP203 grad: argnums names 'w', which can be passed by keyword only\n"
        "  arguments by position: x\n"
        "  write: remove the `*` before w in f"
    )


def test_pmap_refuses_to_donate_a_keyword_only_argument_that_jax_would_keep():
    for split in (False, True):
        assert refusal(scaled, Pmap(in_axes={"x": 0}, split=split, donate_argnums="w")) == (
            "CMP203 pmap: donate_argnums names 'w', which can be passed by keyword only\n"
            "  arguments by position: x\n"
            "  write: remove the `*` before w in scaled"
        )


@pytest.mark.parametrize(
    "layers",
    [
        (),
        (Jit(),),
        (Vmap(), Jit()),
        (Pmap(),),
        (Pmap(in_axes={"x": 0}, **SPLIT),),
        (ShardMap(in_specs={"x": ["data"]}, out_specs=["data"]),),
    ],
    ids=["none", "jit", "vmap_jit", "pmap", "split", "shard_map"],
)
def test_a_keyword_only_argument_can_be_static(layers):
    def power(x, *, n):
        return x**n if n else x

    made = compose(power, *layers, static="n", mesh=LINE)
    np.testing.assert_array_equal(jax.block_until_ready(made(X[:4], n=2)), X[:4] ** 2)
    np.testing.assert_array_equal(jax.block_until_ready(made(X[:4], n=0)), X[:4])


# Defaults, gaps, *args, positional-only


def affine(x, a=ONE, b=TWO):
    return a * x + 10 * b


@pytest.mark.parametrize(
    "layers",
    [
        (Vmap(in_axes=(0, None, 0)),),
        (Vmap(in_axes={"x": 0, "b": 0}), Jit()),
        (Pmap(in_axes=(0, None, 0)),),
        (Pmap(in_axes=(0, None, 0), **SPLIT),),
        (ShardMap(in_specs=[["data"], [], ["data"]], out_specs=["data"]),),
    ],
    ids=["vmap", "vmap_jit", "pmap", "split", "shard_map"],
)
def test_omitted_defaults_leave_the_axes_of_the_others_in_place(layers):
    x = X[:4]
    made = compose(affine, *layers, mesh=LINE)
    np.testing.assert_array_equal(jax.block_until_ready(made(x)), x + 20)
    np.testing.assert_array_equal(jax.block_until_ready(made(x, THREE)), 3 * x + 20)
    np.testing.assert_array_equal(jax.block_until_ready(made(x, b=x)), 11 * x)
    np.testing.assert_array_equal(jax.block_until_ready(made(b=x, a=THREE, x=x)), 13 * x)


def test_grad_reaches_an_argument_behind_an_omitted_default():
    def f(x, a=1.0, b=2.0):
        return jnp.sum(x * a + 3 * x * b)

    for made in (compose(f, Grad("b")), compose(f, Grad(2), Jit())):
        assert float(made(X, b=THREE)) == 84
        assert float(made(X)) == 84
        assert float(made(X, TWO)) == 84
    assert float(compose(f, Grad("a"))(X, b=THREE)) == 28


def test_grad_of_an_argument_that_the_call_does_not_give_is_refused():
    def f(x, y, *more):
        return jnp.sum(x * y)

    with pytest.raises(ComposeError) as caught:
        compose(f, Grad("y"))(X)
    assert str(caught.value) == (
        "CMP204 grad: argnums names 'y', but the call gives 1 argument by position\n"
        "  write: y in the call"
    )
    with pytest.raises(ComposeError) as caught:
        compose(f, Grad(5), Jit())(X, X, X)
    assert str(caught.value) == (
        "CMP204 grad: argnums names argument 5, but the call gives 3 arguments by position\n"
        "  write: argument 5 in the call"
    )


def add(*xs):
    return functools.reduce(lambda a, b: a + b, xs)


@pytest.mark.parametrize(
    "layers",
    [
        (Vmap(in_axes=(0, None, 0)),),
        (Vmap(in_axes=(0, None, 0)), Jit()),
        (Pmap(in_axes=(0, None, 0)),),
        (Pmap(in_axes=(0, None, 0), **SPLIT),),
        (ShardMap(in_specs=[["data"], [], ["data"]], out_specs=["data"]),),
    ],
    ids=["vmap", "vmap_jit", "pmap", "split", "shard_map"],
)
def test_axes_by_position_reach_into_star_args(layers):
    x = X[:4]
    got = jax.block_until_ready(compose(add, *layers, mesh=LINE)(x, TWO, 10 * x))
    np.testing.assert_array_equal(got, 11 * x + 2)


def test_star_args_can_be_differentiated_by_position_and_not_by_name():
    def f(x, *rest):
        return jnp.sum(x * rest[0] * rest[1])

    np.testing.assert_array_equal(compose(f, Grad(2), Jit())(X, TWO, X), 2 * X)
    assert refusal(f, Grad("rest")) == (
        "CMP201 grad: argnums names 'rest', but f has no such argument\n  arguments: x"
    )


def test_builtins_without_a_signature_work_by_position():
    assert compose(max, Jit(static_argnums=(0, 1)))(1, 2) == 2
    assert compose(max, Partial(args=(4,)))(3) == 4


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (Vmap(in_axes={"x": 0}), "vmap: in_axes"),
        (Pmap(in_axes={"x": 0}), "pmap: in_axes"),
        (Grad("x"), "grad: argnums"),
        (Jit(static_argnames="x"), "jit: static_argnames"),
        (Jit(donate_argnums="x"), "jit: donate_argnums"),
    ],
    ids=["vmap", "pmap", "grad", "static", "donate"],
)
def test_builtins_without_a_signature_are_refused_by_name(layer, text):
    assert refusal(max, layer) == (
        f"CMP203 {text} names 'x', but max does not tell the names of its arguments\n"
        f"  write: {text.partition(': ')[2]} by position"
    )


def test_a_static_name_of_a_builtin_without_a_signature_is_refused():
    assert refusal(max, Jit(), static="x") == (
        "CMP203 static names 'x', but max does not tell the names of its arguments\n"
        "  write: a function of your own around it, with named arguments"
    )


def only(x, y, /, z=ONE):
    return x * y + z


@pytest.mark.parametrize(
    "layers",
    [
        (Vmap(in_axes={"x": 0}),),
        (Pmap(in_axes={"x": 0}),),
        (Pmap(in_axes={"x": 0}, **SPLIT),),
        (ShardMap(in_specs={"x": ["data"]}, out_specs=["data"]),),
        (Jit(static_argnames="y"),),
        (Jit(donate_argnames="x"),),
        (Jit(),),
    ],
    ids=["vmap", "pmap", "split", "shard_map", "jit_static", "jit_donate", "jit"],
)
def test_layers_name_positional_only_arguments(layers):
    x = X[:4]
    made = compose(only, *layers, mesh=LINE)
    np.testing.assert_array_equal(jax.block_until_ready(made(x, TWO, z=THREE)), 2 * x + 3)
    np.testing.assert_array_equal(jax.block_until_ready(made(x, TWO)), 2 * x + 1)


@pytest.mark.parametrize("layers", [(), (Jit(),), (Vmap(), Jit()), (Pmap(),)])
def test_positional_only_arguments_can_be_static(layers):
    made = compose(only, *layers, static="y")
    np.testing.assert_array_equal(jax.block_until_ready(made(X[:4], TWO, X[:4])), 3 * X[:4])


def test_a_positional_only_argument_by_keyword_is_refused_as_python_does():
    with pytest.raises(TypeError, match="positional-only arguments passed as keyword"):
        compose(only, Vmap(in_axes={"x": 0}))(X, y=TWO)
