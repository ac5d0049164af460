"""cast: promises, dtypes seen inside, values by hand, and every refusal."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import Cast, ComposeError, Jit, StopGradient, ValueAndGrad, Vmap, compose
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

X = np.array([1.0, 2.5, -3.0], np.float32)
EXACT = np.float32(1 / 3)


def affine(x, scale=2.0, *, shift=0.0):
    return {"y": x * scale + shift, "n": jnp.asarray(x.shape[0], jnp.int32)}


def seen(*args, **kwargs):
    """Names of the dtypes that arrive, as text in the tree's structure."""
    return [str(jnp.result_type(leaf)) for leaf in jax.tree.leaves((args, kwargs))]


def dtypes_inside(layer, fn_args, *, static=(), **kwargs):
    found = []

    def look(params, x, n=3, *, flag=True):
        found.append({"params": seen(params), "x": seen(x), "n": seen(n), "flag": seen(flag)})
        return jnp.zeros(())

    compose(look, layer, static=static)(*fn_args, **kwargs)
    return found[0]


def test_cast_keeps_every_promise():
    params = {"w": X, "steps": np.int32(3)}
    check_transform(
        Cast,
        [
            Case(Cast(arguments="bf16"), lambda x: x + 1, (X,), rtol=1e-2),
            Case(Cast(arguments="bf16", outputs="f32"), lambda x: jnp.sum(x), (X,), rtol=1e-2),
            Case(Cast(arguments={"x": "float16"}), affine, (X,)),
            Case(Cast(arguments={"scale": "f16"}), lambda x, scale=2.0: x * 3, (X,)),
            Case(Cast(arguments={"x": "f16"}), lambda x, n: x * n, (X,), {"n": 3}, static=("n",)),
            Case(
                Cast(arguments={"shift": "f16", "x": "f16"}),
                affine,
                (X,),
                {"shift": np.float32(1.5), "scale": np.float16(2)},
            ),
            Case(Cast(outputs={"loss": "f16", "aux": None}), lambda x: (x.sum(), x), (X,),
                 returns=["loss", "aux"]),
            Case(Cast(outputs=("f16", None)), lambda x: (x.sum(), x), (X,)),
            Case(Cast(outputs={"_": "f16", "n": "i8"}), affine, (X,)),
            Case(
                Cast(arguments={"params": {"_": "f16", "steps": "i8"}}),
                lambda params: params,
                (params,),
            ),
            Case(Cast(outputs={"1.w": "f16"}), lambda x: (x, {"w": x, "b": x}), (X,)),
        ],
    )  # fmt: skip


def test_floating_leaves_change_and_integers_bools_and_keys_stay():
    key = jax.random.key(0)
    inside = dtypes_inside(
        Cast(arguments="bf16"), ({"w": X, "key": key, "raw": np.uint32(1)}, X), n=7, flag=True
    )
    assert inside == {
        "params": ["key<fry>", "uint32", "bfloat16"],
        "x": ["bfloat16"],
        "n": ["int32"],
        "flag": ["bool"],
    }


def test_named_arguments_change_and_the_others_stay():
    inside = dtypes_inside(Cast(arguments={"params": "f16"}), ({"w": X, "b": X}, X))
    assert inside["params"] == ["float16", "float16"]
    assert inside["x"] == ["float32"]


def test_the_rest_of_the_arguments_is_named_by_an_underscore():
    inside = dtypes_inside(Cast(arguments={"_": "f16", "x": None}), (X, X))
    assert (inside["params"], inside["x"]) == (["float16"], ["float32"])


def test_a_nearer_entry_wins_over_a_wider_one():
    layer = Cast(arguments={"params": {"_": "bf16", "norm": {"scale": "f32"}}})
    params = {"w": X, "norm": {"scale": X, "bias": X}}
    inside = dtypes_inside(layer, (params, X))
    assert inside["params"] == ["bfloat16", "float32", "bfloat16"]


def test_keyword_calls_are_cast_by_name_too():
    inside = dtypes_inside(Cast(arguments={"x": "f16"}), (), x=X, params=X)
    assert (inside["params"], inside["x"]) == (["float32"], ["float16"])


def test_an_argument_left_to_its_default_is_not_cast_so_a_vmap_inside_has_nothing_to_map():
    layers = Vmap(), Cast(arguments={"scale": "f16", "x": "f16"})
    got = compose(lambda x, scale=2.0: x * scale, *layers)(X)
    np.testing.assert_array_equal(got, np.array([2.0, 5.0, -6.0], np.float16))
    assert got.dtype == jnp.float16


def test_an_integer_dtype_casts_the_integer_that_is_named():
    def dtypes(n):
        return n

    assert compose(dtypes, Cast(arguments={"n": "i8"}))(np.int32(3)).dtype == jnp.int8
    assert compose(dtypes, Cast(arguments={"n": "u8"}))(np.array([True, False])).dtype == jnp.uint8


