"""Rows of facts about outputs, and the files that they are written to."""

from __future__ import annotations

import json
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from composer._run.outputs import Row, row, rows
from composer._run.writing import destination, write_outputs
from composer._signature import output_from_names
from composer.errors import InputError


def refused(outputs: object, path: Path) -> str:
    with pytest.raises(InputError) as caught:
        write_outputs(outputs, path)
    assert list(path.parent.iterdir()) == []
    return str(caught.value)


def test_a_row_holds_the_mean_and_the_euclidean_norm() -> None:
    assert row("x", jnp.array([3.0, 4.0])) == Row("x", "f32[2]", 3.5, 5.0)
    assert row("n", jnp.array([1, 2])) == Row("n", "i32[2]", 1.5, math.sqrt(5))
    assert row("b", jnp.array([True, False])) == Row("b", "bool[2]", 0.5, 1.0)
    assert row("h", jnp.ones(4, jnp.bfloat16)) == Row("h", "bf16[4]", 1.0, 2.0)
    assert row("c", jnp.array([3j, 4])) == Row("c", "c64[2]", 2 + 1.5j, 5.0)
    assert row("p", 3) == Row("p", "i64[]", 3.0, 3.0)


def test_keys_and_empty_arrays_have_neither() -> None:
    assert row("k", jax.random.key(0)) == Row("k", "key[]", None, None)
    assert row("e", jnp.zeros((0, 3))) == Row("e", "f32[0, 3]", None, None)


def test_what_is_not_finite_is_counted() -> None:
    found = row("x", jnp.array([1.0, jnp.nan, jnp.inf, -jnp.inf]))
    assert (found.nans, found.infs) == (1, 2)
    assert found.to_data()["mean"] is None


def test_the_norm_of_large_numbers_does_not_overflow() -> None:
    assert row("x", np.array([3e200, 4e200])).norm == pytest.approx(5e200)
    assert row("x", np.zeros(3)).norm == 0


def test_names_of_outputs_lead_to_each_array() -> None:
    outputs = (1.0, {"w": np.ones(2), "b": (np.ones(1),)})
    assert [item.name for item in rows(outputs)] == ["0", "1.b.0", "1.w"]
    names = output_from_names(["loss", "grads"])
    assert [item.name for item in rows(outputs, names)] == ["loss", "grads.b.0", "grads.w"]
    assert [item.name for item in rows(np.ones(1))] == ["output"]
    assert [item.name for item in rows(np.ones(1), output_from_names(["loss"]))] == ["loss"]


def test_an_npz_holds_every_array_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "new" / "r.npz"
    write_outputs({"file": jnp.arange(3), "a/b": {"c": jnp.ones((2, 2))}}, path)
    with np.load(path) as found:
        assert sorted(found.files) == ["a/b.c", "file"]
        assert found["file"].tolist() == [0, 1, 2]
        assert found["a/b.c"].shape == (2, 2)
    assert [file.name for file in path.parent.iterdir()] == ["r.npz"]


def test_each_other_format_holds_the_same_numbers(tmp_path: Path) -> None:
    write_outputs(jnp.ones((2, 3)).T, tmp_path / "r.npy")
    assert np.load(tmp_path / "r.npy").shape == (3, 2)
    write_outputs({"loss": jnp.float32(0.5), "n": jnp.arange(2)}, tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text()) == {"loss": 0.5, "n": [0, 1]}
    write_outputs({"w": jnp.ones(2, jnp.bfloat16)}, tmp_path / "r.safetensors")
    assert safetensors.numpy.load_file(tmp_path / "r.safetensors")["w"].dtype == jnp.bfloat16


def test_what_a_format_cannot_hold_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    assert refused({"k": jax.random.key(0)}, tmp_path / "r.npz") == (
        "CMP070 k holds PRNG keys, which no file holds\n"
        "  write: jax.random.key_data in the function, or a select layer that drops it"
    )
    assert refused({"h": jnp.ones(1, jnp.bfloat16)}, tmp_path / "r.npz") == (
        "CMP070 h is bfloat16, which npy and npz cannot tell\n"
        "  write: a file that ends in .safetensors"
    )
    assert "a npy file holds one array, but there are 2 outputs" in refused(
        (1, 2), tmp_path / "r.npy"
    )
    assert "holds numbers that json does not know" in refused(
        jnp.array(jnp.nan), tmp_path / "r.json"
    )
    assert "json is for up to 100000 numbers" in refused(np.zeros(100_001), tmp_path / "r.json")
    assert "two outputs are called 'a.b'" in refused({"a": {"b": 1}, "a.b": 2}, tmp_path / "r.npz")


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "r.npy"
    write_outputs(np.ones(2), path)
    with pytest.raises(InputError):
        write_outputs((1, 2), path)
    assert np.load(path).tolist() == [1, 1]
    assert [file.name for file in tmp_path.iterdir()] == ["r.npy"]


def test_a_destination_is_checked_before_anything_runs(tmp_path: Path) -> None:
    assert destination("out/r.npz", tmp_path) == tmp_path / "out" / "r.npz"
    for file, said in {
        "r.txt": "CMP070 r.txt ends in none of .npz, .npy, .json, .safetensors",
        "../r.npz": "CMP068 ../r.npz is outside the project",
        "/r.npz": "CMP068 /r.npz is outside the project",
    }.items():
        with pytest.raises(InputError) as caught:
            destination(file, tmp_path)
        assert said in str(caught.value)
    (tmp_path / "d.npz").mkdir()
    with pytest.raises(InputError, match=r"d\.npz is a folder"):
        destination("d.npz", tmp_path)
