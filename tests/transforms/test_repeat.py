"""repeat: promises, closed forms, and the program that is written by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Grad, Jit, Jvp, Repeat, Vmap, compose
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

X = np.array([1.0, -2.0, 3.0], np.float32)


def heat(u, rate=0.25):
    return u + rate * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1))


def newton(x, a, *, damping=1.0):
    return x - damping * (x * x - a) / (2 * x)


def swing(x, dt, v):
    v = v - dt * x
    return x + dt * v, v


def power(x, n):
    return x**n


def test_repeat_keeps_every_promise():
    tree = {"a": X, "n": np.int32(0)}
    check_transform(
        Repeat,
        [
            Case(Repeat(5), heat, (X,)),
            Case(Repeat(0), heat, (X,)),
            Case(Repeat(1), heat, (X,), {"rate": np.float32(0.125)}),
            Case(Repeat(4, unroll=2), heat, (X, np.float32(0.125))),
            Case(Repeat(4, unroll=True), heat, (X,)),
            Case(Repeat(3, carry="a"), lambda x, a: a * 0.5 + x, (X, X)),
            Case(Repeat(3), newton, (X + 4, np.float32(2)), {"damping": np.float32(0.5)}),
            Case(Repeat(3, carry=("x", "v")), swing, (X, np.float32(0.1), X)),
            Case(Repeat(3, carry=("v",)), lambda x, v: (v + x,), (X, X)),
            Case(Repeat(3, carry="rate"), lambda x, *, rate: rate * x, (X,), {"rate": X}),
            Case(Repeat(7), lambda t: {"a": t["a"] + 1, "n": t["n"] + 2}, (tree,)),
            Case(Repeat(2), power, (X,), {"n": 2}, static=("n",)),
        ],
    )


def test_a_thousand_steps_are_one_step_in_the_program():
    made = compose(heat, Repeat(1000), Jit())
    u = np.sin(2 * np.pi * np.arange(32) / 32).astype(np.float32)
    # A sine decays by 1 - 4 r sin^2(pi/N) in each step.
    decay = (1 - 4 * 0.25 * np.sin(np.pi / 32) ** 2) ** 1000
    np.testing.assert_allclose(made(u), u * decay, atol=1e-6)
    assert made.lower(u).as_text().count("stablehlo.while") == 1


def test_newton_finds_the_root():
    np.testing.assert_allclose(compose(newton, Repeat(6))(1.0, 2.0), np.sqrt(2), rtol=1e-6)


def test_the_program_is_the_one_written_by_hand():
    made = compose(newton, Repeat(20))

    def by_hand(x, a):
        return jax.lax.fori_loop(0, 20, lambda i, x: newton(x, a), x)

    assert str(jax.make_jaxpr(made)(X, X)) == str(jax.make_jaxpr(by_hand)(X, X))


def test_the_gradient_goes_through_the_loop():
    made = compose(newton, Repeat(8), Grad(argnums="a"), Jit())
    np.testing.assert_allclose(made(1.0, 2.0), 0.5 / np.sqrt(2), rtol=1e-5)
    double = compose(lambda x: 2 * x, Repeat(10), Grad(), Jit())
    assert float(double(1.5)) == 1024


def test_the_tangent_goes_through_the_loop():
    made = compose(lambda x: 2 * x, Repeat(10), Jvp(tangents={"x": "v"}), Jit())
    assert [float(part) for part in made(1.5, 2.0)] == [1536, 2048]


def test_each_row_is_repeated_under_vmap():
    made = compose(lambda x: jnp.sum(x) * x, Repeat(2), Vmap(), Jit())
    np.testing.assert_allclose(made(np.array([[1, 1], [1, 2]], np.float32)), [[8, 8], [27, 54]])


def test_an_output_of_another_shape_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(jnp.sum, Repeat(3))(X)
    assert str(caught.value) == (
        "CMP222 repeat: a goes in as f32[3] and comes out as f32[]; it must keep its shape, since"
        " one program does all steps\n"
        "  write: return it as f32[3]"
    )


def test_an_output_of_another_dtype_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda x: x.astype(jnp.bfloat16), Repeat(3))(X)
    assert str(caught.value) == (
        "CMP222 repeat: x goes in as f32 and comes out as bf16; it must keep its dtype, since one"
        " program does all steps\n"
        "  write: new.astype('float32')     # or give x as bf16"
    )


def test_several_carries_need_a_tuple_of_as_many():
    with pytest.raises(ComposeError) as caught:
        compose(lambda x, v: [x, v], Repeat(3, carry=("x", "v")))(X, X)
    assert str(caught.value) == (
        "CMP222 repeat: the carry goes in as a tuple (f32[3], f32[3]) and comes out as a list"
        " (f32[3], f32[3]); it must keep its structure, since one program does all steps\n"
        "  write: return a tuple (f32[3], f32[3])"
    )


def test_an_unknown_carry_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(heat, Repeat(3, carry="rat"))
    assert str(caught.value) == (
        "CMP201 repeat: carry names 'rat', but heat has no such argument\n"
        "  arguments: u, rate\n"
        "  write: carry: rate"
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n": -1}, "n is -1; it is at least 0"),
        ({"n": True}, "n does not fit: expected `int`, got `bool`"),
        ({"n": 3, "carry": ("x", "x")}, "carry names 'x' twice"),
        ({"n": 3, "unroll": -2}, "unroll is -2; it is at least 0, or true for all"),
    ],
)
def test_parameters_that_make_no_loop_are_refused(options, text):
    with pytest.raises(ParameterError) as caught:
        Repeat(**options)
    assert str(caught.value) == f"CMP037 repeat: {text}"
