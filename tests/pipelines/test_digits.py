"""The headline job: loss and gradient of softmax regression equal NumPy's closed form."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

ROOT = Path(__file__).parents[2]

# In a process of its own: the number of devices and x64 are fixed when JAX starts.
SCRIPT = """
import pathlib, sys
from composer._run.runner import run_pipeline
import composer, jax, numpy as np
p = composer.load("pipelines/digits.yaml")
result = run_pipeline(p, devices=int(sys.argv[1]), outdir=pathlib.Path(sys.argv[2]))
assert len(jax.devices()) == int(sys.argv[1])
loss, grads = result.outputs
with jax.enable_x64(True):
    params = p.args()[0]
np.savez(sys.argv[2] + "/out.npz", loss=loss, w0=params["w"], b0=params["b"], **grads)
"""


def closed_form(w, b):
    """Loss and gradient of the mean cross-entropy, by NumPy in float64."""
    x, y = load_digits(return_X_y=True)
    x, y = x[:1796] / 16, y[:1796]
    scores = x @ w + b
    scores -= scores.max(axis=1, keepdims=True)
    p = np.exp(scores)
    p /= p.sum(axis=1, keepdims=True)
    loss = -np.mean(np.log(p[np.arange(len(y)), y]))
    error = p - np.eye(10)[y]
    return loss, x.T @ error / len(y), error.mean(axis=0)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What comes out, by the number of devices."""
    found = {}
    for devices in (4, 1):
        folder = tmp_path_factory.mktemp("digits")
        command = [sys.executable, "-W", "error", "-c", SCRIPT, str(devices), str(folder)]
        subprocess.run(command, check=True, cwd=ROOT, timeout=120)
        found[devices] = np.load(folder / "out.npz")
    return found


@pytest.mark.parametrize("devices", [4, 1])
def test_loss_and_gradient_equal_the_closed_form(runs, devices):
    run = runs[devices]
    assert run["w"].dtype == np.float64
    loss, w, b = closed_form(run["w0"], run["b0"])
    np.testing.assert_allclose(run["loss"], loss, rtol=1e-12)
    np.testing.assert_allclose(run["w"], w, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(run["b"], b, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("output", ["loss", "w", "b"])
def test_four_devices_give_what_one_gives(runs, output):
    # A few units in the last place: the rows are summed in another order.
    difference = np.abs(runs[4][output] - runs[1][output]).max()
    assert difference <= 2e-15 * np.abs(runs[1][output]).max()


@pytest.mark.parametrize("devices", [4, 1])
def test_the_command_line_prints_the_same_as_one_json_document(runs, tmp_path, devices):
    options = ["--json", "--out", str(tmp_path), *(["--devices", "1"] if devices == 1 else [])]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "composer", "run", "pipelines/digits.yaml", *options],
        capture_output=True, text=True, check=True, cwd=ROOT, timeout=120,
    )  # fmt: skip
    rows = {row["name"]: row for row in json.loads(done.stdout)["outputs"]}
    shapes = {name: row["shape"] for name, row in rows.items()}
    assert shapes == {"loss": "f64[]", "grads.w": "f64[64, 10]", "grads.b": "f64[10]"}
    loss, w, b = closed_form(runs[4]["w0"], runs[4]["b0"])
    np.testing.assert_allclose(rows["loss"]["mean"], loss, rtol=1e-12)
    np.testing.assert_allclose(rows["grads.w"]["norm"], np.linalg.norm(w), rtol=1e-12)
    np.testing.assert_allclose(rows["grads.b"]["norm"], np.linalg.norm(b), rtol=1e-12)
