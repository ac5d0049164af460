"""jit and checkpoint: promises, static arguments, shardings, donation, policies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from composer import Checkpoint, ComposeError, Grad, Jit, compose
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

X = np.arange(8, dtype=np.float32)
M = np.arange(32, dtype=np.float32).reshape(8, 4)


def scaled(x, n, *, flip=False):
    return (-x if flip else x) * n


def two(x, y):
    return {"sum": x + y, "twice": 2 * x}


def test_jit_keeps_every_promise():
    mesh = {"data": 4}
    sharding = NamedSharding(jax.make_mesh((1,), ("i",)), PartitionSpec())
    check_transform(
        Jit,
        [
            Case(Jit(), two, (X, X)),
            Case(Jit(keep_unused=True, inline=True), two, (X, X)),
            Case(Jit(), scaled, (X,), {"n": 3, "flip": True}, static=("n", "flip")),
            Case(Jit(in_shardings={"x": ["data"]}, out_shardings=[]), two, (X, X), mesh=mesh),
            Case(
                Jit(in_shardings=[["data"], []], out_shardings={"sum": ["data"], "twice": []}),
                two,
                (X, X),
                mesh=mesh,
            ),
            Case(Jit(in_shardings={"x": [None, "data"]}), lambda x: x + 1, (M,), mesh=mesh),
            Case(Jit(in_shardings=sharding), lambda x: x + 1, (M,), not_text="holds a JAX object"),
            Case(Jit(compiler_options={"xla_cpu_enable_fast_math": False}), two, (X, X)),
        ],
    )


def test_checkpoint_keeps_every_promise():
    check_transform(
        Checkpoint,
        [
            Case(Checkpoint(), two, (X, X)),
            Case(Checkpoint(policy="dots_saveable", prevent_cse=False), two, (X, X)),
            Case(Checkpoint(policy={"save_only_these_names": ["a", "b"]}), two, (X, X)),
            Case(Checkpoint(), scaled, (X,), {"n": 3}, static=("n",)),
        ],
    )


def test_static_argnums_count_the_full_signature():
    def f(x, n, m):
        return x * n if n > 1 else x * m

    made = compose(f, Jit(static_argnums=(1, "m")))
    np.testing.assert_allclose(made(X, 2, 3), X * 2)
    np.testing.assert_allclose(made(X, n=1, m=3), X * 3)


def test_a_static_argument_of_the_pipeline_is_static_for_the_outermost_jit():
    made = compose(scaled, Jit(), static=("n", "flip"))
    np.testing.assert_allclose(made(X, 2, flip=True), -2 * X)
    np.testing.assert_allclose(made(X, n=3), 3 * X)


def test_shardings_by_name_lay_the_arguments_out():
    made = compose(lambda x, y: x * y, Jit(in_shardings={"x": ["data"]}), mesh={"data": 4})
    compiled = made.lower(X, np.float32(2)).compile()
    assert compiled.input_shardings[0][0].spec == PartitionSpec("data")
    np.testing.assert_allclose(compiled(X, np.float32(2)), 2 * X)


def test_donation_by_name_gives_the_memory_away():
    made = compose(lambda state, x: state + x, Jit(donate_argnums="state"))
    state = jnp.arange(8.0)
    jax.block_until_ready(made(state, X))
    assert state.is_deleted()


def test_a_sharding_over_an_unknown_axis_is_named_with_the_nearest_one():
    with pytest.raises(ComposeError) as caught:
        compose(two, Jit(in_shardings={"x": ["dta"]}), mesh={"data": 4})
    assert str(caught.value) == (
        "CMP305 jit: the mesh has no axis 'dta'\n  axes: data\n  write: data"
    )


def test_shardings_without_a_mesh_say_where_to_declare_one():
    with pytest.raises(ComposeError, match="CMP304 jit needs a device mesh, but none is declared"):
        compose(two, Jit(in_shardings={"x": ["data"]}))


def test_an_unknown_policy_is_named_with_the_nearest_one():
    with pytest.raises(
        ParameterError, match=r"policy is 'dots_savable'[\s\S]*policy: dots_saveable"
    ):
        compose(two, Checkpoint(policy="dots_savable"), Grad())(X, X)


def test_checkpoint_recomputes_in_the_backward_pass():
    def deep(x):
        return jnp.sum(jnp.sin(jnp.sin(x)))

    plain = str(jax.make_jaxpr(compose(deep, Grad()))(X)).count("sin ")
    again = str(jax.make_jaxpr(compose(deep, Checkpoint(), Grad()))(X)).count("sin ")
    assert again > plain
    wanted = np.cos(np.sin(X.astype(np.float64))) * np.cos(X.astype(np.float64))
    np.testing.assert_allclose(compose(deep, Checkpoint(), Grad())(X), wanted, atol=1e-6)


def test_a_static_value_that_is_not_hashable_is_named():
    made = compose(lambda x, shape: x.reshape(shape), static="shape")
    with pytest.raises(ComposeError) as caught:
        made(X, [2, 4])
    assert str(caught.value) == (
        "CMP401 static argument 'shape' is a list, which is not hashable\n"
        "  write: a tuple instead of a list, a frozen dataclass instead of a dict"
    )


def test_shardings_by_name_leave_the_layer_s_own_static_arguments_out():
    layer = Jit(in_shardings={"x": ["data"]}, static_argnames="n")
    got = compose(lambda n, x: n * x, layer, mesh={"data": 4})(3, np.arange(8, dtype=np.int32))
    np.testing.assert_array_equal(got, np.arange(0, 24, 3))
    assert len(got.sharding.device_set) == 4


def test_shardings_by_position_count_static_arguments_or_leave_them_out_as_jax_does():
    def f(n, x, y):
        return n * x * y

    for given in [((), ("data",), ()), (("data",), ())]:
        made = compose(f, Jit(in_shardings=given), static="n", mesh={"data": 4})
        np.testing.assert_allclose(made(3, X, np.float32(2)), 6 * X)
