"""A whole run: devices, one call, outputs, and what it leaves behind."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import composer
from composer._run.runner import run_pipeline
from composer.errors import ComposerError

MODEL = """
import jax.numpy as jnp

def loss(w, x, y, n=2, *, scale=1.0):
    return jnp.mean((x @ w - y) ** 2) * n * scale

def late(x):
    import sibling_of_model
    return x * sibling_of_model.FACTOR

def double(x):
    return x + x

def broken(x):
    raise LookupError("not today")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "model_of_runner.py").write_text(MODEL)
    (tmp_path / "sibling_of_model.py").write_text("FACTOR = 3\n")
    return tmp_path


def pipeline(project: Path, text: str) -> composer.Pipeline:
    path = project / "p.yaml"
    path.write_text("composer: 1\n" + text)
    return composer.load(path)


LOSS = """
function: model_of_runner:loss
returns: [loss]
static: [n]
args:
  w: [1.0, 2.0]
  x: {linspace: [0, 1, 16]}
  y: {ones: "f32[8]"}
  n: 3
  scale: 0.5
"""

DATA = {"x": np.linspace(0, 1, 16).reshape(8, 2), "y": np.ones(8), "w": np.array([1.0, 2.0])}


def closed_form() -> tuple[float, np.ndarray]:
    """Loss and gradient of the mean squared error, times 3 * 0.5."""
    rest = DATA["x"] @ DATA["w"] - DATA["y"]
    return 1.5 * float(np.mean(rest**2)), 1.5 * 2 / 8 * DATA["x"].T @ rest


def with_data(project: Path, stack: str, more: str = "") -> composer.Pipeline:
    np.savez(project / "d.npz", **DATA)
    text = LOSS.replace("{linspace: [0, 1, 16]}", '{file: d.npz, key: x, shape: "f32[b, 2]"}')
    return pipeline(project, f"{text}stack:\n{stack}{more}")


def test_a_jitted_stack_with_static_and_keyword_only_arguments_gives_numpys_values(
    project: Path,
) -> None:
    result = run_pipeline(
        with_data(
            project, "  - value_and_grad: {argnums: w}\n  - jit\n", "write: {file: out/r.npz}\n"
        )
    )
    loss, grads = closed_form()
    assert [row.name for row in result.rows] == ["loss", "grads"]
    assert result.rows[0].mean == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(result.outputs[1], grads, rtol=1e-6)
    assert result.seconds.compile is not None
    assert result.written == project / "out" / "r.npz"
    with np.load(project / "out" / "r.npz") as found:
        np.testing.assert_array_equal(found["grads"], result.outputs[1])


def test_a_stack_that_is_not_jitted_gives_the_same_and_one_time(project: Path) -> None:
    result = run_pipeline(with_data(project, "  - value_and_grad: {argnums: w}\n"))
    np.testing.assert_allclose(result.outputs[1], closed_form()[1], rtol=1e-6)
    assert result.seconds.compile is None


def test_arguments_are_split_over_four_devices(project: Path) -> None:
    stack = (
        "  - value_and_grad: {argnums: w}\n"
        "  - pmap: {axis_name: d, in_axes: {x: 0, y: 0}, split: true, sync: pmean}\n"
        "  - jit\n"
    )
    result = run_pipeline(with_data(project, stack), devices=4)
    np.testing.assert_allclose(result.outputs[1], closed_form()[1], rtol=1e-6)
    assert len(result.facts["devices"]) == 4


def test_a_donated_argument_is_used_once(project: Path) -> None:
    text = (
        "function: model_of_runner:double\nargs: {x: [1.0, 2.0]}\n"
        "stack:\n  - jit: {donate_argnums: x}\n"
    )
    assert run_pipeline(pipeline(project, text)).outputs.tolist() == [2, 4]


def test_x64_holds_for_the_run_and_no_longer(project: Path) -> None:
    text = "function: model_of_runner:double\nargs: {x: 0.1}\nstack: [jit]\n"
    for result in (
        run_pipeline(pipeline(project, text), x64=True),
        run_pipeline(pipeline(project, text + "run: {enable_x64: true}\n")),
    ):
        assert result.outputs.dtype == np.float64
        assert float(result.outputs) == 0.2
        assert result.facts["enable_x64"] is True
    forced = run_pipeline(pipeline(project, text + "run: {enable_x64: true}\n"), x64=False)
    assert forced.outputs.dtype == np.float32
    assert jnp.zeros(()).dtype == np.float32


