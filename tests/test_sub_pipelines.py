"""Functions as arguments with stacks of their own, and factories."""

import textwrap

import jax.numpy as jnp
import numpy as np
import pytest

import composer
from composer import InputError, PipelineError, loads

MODULE = """
import jax
import jax.numpy as jnp

def u(params, p):
    return params * jnp.sin(jnp.pi * p[0]) * jnp.sin(jnp.pi * p[1])

def laplacian(second, params, p):
    return jnp.trace(second(params, p))

def task_loss(params, a):
    return jnp.mean((params - a) ** 2)

def adapted(inner, params, a, rate):
    return task_loss(params - rate * inner(params, a), a)

class Model:
    def __init__(self, width):
        self.width = width

    def __call__(self, x):
        return self.width * x**2

def scale(x, by):
    return x * by
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "heat.py").write_text(MODULE)
    return tmp_path


def load(folder, text):
    path = folder / "job.yaml"
    path.write_text("composer: 1\n" + textwrap.dedent(text))
    return composer.load(path)


PINN = """
    function: heat:laplacian
    args:
      second: {function: heat:u, stack: [{hessian: {argnums: p}}]}
      params: 1.5
      p: [[0.5, 0.5], [0.25, 0.5], [0.1, 0.9]]
    stack:
      - vmap: {in_axes: {p: 0}}
      - jit
"""


def test_the_laplacian_of_a_product_of_sines_is_its_closed_form(folder):
    points = np.array([[0.5, 0.5], [0.25, 0.5], [0.1, 0.9]])
    wanted = -2 * np.pi**2 * 1.5 * np.prod(np.sin(np.pi * points), axis=1)
    np.testing.assert_allclose(load(folder, PINN).call(), wanted, rtol=1e-5)


def test_a_sub_pipeline_is_written_down_again_as_the_same_pipeline(folder):
    p = load(folder, PINN)
    (folder / "again.yaml").write_text(p.to_yaml())
    assert composer.load(folder / "again.yaml") == p


def test_building_twice_gives_the_same_function_so_nothing_traces_again(folder):
    p = load(folder, PINN)
    assert p.args()[0] is p.args()[0]


def test_a_gradient_through_an_inner_gradient_is_not_the_first_order_one(folder):
    p = load(
        folder,
        """
        function: heat:adapted
        args:
          inner: {function: heat:task_loss, stack: [grad]}
          params: 1.0
          a: 3.0
          rate: 0.1
        stack: [{grad: {argnums: params}}, jit]
        """,
    )
    # d/dp (p - r*2(p-a) - a)^2 = 2 (1-2r)^2 (p-a)
    np.testing.assert_allclose(p.call(), 2 * (1 - 0.2) ** 2 * (1.0 - 3.0), rtol=1e-6)


def test_statics_of_a_sub_pipeline_are_its_own(folder):
    p = load(
        folder,
        """
        function: heat:laplacian
        static: [second]
        args:
          second: {function: heat:u, stack: [{jacfwd: {argnums: p}}, {jacfwd: {argnums: 1}}, jit]}
          params: 1.0
          p: [0.5, 0.5]
        stack: [jit]
        """,
    )
    np.testing.assert_allclose(p.call(), -2 * np.pi**2, rtol=1e-5)


def test_a_factory_makes_the_function(folder):
    p = load(
        folder,
        "function: {call: 'heat:Model', width: 3.0}\nargs: {x: 2.0}\nstack: [grad, jit]\n",
    )
    np.testing.assert_allclose(p.call(), 12.0)
    assert loads_equal(folder, p)


def loads_equal(folder, p):
    (folder / "again.yaml").write_text(p.to_yaml())
    return composer.load(folder / "again.yaml") == p


def test_a_factory_that_makes_no_function_is_named(folder):
    p = load(folder, "function: {call: 'heat:scale', x: 1, by: 2}\nstack: [grad]\n")
    with pytest.raises(InputError, match="CMP069 heat:scale makes a int, not a function"):
        p.build()


def test_a_problem_inside_a_sub_pipeline_is_pointed_at(folder):
    with pytest.raises(PipelineError) as caught:
        load(
            folder,
            """
            function: heat:laplacian
            args:
              second: {function: heat:u, stak: [], stack: [{hesian: {argnums: p}}]}
            stack: [jit]
            """,
        )
    assert [(d.code, d.place.line, d.place.column) for d in caught.value.diagnostics] == [
        ("CMP031", 5, 30),
        ("CMP034", 5, 49),
    ]


def test_sealed_text_may_have_sub_pipelines_of_the_functions_that_were_passed():
    text = """\
composer: 1
function: outer
args:
  inner: {function: square, stack: [grad]}
  x: 3.0
stack: [jit]
"""
    p = loads(text, functions={"outer": lambda inner, x: inner(x), "square": lambda x: x * x})
    assert float(p.call()) == 6.0


def test_a_function_argument_is_static_without_being_declared(folder):
    assert load(folder, PINN).constants == ("second",)


def test_the_inner_function_may_be_given_in_python_too():
    second = composer.compose(lambda x: jnp.sum(x**3), composer.Hessian())
    made = composer.compose(lambda f, x: jnp.trace(f(x)), composer.Jit(), static="f")
    np.testing.assert_allclose(made(second, np.array([1.0, 2.0], np.float32)), 18.0)
