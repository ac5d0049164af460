"""The headline job: loss and gradient of softmax regression equal NumPy's closed form."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

ROOT = Path(__file__).parents[2]
SCRIPT = """
import pathlib, sys
from composer._run.runner import run_pipeline
import composer, jax, numpy as np
p = composer.load("pipelines/digits.yaml")
result = run_pipeline(p, devices=int(sys.argv[1]), outdir=pathlib.Path(sys.argv[2]))
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


@pytest.fixture(scope="module", params=[4, 1])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    command = [sys.executable, "-c", SCRIPT, str(request.param), str(folder)]
    subprocess.run(command, check=True, cwd=ROOT, timeout=120)
    return np.load(folder / "out.npz")


def test_loss_and_gradient_equal_the_closed_form_on_four_devices_and_on_one(run):
    assert run["w"].dtype == np.float64
    loss, w, b = closed_form(run["w0"], run["b0"])
    np.testing.assert_allclose(run["loss"], loss, rtol=1e-12)
    np.testing.assert_allclose(run["w"], w, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(run["b"], b, rtol=1e-12, atol=1e-15)


def test_the_command_line_prints_the_same_as_one_json_document(tmp_path):
    command = [sys.executable, "-m", "composer", "run", "pipelines/digits.yaml", "--json"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path)],
        capture_output=True, text=True, check=True, cwd=ROOT, timeout=120,
    )  # fmt: skip
    told = json.loads(done.stdout)
    rows = {row["name"]: row for row in told["outputs"]}
    assert set(rows) == {"loss", "grads.w", "grads.b"}
    assert rows["grads.w"]["shape"] == "f64[64, 10]"
    # The first draw of the parameters is fixed by its seed, so the loss is too.
    assert abs(rows["loss"]["mean"] - 2.4053348873035465) < 1e-12