def test_a_third_in_bfloat16_is_the_nearest_of_its_8_bit_mantissa():
    got = compose(lambda x: x, Cast(arguments="bf16"))(EXACT)
    # 1/3 = 1.0101 0101... * 2**-2; eight significant bits, rounded: 171 / 512.
    assert float(got) == 171 / 512


def test_gradients_taken_outside_a_cast_have_the_dtype_of_the_parameters():
    def loss(params, x):
        return jnp.sum((params * x) ** 2)

    layers = Cast(arguments="bf16", outputs="f32"), ValueAndGrad(), Jit()
    value, grads = compose(loss, *layers)(X, X)
    assert (value.dtype, grads.dtype) == (jnp.float32, jnp.float32)
    np.testing.assert_allclose(value, np.sum(X**4), rtol=1e-2)
    np.testing.assert_allclose(grads, 2 * X**3, rtol=1e-2)


def test_the_program_is_the_one_written_by_hand():
    def loss(params, x):
        return jnp.sum(params * x)

    def by_hand(params, x):
        out = loss(params.astype(jnp.bfloat16), x)
        return out.astype(jnp.float32)

    by_hand.__name__ = "loss"
    bf16 = X.astype(jnp.bfloat16)
    made = compose(loss, Cast(arguments={"params": "bf16"}, outputs="f32"), Jit())
    assert made.lower(X, bf16).as_text() == jax.jit(by_hand).lower(X, bf16).as_text()


def test_a_function_that_hides_its_arguments_is_cast_as_a_whole():
    got = compose(max, Cast(arguments="f16"))(np.float32(1), np.float32(2))
    assert (float(got), got.dtype) == (2.0, jnp.float16)


def test_cast_then_stop_gradient_reads_innermost_first():
    grads = jax.grad(compose(lambda x: x * x, Cast(arguments="f32"), StopGradient(arguments="x")))
    assert float(grads(3.0)) == 0.0


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, ("CMP037 cast: arguments and outputs: at least one of them says what to cast\n"
             "  write: cast: {arguments: {params: bf16}, outputs: f32}")),
        ({"arguments": "float"},
         ("CMP037 cast: arguments holds 'float', which is no dtype: bool, i8, i16, i32, i64, u8,"
         " u16, u32, u64, bf16, f16, f32, f64, c64, c128, key\n  write: arguments: f32")),
        ({"outputs": {"loss": "bool"}},
         "CMP037 cast: outputs holds 'bool', to which nothing is cast"),
        ({"arguments": "i32"},
         ("CMP037 cast: arguments holds 'i32' for more than one leaf; integers are cast where they"
         " are named\n  write: arguments: {NAME: i32}")),
    ],
)  # fmt: skip
def test_wrong_dtypes_are_refused(given, text):
    with pytest.raises(ParameterError) as caught:
        Cast(**given)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("layer", "args", "text"),
    [
        (Cast(arguments={"x": "f16"}), (np.int32(1),),
         ("CMP219 cast: argument 'x' is int32, which is not cast to float16\n"
         "  write: leave it out: integers stay as they are; or convert it in the function")),
        (Cast(arguments={"x": "i32"}), (X,),
         ("CMP219 cast: argument 'x' is float32, which is not cast to int32\n"
         "  write: a dtype of its own kind")),
        (Cast(arguments={"x": "i32"}), ({"a": np.int8(1)},),
         ("CMP219 cast: argument 'x.a' is int8, which is not cast to int32\n"
         "  write: the entry of that leaf itself, by its name")),
        (Cast(arguments={"x": {"b": "f16"}}), ({"a": X},),
         "CMP201 cast: argument 'x' has no part 'b'; what stands there is a dict\n  parts: a"),
        (Cast(outputs={"b": "f16"}), ({"a": X},),
         "CMP207 cast: there is no output 'b'; what stands there is a dict\n  parts: a"),
        (Cast(outputs="f64"), (X,),
         ("CMP219 cast: the output is float32, which is not cast to float64\n"
         "  write: run: {enable_x64: true}     # 64-bit numbers")),
    ],
)  # fmt: skip
def test_casts_that_do_not_fit_are_refused_when_traced(layer, args, text):
    with pytest.raises(ComposeError) as caught:
        compose(lambda x: x, layer)(*args)
    assert str(caught.value) == text


def test_a_name_that_does_not_exist_is_refused_when_composed():
    with pytest.raises(ComposeError) as caught:
        compose(lambda params, x: x, Cast(arguments={"parms": "bf16"}))
    assert str(caught.value) == (
        "CMP201 cast: arguments names 'parms', but <lambda> has no such argument\n"
        "  arguments: params, x\n"
        "  write: arguments: params"
    )


def test_a_static_argument_is_refused_when_composed():
    with pytest.raises(ComposeError) as caught:
        compose(lambda x, n: x, Cast(arguments={"n": "i32"}), static="n")
    assert str(caught.value) == (
        "CMP205 cast: arguments names 'n', which is static: it holds no array\n"
        "  write: another argument, or take n out of `static:`"
    )
