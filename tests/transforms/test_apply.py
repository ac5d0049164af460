"""apply: promises, and JAX's and Python's own decorators by name."""

from __future__ import annotations

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import Apply, ComposeError, Grad, Jit, Then, Vmap, compose, load, loads
from composer._yaml import parse
from composer.errors import PipelineError
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

X = np.array([1.0, 2.0, 3.0], np.float32)
A = np.arange(6, dtype=np.float32).reshape(2, 3)
IN_PYTHON = "a local function has no name in a module"
UNKNOWN = "nothing is known of what comes out"


def dot(x, y=2.0, *, shift=0.0):
    return jnp.sum(x * y) + shift


def doubled(fn, by=2.0):
    """Multiply what a function returns."""

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        return by * fn(*args, **kwargs)

    return wrapped


def doubled_slowly(fn, by=2.0):
    return lambda *args, **kwargs: np.float64(by) * np.asarray(fn(*args, **kwargs), np.float64)


def scaled(by):
    """A decorator factory."""
    return functools.partial(doubled, by=by)


def scaled_slowly(by):
    return functools.partial(doubled_slowly, by=by)


def vectorized_slowly(fn, *, signature):
    assert signature == "(n),(n)->()"

    def loop(x, y):
        return np.stack([np.asarray(fn(row, y)) for row in x])

    return loop


def value_at(fn, *args):
    return fn(*args)


def test_apply_keeps_every_promise():
    local = {"not_text": IN_PYTHON}
    check_transform(
        Apply,
        [
            Case(Apply(function=doubled, equals=doubled_slowly), dot, (X, X), **local),
            Case(Apply(function=doubled, args=(3.0,), equals=doubled_slowly), dot, (X,), **local),
            Case(
                Apply(function=doubled, keywords={"by": 4.0}, equals=doubled_slowly),
                dot,
                (X,),
                {"shift": np.float32(1), "y": X},
                **local,
            ),
            Case(
                Apply(function=scaled, args=(5.0,), how="factory", equals=scaled_slowly),
                dot,
                (X,),
                **local,
            ),
            Case(
                Apply(function=doubled, equals=doubled_slowly),
                lambda x, n: x**n,
                (X,),
                {"n": 3},
                static=("n",),
                **local,
            ),
            Case(
                Apply(
                    function="jax.numpy:vectorize",
                    keywords={"signature": "(n),(n)->()"},
                    equals=vectorized_slowly,
                ),
                lambda x, y: jnp.sum(x * y),
                (A, X),
                **local,
            ),
            Case(
                Apply(function="jax.numpy:vectorize", keywords={"signature": "(n)->()"}),
                jnp.sum,
                (A,),
                no_reference=UNKNOWN,
            ),
            Case(Apply(function="jax:vjp", how="call"), dot, (X, X), no_reference=UNKNOWN),
            Case(
                Apply(function=value_at, how="call", equals=value_at, arguments=("a", "b")),
                dot,
                (X, X),
                **local,
            ),
        ],
    )


def test_the_kit_says_which_cases_have_no_reference():
    found = check_transform(
        Apply, [Case(Apply(function="jax:vjp", how="call"), dot, (X, X), no_reference=UNKNOWN)]
    )
    skipped = [str(outcome) for outcome in found if outcome.skipped]
    assert skipped == [f"values (case 0): {UNKNOWN}"]


def test_linearize_gives_the_value_and_the_linear_map():
    made = compose(lambda x: x**3, Apply(function="jax:linearize", how="call"))
    value, slope = made(2.0)
    assert (float(value), float(slope(1.0)), float(slope(0.5))) == (8.0, 12.0, 6.0)


def test_vjp_gives_the_value_and_the_pullback():
    value, pullback = compose(lambda x, y: x * y, Apply(function="jax:vjp", how="call"))(3.0, 4.0)
    assert float(value) == 12.0
    assert [float(part) for part in pullback(1.0)] == [4.0, 3.0]


def test_what_is_passed_by_keyword_only_is_closed_over():
    value, pullback = compose(dot, Apply(function="jax:vjp", how="call"))(X, X, shift=5.0)
    assert float(value) == 19.0
    assert len(pullback(jnp.float32(1.0))) == 2


def test_an_argument_behind_an_omitted_default_gets_its_position():
    made = compose(lambda x, y=2.0, z=3.0: x * y * z, Apply(function="jax:vjp", how="call"))
    value, pullback = made(1.0, z=4.0)
    assert float(value) == 8.0
    assert [float(part) for part in pullback(1.0)] == [8.0, 4.0, 2.0]


def test_static_arguments_are_closed_over():
    made = compose(lambda x, n: x**n, Apply(function="jax:linearize", how="call"), static="n")
    value, slope = made(2.0, 3)
    assert (float(value), float(slope(1.0))) == (8.0, 12.0)