def test_a_function_may_import_its_sibling_when_it_is_traced(project: Path) -> None:
    text = "function: model_of_runner:late\nargs: {x: 2}\nstack: [jit]\n"
    assert int(run_pipeline(pipeline(project, text)).outputs) == 6


def test_the_users_exception_comes_through_as_it_is(project: Path) -> None:
    text = "function: model_of_runner:broken\nargs: {x: 2}\nstack: [jit]\n"
    with pytest.raises(LookupError, match="not today"):
        run_pipeline(pipeline(project, text))
    assert not (project / "runs").exists()


def test_the_manifest_tells_what_was_run_and_with_what(project: Path) -> None:
    result = run_pipeline(with_data(project, "  - jit\n"), command=["composer", "run", "p.yaml"])
    assert result.manifest is not None
    assert result.manifest.parent.parent == project / "runs" / "p"
    found = json.loads(result.manifest.read_text())
    assert found == json.loads(json.dumps(result.facts))
    assert found["sha256"] == hashlib.sha256(found["pipeline"].encode()).hexdigest()
    assert found["versions"]["jax"] == jax.__version__
    assert found["versions"]["numpy"] == np.__version__
    assert found["command"] == ["composer", "run", "p.yaml"]
    assert found["arguments"] == {
        "w": "f32[2]",
        "x": "f32[8, 2]",
        "y": "f32[8]",
        "n": "static: 3",
        "scale": "f32[]",
    }
    assert found["outputs"][0]["shape"] == "f32[]"
    assert found["written"] is None


def test_the_text_in_the_manifest_is_the_pipeline(project: Path) -> None:
    made = with_data(project, "  - jit\n")
    result = run_pipeline(made)
    again = project / "again.yaml"
    again.write_text(str(result.facts["pipeline"]))
    assert composer.load(again) == made


def test_runs_of_one_second_stand_side_by_side(project: Path) -> None:
    text = "function: model_of_runner:double\nname: my run\nargs: {x: 1}\nstack: [jit]\n"
    manifests = {run_pipeline(pipeline(project, text)).manifest for _ in range(3)}
    assert len(manifests) == 3
    assert len(list((project / "runs" / "my_run").iterdir())) == 3


def test_sealed_text_leaves_a_manifest_only_where_it_is_told(tmp_path: Path) -> None:
    text = "composer: 1\nfunction: f\nargs: {x: 2}\nstack: [jit]\n"
    sealed = composer.loads(text, functions={"f": lambda x: x * x})
    assert run_pipeline(sealed).manifest is None
    told = run_pipeline(sealed, outdir=tmp_path / "here")
    assert int(told.outputs) == 4
    assert told.manifest is not None
    assert told.manifest.is_relative_to(tmp_path / "here" / "f")


def test_devices_that_are_started_cannot_become_more(project: Path) -> None:
    text = "function: model_of_runner:double\nargs: {x: 1}\nstack: [jit]\n"
    jax.devices()
    with pytest.raises(ComposerError) as caught:
        run_pipeline(pipeline(project, text), devices=5)
    assert str(caught.value) == (
        "CMP092 5 devices cannot be simulated: JAX has started with 4 cpu devices\n"
        "  their number is fixed by the first JAX call, also by one in an imported module\n"
        "  write: composer run --devices 5 ...     # in a process of its own"
    )
    assert caught.value.exit_code == 3


def test_a_mesh_of_more_devices_than_there_are_is_refused_at_its_place(project: Path) -> None:
    text = "function: model_of_runner:double\nmesh: {data: 8}\nargs: {x: 1}\nstack: [jit]\n"
    with pytest.raises(ComposerError) as caught:
        run_pipeline(pipeline(project, text))
    [found] = caught.value.diagnostics
    assert found.code == "CMP090"
    assert found.message == "mesh needs 8 devices, but there are 4"
    assert found.place is not None
    assert (found.place.line, found.place.column) == (3, 7)


def test_a_wrong_destination_is_said_before_anything_is_imported(project: Path) -> None:
    text = "function: no_such_module:f\nstack: [jit]\nwrite: {file: ../r.npz}\n"
    with pytest.raises(ComposerError, match=r"CMP068 \.\./r\.npz is outside the project"):
        run_pipeline(pipeline(project, text))
