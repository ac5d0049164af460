"""then: promises, and composition by hand."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Grad, InputError, Jit, Select, Then, Vmap, compose, loads
from composer.errors import PipelineError
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

X = np.array([1.0, 2.0, 3.0], np.float32)
IN_PYTHON = "a lambda has no name in a module"


def pair(x, y=2.0, *, shift=0.0):
    return x * y, x + shift


def test_then_keeps_every_promise():
    check_transform(
        Then,
        [
            Case(Then(function="jax.numpy:sum"), lambda x: x**2, (X,)),
            Case(Then(function="jax.numpy:add", unpack=True), pair, (X,)),
            Case(Then(function="jax.numpy:add", unpack=True), pair, (X,), {"shift": X, "y": X}),
            Case(Then(function="jax.numpy:sum"), lambda x, n: x**n, (X,), {"n": 3}, static=("n",)),
            Case(Then(function=lambda out: {"a": out[0]}), pair, (X,), not_text=IN_PYTHON),
        ],
    )


def test_the_gradient_goes_through_both_functions():
    # d/dx of sum((x^2)^3) = 6 x^5.
    made = compose(lambda x: x**2, Then(function=lambda y: jnp.sum(y**3)), Grad(), Jit())
    np.testing.assert_allclose(made(X), 6 * X.astype(np.float64) ** 5, rtol=1e-6)


def test_a_vmap_outside_maps_both_functions():
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = compose(lambda x: x * 2, Then(function="jax.numpy:sum"), Vmap(), Jit())
    np.testing.assert_allclose(made(rows), [6.0, 24.0])


def test_a_vmap_inside_leaves_the_whole_batch_to_the_function():
    made = compose(lambda x: x * x, Vmap(), Then(function="jax.numpy:mean"), Jit())
    assert float(made(X)) == pytest.approx(14 / 3)


def test_the_parts_of_a_tuple_become_arguments():
    made = compose(pair, Then(function=lambda a, b: a - b, unpack=True))
    np.testing.assert_allclose(made(X, X), X * X - X)


def test_names_of_outputs_end_where_then_stands():
    made = compose(pair, Then(function=lambda out: {"loss": out[0]}), Select(output="loss"),
                   returns=["total", "rest"])  # fmt: skip
    np.testing.assert_allclose(made(X), 2 * X)
    with pytest.raises(ComposeError, match="CMP207 select: there is no output 'total'"):
        compose(pair, Then(function=lambda out: {"loss": out[0]}), Select(output="total"),
                returns=["total", "rest"])(X)  # fmt: skip


def test_arguments_keep_their_names():
    made = compose(pair, Then(function="jax.numpy:add", unpack=True))
    assert list(inspect.signature(made).parameters) == ["x", "y", "shift"]


def test_the_program_is_the_one_written_by_hand():
    def f(x):
        return x * 2

    def by_hand(x):
        return jnp.sum(f(x))

    by_hand.__name__ = "f"
    made = compose(f, Then(function="jax.numpy:sum"), Jit())
    assert made.lower(X).as_text() == jax.jit(by_hand).lower(X).as_text()


def test_an_output_that_is_no_tuple_cannot_be_unpacked():
    with pytest.raises(ComposeError) as caught:
        compose(lambda x: x, Then(function="jax.numpy:add", unpack=True))(X)
    assert str(caught.value) == (
        "CMP208 then: unpack makes arguments of the parts of a tuple, but the output is"
        " one array float32[3]\n  write: unpack: false"
    )


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ("sum", ("CMP037 then: function is 'sum', which does not say in which module it is\n"
                "  write: function: module:sum")),
        (3, ("CMP037 then: function is a int, which cannot be called\n"
            "  write: function: module:function")),
    ],
)  # fmt: skip
def test_what_is_no_function_is_refused(function, text):
    with pytest.raises(ParameterError) as caught:
        Then(function=function)
    assert str(caught.value) == text


def test_a_name_that_cannot_be_called_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda x: x, Then(function="math:pi"))
    assert str(caught.value) == ("CMP204 then: function is float 'math:pi', which cannot be called")


def test_a_function_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="CMP069 "):
        compose(lambda x: x, Then(function="jax.numpy:summ"))


SEALED = """\
composer: 1
function: f
stack:
  - vmap
  - then: os:getcwd
  - jit
"""


def test_sealed_text_may_not_name_code():
    with pytest.raises(PipelineError) as caught:
        loads(SEALED, functions={"f": lambda x: x})
    assert str(caught.value) == (
        "<text>:5:5: CMP040 sealed text may not name code, as then does with function: os:getcwd\n"
        "    5 |   - then: os:getcwd\n"
        "      |     ^^^^\n"
        "  write: compose the layer in Python, or remove it"
    )


def test_a_sub_pipeline_of_sealed_text_may_not_either():
    text = SEALED.replace("  - then: os:getcwd\n", "") + (
        "args:\n  g:\n    function: f\n    stack:\n      - then: os:getcwd\n"
    )
    with pytest.raises(PipelineError, match=r"<text>:10:9: CMP040 sealed text may not name code"):
        loads(text, functions={"f": lambda x: x})