def test_then_hands_on_a_part_of_what_comes_out():
    made = compose(
        lambda x: jnp.sin(x),
        Apply(function="jax:linearize", how="call"),
        Then(function=lambda y, slope: slope(jnp.ones_like(y)), unpack=True),
        Vmap(),
        Jit(),
    )
    np.testing.assert_allclose(made(X), np.cos(X.astype(np.float64)), rtol=1e-6)


def test_arguments_may_get_other_names():
    made = compose(dot, Apply(function="jax:jvp", how="call", arguments=("primals", "tangents")))
    assert list(inspect.signature(made).parameters) == ["primals", "tangents"]
    value, tangent = made(tangents=(X, X), primals=(X, X))
    assert (float(value), float(tangent)) == (14.0, 28.0)


def test_layers_outside_know_the_arguments_by_their_names():
    made = compose(dot, Apply(function=doubled), Grad(argnums="y"), Jit())
    np.testing.assert_allclose(made(X, X), 2 * X)


def test_jit_by_name_gives_the_program_of_jit_itself():
    made = compose(dot, Apply(function="jax:jit"), Jit())
    assert made.lower(X, X).as_text() == jax.jit(jax.jit(dot)).lower(X, X).as_text()


def test_the_reference_is_refused_where_nothing_is_known():
    layer = Apply(function="jax:jit")
    with pytest.raises(ComposeError) as caught:
        layer.reference(dot, Case(layer, dot).context())
    assert str(caught.value) == (
        "CMP608 apply: nothing is known of jax:jit, so there is nothing slow and obviously right"
        " to compare it with\n  write: equals: module:callable     # taken in its place, the same"
        " way"
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"function": "jit"},
         ("CMP037 apply: function is 'jit', which does not say in which module it is\n"
         "  write: function: module:jit")),
        ({"function": "jax:jit", "equals": 3},
         "CMP037 apply: equals is a int, which cannot be called\n  write: equals: module:function"),
        ({"function": "jax:jit", "how": "wrap"},
         ("CMP037 apply: how is 'wrap', which is none of its choices\n"
          "  choices: decorator, factory, call")),
        ({"function": "jax:jit", "arguments": ("x", "x")},
         "CMP037 apply: arguments has 'x' twice"),
        ({"function": "jax:jit", "arguments": ("x.y",)},
         "CMP037 apply: arguments holds 'x.y', which is no name"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(given, text):
    with pytest.raises(ParameterError) as caught:
        Apply(**given)
    assert str(caught.value) == text


def test_a_callable_that_fails_is_named_with_the_other_ways_to_take_it():
    with pytest.raises(ComposeError) as caught:
        compose(dot, Apply(function=doubled, keywords={"times": 3}))
    assert str(caught.value) == (
        "CMP204 apply: doubled raised TypeError: doubled() got an unexpected keyword argument"
        " 'times'\n"
        "  it was taken as a decorator\n"
        "  write: how: factory     # callable(*args, **keywords)(fn) is a function\n"
        "         how: call     # callable(fn, *args, *arguments, **keywords) is the result"
    )
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_callable_that_gives_no_function_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(dot, Apply(function="inspect:signature"))
    assert str(caught.value).startswith(
        "CMP204 apply: inspect:signature gave a Signature, which cannot be called\n"
        "  it was taken as a decorator\n"
    )


SEALED = """\
composer: 1
function: f
stack:
  - apply: {function: "jax:jit", equals: "os:system"}
"""


def test_sealed_text_may_not_name_code():
    with pytest.raises(PipelineError) as caught:
        loads(SEALED, functions={"f": dot})
    assert str(caught.value) == (
        "<text>:4:5: CMP040 sealed text may not name code, as apply does with function: jax:jit,"
        " equals: os:system\n"
        '    4 |   - apply: {function: "jax:jit", equals: "os:system"}\n'
        "      |     ^^^^^\n"
        "  write: compose the layer in Python, or remove it"
    )


def test_a_file_names_its_own_decorators_beside_it(tmp_path):
    (tmp_path / "beside_apply.py").write_text(
        "def f(x):\n    return x * 2\n\ndef negated(fn):\n    return lambda x: -fn(x)\n",
        encoding="utf-8",
    )
    file = tmp_path / "p.yaml"
    file.write_text(
        "composer: 1\nfunction: beside_apply:f\nstack:\n  - apply: beside_apply:negated\n  - jit\n",
        encoding="utf-8",
    )
    pipeline = load(file)
    np.testing.assert_array_equal(pipeline.build()(X), -2 * X)
    assert parse(pipeline.to_yaml()).data["stack"] == [
        {"apply": {"function": "beside_apply:negated"}},
        "jit",
    ]
