"""max_traces: which argument made JAX trace again, and what it was before."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import (
    ComposeError,
    Grad,
    Jit,
    MaxTraces,
    PipelineError,
    RetraceWarning,
    Vmap,
    compose,
    loads,
)

ONCE = MaxTraces(1, "error")


@pytest.fixture
def scaled():
    """A new function each time: equal stacks around one function are one callable."""

    def scaled(x, scale=1.0, *, n=1):
        return jnp.sum(x) * scale * n

    return scaled


def why(made, *calls):
    """The text of the first call that is one trace too many."""
    *before, (args, kwargs) = calls
    for fine, named in before:
        made(*fine, **named)
    with pytest.raises(ComposeError) as caught:
        made(*args, **kwargs)
    return str(caught.value)


def test_the_same_kind_of_arguments_traces_once(scaled):
    made = compose(scaled, Grad(), Vmap(in_axes={"x": 0}), Jit(), max_traces=ONCE)
    for value in range(3):
        jax.block_until_ready(made(jnp.full((4, 2), float(value)), jnp.float32(2)))


def test_a_new_shape_is_named_with_both(scaled):
    made = compose(scaled, Jit(), max_traces=ONCE)
    assert why(made, ((jnp.ones(3),), {}), ((jnp.ones(4),), {})) == (
        "CMP410 scaled was traced 2 times, but may be traced once\n"
        "  x: was f32[3], now f32[4]\n"
        "  write: one shape for x in every call: pad, or drop the last batch"
    )


def test_a_new_dtype_is_named_with_both(scaled):
    made = compose(scaled, Jit(), max_traces=ONCE)
    text = why(made, ((jnp.ones(3),), {}), ((np.ones(3, np.int32),), {}))
    assert "x: was f32[3], now i32[3]" in text
    assert "one dtype for x" in text


def test_a_new_static_value_is_named_with_both(scaled):
    made = compose(scaled, Vmap(), Jit(), static="n", max_traces=ONCE)
    text = why(made, ((jnp.ones((2, 2)),), {"n": 1}), ((jnp.ones((2, 2)),), {"n": 5}))
    assert "n: was 1, now 5" in text
    assert "n as an array argument instead of a static one" in text


def test_a_weak_type_is_named(scaled):
    made = compose(scaled, Jit(), max_traces=ONCE)
    text = why(made, ((jnp.ones(3), 2.0), {}), ((jnp.ones(3), jnp.float32(2)), {}))
    assert "scale: was f32[] (weak type), now f32[]" in text


def test_a_leaf_of_a_tree_is_named_by_its_path():
    made = compose(lambda tree: tree["a"]["b"] * 2, Jit(), max_traces=ONCE)
    text = why(made, (({"a": {"b": jnp.ones(2)}},), {}), (({"a": {"b": jnp.ones(3)}},), {}))
    assert "tree['a']['b']: was f32[2], now f32[3]" in text


def test_the_comparison_is_with_the_earlier_trace_that_is_most_alike():
    made = compose(lambda x, y: x.sum() + y.sum(), Jit(), max_traces=MaxTraces(2, "error"))
    calls = [((jnp.ones(2), jnp.ones(2)), {}), ((jnp.ones(3), jnp.ones(3)), {})]
    text = why(made, *calls, ((jnp.ones(2), jnp.ones(5)), {}))
    assert "traced 3 times, but may be traced 2 times" in text
    assert "y: was f32[2], now f32[5]" in text
    assert "x:" not in text


def test_warn_warns_and_goes_on(scaled):
    made = compose(scaled, Jit(), max_traces=1)
    made(jnp.ones(3))
    with pytest.warns(RetraceWarning, match="CMP410 scaled was traced 2 times"):
        got = made(jnp.ones(4))
    assert float(got) == 4.0


def test_a_stack_without_a_compiling_layer_cannot_count(scaled):
    with pytest.raises(ComposeError, match="no layer compiles"):
        compose(scaled, Grad(), max_traces=1)


def test_the_limit_is_read_from_the_file(scaled):
    text = "composer: 1\nfunction: f\nmax_traces: {limit: 1, action: error}\nstack: [jit]\n"
    p = loads(text, functions={"f": scaled})
    assert p.max_traces == ONCE
    assert loads(p.to_yaml(), functions={}) == p
    made = p.build()
    made(jnp.ones(2))
    with pytest.raises(ComposeError, match="CMP410"):
        made(jnp.ones(3))


@pytest.mark.parametrize("value", ["0", "true", "1.0", "{limit: 1, action: stop}", "{}"])
def test_a_limit_that_is_none_is_refused(value):
    with pytest.raises(PipelineError, match=r"CMP03[23] max_traces"):
        loads(f"composer: 1\nfunction: f\nmax_traces: {value}\nstack: [jit]\n")


def test_counting_changes_nothing_of_the_program(scaled):
    plain = compose(scaled, Vmap(), Jit())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RetraceWarning)
        limited = compose(scaled, Vmap(), Jit(), max_traces=1)
        texts = [made.lower(jnp.ones((2, 2))).as_text() for made in (plain, limited)]
    assert texts[0] == texts[1]


def test_a_limit_below_one_is_refused_in_python_too(scaled):
    with pytest.raises(ComposeError, match="CMP033 max_traces is a whole number from 1, not 0"):
        compose(scaled, Jit(), max_traces=0)
