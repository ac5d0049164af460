"""check and call: what JAX would refuse before tracing is said first, all at once."""

import functools
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import composer
from composer import ComposeError, Jit, Vmap, compose, loads
from composer._check import check_call
from composer._pipeline import Layer

X = np.arange(4, dtype=np.float32)


def power(x, n):
    return x**n


def pipeline(text, **functions):
    return loads("composer: 1\n" + textwrap.dedent(text), functions=functions or {"power": power})


def test_a_good_call_gives_the_shapes_of_the_outputs():
    p = pipeline("function: power\nstatic: n\nstack: [vmap, jit]\n")
    shape = p.check(X, 3)
    assert (shape.shape, shape.dtype) == ((4,), jnp.float32)


def test_call_checks_and_then_calls():
    p = pipeline("function: power\nstatic: n\nargs: {x: [1.0, 2.0], n: 3}\nstack: [vmap, jit]\n")
    np.testing.assert_allclose(p.call(), [1, 8])
    np.testing.assert_allclose(p.call(X, n=2), X**2)


def test_all_that_is_wrong_is_said_at_once():
    p = pipeline("function: power\nstatic: n\nstack: [jit]\n")
    with pytest.raises(ComposeError) as caught:
        p.check("three", n=[3])
    assert [d.code for d in caught.value.diagnostics] == ["CMP401", "CMP217"]
    assert str(caught.value) == (
        "<text>:4:9: CMP401 static argument 'n' is a list, which is not hashable\n"
        "    4 | stack: [jit]\n"
        "      |         ^^^\n"
        "  write: a tuple instead of a list, a frozen dataclass instead of a dict\n"
        "\n"
        "<text>:4:9: CMP217 x is a str ('three'); JAX takes arrays and numbers\n"
        "    4 | stack: [jit]\n"
        "      |         ^^^\n"
        "  write: static: [x]     # if it is a plain Python value"
    )


def test_a_donated_array_is_named_before_jax_says_deleted():
    made = compose(lambda state: state + 1, Jit(donate_argnums=0))
    state = jnp.arange(3.0)
    jax.block_until_ready(made(state))
    with pytest.raises(ComposeError, match="CMP402 state was donated to an earlier call"):
        composer.check(made, state)


def test_one_array_donated_twice_is_named():
    layer = Layer(Jit(donate_argnums="a"))
    both = jnp.arange(3.0)
    made = compose(lambda a, b: a + b, layer)
    with pytest.raises(ComposeError, match="CMP403 b and a are the same array"):
        check_call(made, (both, both), {}, layers=(layer,))


def test_integers_that_32_bits_would_cut_off_are_refused():
    with pytest.raises(ComposeError, match="CMP218 x holds integers that do not fit 32 bits"):
        composer.check(jax.jit(lambda x: x), np.array([2**40 + 7]))


def test_integers_of_64_bits_pass_where_they_are_kept():
    with jax.enable_x64(True):
        assert composer.check(jax.jit(lambda x: x), np.array([2**40 + 7])).dtype == jnp.int64


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((X,), {}, "CMP204 power is called without n"),
        ((X, 1, 2), {}, "CMP204 power takes 2 arguments by position, not 3"),
        ((X,), {"m": 1}, "CMP204 power has no argument 'm'"),
        ((np.array(["a"]), 1), {}, "CMP217 x is a NumPy array of dtype <U1"),
        (({"a": object()}, 1), {}, r"CMP217 x\['a'\] is a object"),
    ],
)
def test_a_call_that_does_not_fit_is_refused(args, kwargs, text):
    with pytest.raises(ComposeError, match=text):
        composer.check(compose(power, Jit()), *args, **kwargs)


def test_static_arguments_stay_python_values_where_no_jit_stands_outside():
    p = pipeline("function: power\nstatic: n\nstack: [grad, vmap]\n")
    assert p.check(X, n=3).shape == (4,)


def test_a_check_compiles_nothing_and_does_not_trace_again_for_the_call():
    traces = []

    def counted(x):
        traces.append(1)
        return x * 2

    p = pipeline("function: f\nstack: [vmap, jit]\n", f=counted)
    p.check(X)
    p.call(X)
    p.call(X)
    assert len(traces) == 1


def test_a_plain_jax_callable_can_be_checked():
    with pytest.raises(ComposeError, match="CMP217 x is a str"):
        composer.check(jax.jit(lambda x: x), "text")


def test_what_tracing_raises_carries_the_note():
    made = compose(lambda x: x if x > 0 else -x, Vmap(), Jit())
    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        composer.check(made, X)
    assert any("outermost first" in note for note in caught.value.__notes__)


LAID_OUT = """\
    function: power
    mesh: {data: 4}
    args: {x: "f32[7]"}
    stack: [{jit: {in_shardings: {x: [data]}}}]
"""


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "text"),
    [
        (
            lambda x: x,
            (X[:3],),
            {},
            (
                "CMP301 jit: axis 0 of x has size 3, which does not divide over 'data': 4 devices\n"
                "    5 | stack: [{jit: {in_shardings: {x: [data]}}}]\n"
                "      |          ^^^\n"
                "  the spec of x: [data], and it is f32[3]\n"
                "  write: 4 in its place: cut or pad before the call"
            ),
        ),
        (
            lambda x, n=2: x * n,
            (X,),
            {},
            (
                "CMP204 jit: in_shardings need all arguments, but the call leaves out n\n"
                "    5 | stack: [{jit: {in_shardings: {x: [data]}}}]\n"
                "      |          ^^^\n"
                "  write: a value for n in the call"
            ),
        ),
        (
            lambda x, *, n: x * n,
            (X,),
            {"n": 2},
            (
                "CMP204 jit: in_shardings are for arguments by position, but n is not\n"
                "    5 | stack: [{jit: {in_shardings: {x: [data]}}}]\n"
                "      |          ^^^\n"
                "  write: all arguments by position"
            ),
        ),
    ],
    ids=["indivisible", "left_out", "by_keyword"],
)
def test_shardings_that_do_not_fit_the_call_are_said_first(function, args, kwargs, text):
    p = pipeline(LAID_OUT, power=function)
    with pytest.raises(ComposeError) as caught:
        p.check(*args, **kwargs)
    assert str(caught.value) == f"<text>:5:10: {text}"


def test_an_integer_of_more_than_64_bits_is_refused():
    with pytest.raises(ComposeError) as caught:
        composer.check(compose(lambda x: x, Jit()), 2**70)
    assert str(caught.value) == (
        "CMP218 x is 1180591620717411303424, an integer that does not fit 64 bits\n"
        "  write: a float: its rounded value"
    )


def test_a_composed_callable_knows_its_static_arguments_when_it_is_checked():
    with pytest.raises(ComposeError, match="CMP401 static argument 'n' is a list"):
        composer.check(compose(power, Jit(), static="n"), X, [3])
    assert composer.check(compose(power, Jit(), static="n"), X, 3).shape == (4,)


def test_a_composed_callable_knows_what_it_donates_when_it_is_checked():
    made = compose(lambda a, b: a + b, Jit(donate_argnums="a"))
    both = jnp.arange(3.0)
    with pytest.raises(ComposeError, match="CMP403 b and a are the same array"):
        composer.check(made, both, both)


def test_a_wrapper_around_a_composed_callable_is_checked_as_any_other():
    made = compose(power, Vmap(), static="n")

    @functools.wraps(made)
    def doubled(x, n):
        return made(x, n=int(n[0])) * 2

    assert composer.check(jax.jit(doubled, static_argnames="n"), X, n=(3,)).shape == (4,)
