"""Sources that make numbers, compared with NumPy and with jax.random itself."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer._run.dtypes import Loss
from composer._run.numbers import make_numbers
from composer._sources import parse_source


def made(**data: object) -> np.ndarray:
    return np.asarray(make_numbers(parse_source(data)))


def test_ranges_are_numpys_in_jaxs_default_dtypes() -> None:
    for name, numbers in {
        "linspace": (0, 1, 11),
        "logspace": (0, 3, 4),
        "geomspace": (1, 8, 4),
        "arange": (0, 1, 0.25),
    }.items():
        found = made(**{name: list(numbers)})
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, getattr(np, name)(*numbers).astype(np.float32))
    assert made(arange=[2, 5]).dtype == np.int32
    assert made(arange=[2, 5]).tolist() == [2, 3, 4]
    assert made(logspace=[0, 3, 4], base=2).tolist() == [1, 2, 4, 8]


def test_filled_arrays_have_their_declared_dtype() -> None:
    assert made(eye=2, dtype="bf16").dtype == jnp.bfloat16
    assert made(eye=2).tolist() == [[1, 0], [0, 1]]
    assert made(zeros="i8[2]").tolist() == [0, 0]
    assert made(ones="f16[1, 2]").tolist() == [[1, 1]]
    assert made(full="bool[2]", value=True).tolist() == [True, True]
    assert made(full="c64[2]", value=2).tolist() == [2, 2]


def test_a_seed_gives_what_jax_random_gives() -> None:
    key = jax.random.key(3)
    for data, wanted in [
        ({"random": "normal", "shape": "bf16[4]"}, jax.random.normal(key, (4,), jnp.bfloat16)),
        ({"random": "uniform", "shape": "f32[4]"}, jax.random.uniform(key, (4,))),
        (
            {"random": "integers", "shape": "u8[4]", "low": 2, "high": 9},
            jax.random.randint(key, (4,), 2, 9, jnp.uint8),
        ),
        (
            {"random": "truncated_normal", "shape": "f32[4]", "low": -1, "high": 1},
            jax.random.truncated_normal(key, -1, 1, (4,)),
        ),
        ({"random": "exponential", "shape": "f32[4]"}, jax.random.exponential(key, (4,))),
        ({"random": "bernoulli", "shape": "bool[4]"}, jax.random.bernoulli(key, shape=(4,))),
    ]:
        found = made(**data, seed=3)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_mean_and_std_move_and_stretch_the_normal_distribution() -> None:
    found = made(random="normal", shape="f32[20000]", seed=0, mean=3, std=0.5)
    assert found.mean() == pytest.approx(3, abs=0.02)
    assert found.std() == pytest.approx(0.5, abs=0.02)


def test_bounds_of_integers_that_do_not_fit_are_refused_where_jax_would_clip_them() -> None:
    with pytest.raises(Loss, match="integers from 0 to 900 do not fit into uint8"):
        made(random="integers", shape="u8[3]", seed=0, low=0, high=900)


def test_a_key_is_typed_and_split_as_jax_does() -> None:
    one = make_numbers(parse_source({"key": 5}))
    assert jnp.issubdtype(one.dtype, jax.dtypes.prng_key)
    several = make_numbers(parse_source({"key": 5, "split": [2, 3], "impl": "rbg"}))
    wanted = jax.random.split(jax.random.key(5, impl="rbg"), (2, 3))
    np.testing.assert_array_equal(jax.random.key_data(several), jax.random.key_data(wanted))


def test_64_bits_are_refused_while_they_are_switched_off_and_given_while_on() -> None:
    source = parse_source({"random": "normal", "shape": "f64[2]", "seed": 0})
    with pytest.raises(Loss, match="f64 needs 64-bit numbers, which are switched off") as caught:
        make_numbers(source)
    assert caught.value.cure == "run: {enable_x64: true}     # or --x64"
    with jax.enable_x64(True):
        assert make_numbers(source).dtype == np.float64
        assert make_numbers(parse_source({"linspace": [0, 1, 3]})).dtype == np.float64
        assert make_numbers(parse_source({"arange": [3]})).dtype == np.int64
