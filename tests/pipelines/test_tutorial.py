"""What the source tutorials show, each row as a pipeline with an independent value."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import composer
from composer import ComposeError

ROOT = Path(__file__).parents[2] / "pipelines"
FOLDER = ROOT / "tutorial"
P = np.array([0.5, -0.2])
X = np.array([[1.0, 2.0], [3.0, 4.0]])
Y = np.array([1.0, 2.0])


def out(name):
    return jax.tree.map(np.asarray, composer.load(FOLDER / f"{name}.yaml").call())


def args(name):
    return [
        np.asarray(value, np.float64) for value in composer.load(FOLDER / f"{name}.yaml").args()
    ]


@pytest.mark.parametrize("name", ["01_fast_fn", "01_slow_fn"])
def test_one_addition_and_a_thousand_give_1001(name):
    assert float(out(name)) == 1001.0


def test_a_thousand_doublings_overflow_to_infinity():
    assert np.all(np.isposinf(out("02_overflow")))


def test_ten_doublings_have_a_closed_form():
    np.testing.assert_array_equal(out("02_ten_steps"), 2**10 * np.array([1, 2, 3]) + 1023)


def test_dot_mapped_over_rows_equals_the_loop():
    x, w = args("03_dot")
    got = out("03_dot")
    assert got.shape == (32, 5)
    np.testing.assert_allclose(got, np.stack([row @ w for row in x]))
    assert np.all(got == 10)


def test_multiply_add():
    np.testing.assert_array_equal(out("04_multiply_add"), [5, 11, 19])


def test_nested_vmap_gives_all_pairs():
    np.testing.assert_allclose(out("05_nested_vmap"), [[0, 10, 3], [5, 5, 4]])


def test_split_pmap_gives_the_device_axis_first():
    got = out("06_pmap_split")
    assert got.shape == (4, 8, 5)
    assert np.all(got == 10)


def test_plain_pmap_squares():
    np.testing.assert_array_equal(out("06_pmap_square"), [[1], [4], [9], [16]])


def test_the_gradient_of_the_mean_squared_error():
    wanted = 2 / len(Y) * X.T @ (X @ P - Y)
    np.testing.assert_allclose(wanted, [-4.8, -7.0])
    np.testing.assert_allclose(out("07_gradient"), wanted, rtol=1e-6)


def test_second_derivatives():
    assert float(out("08_second_derivative")) == 10.0
    np.testing.assert_allclose(out("08_hessian"), 2 / len(Y) * X.T @ X, rtol=1e-6)
    np.testing.assert_allclose(out("08_hessian"), [[10, 14], [14, 20]], rtol=1e-6)


@pytest.mark.parametrize("name", ["09_train_step", "09_train_step_declared"])
def test_a_training_step_moves_against_the_gradient(name):
    np.testing.assert_allclose(out(name), P - 0.01 * np.array([-4.8, -7.0]), rtol=1e-6)


def test_per_example_gradients_on_each_device():
    p, x, y = args("10_per_example")
    each = 2 * (x @ p - y)[:, None] * x
    got = out("10_per_example")
    assert got.shape == (4, 8, 2)
    np.testing.assert_allclose(got.reshape(32, 2), each, rtol=1e-5, atol=1e-6)


def test_the_distributed_step_gives_the_batch_gradient():
    p, x, y = args("10_batch_gradient")
    wanted = 2 / len(y) * x.T @ (x @ p - y)
    np.testing.assert_allclose(out("10_batch_gradient"), wanted, rtol=1e-5)


def test_without_the_mean_pmean_averages_row_i_over_the_devices(tmp_path):
    p, x, y = args("10_batch_gradient")
    lines = (FOLDER / "10_batch_gradient.yaml").read_text().splitlines(keepends=True)
    text = "".join(line for line in lines if "reduce: mean" not in line)
    (tmp_path / "wrong.yaml").write_text(text)
    (tmp_path / "functions.py").write_text((FOLDER / "functions.py").read_text())
    got = np.asarray(composer.load(tmp_path / "wrong.yaml").call())
    each = 2 * (x @ p - y)[:, None] * x
    assert got.shape == (8, 2)
    np.testing.assert_allclose(got, each.reshape(4, 8, 2).mean(axis=0), rtol=1e-5, atol=1e-6)


def test_batch_norm_is_wrong_per_device_and_right_when_synced():
    rows = np.arange(8.0)
    local, synced = out("11_batch_norm_local"), out("11_batch_norm_synced")
    np.testing.assert_allclose(local["mean"].ravel(), [0.5, 2.5, 4.5, 6.5])
    np.testing.assert_allclose(local["var"].ravel(), [0.25] * 4, rtol=1e-5)
    np.testing.assert_allclose(synced["mean"], [rows.mean()])
    np.testing.assert_allclose(synced["var"], [rows.var()])
    wanted = (rows - rows.mean()) / np.sqrt(rows.var() + 1e-5)
    np.testing.assert_allclose(synced["x"].ravel(), wanted, rtol=1e-5)


def test_host_arrays_give_the_same():
    np.testing.assert_array_equal(out("12_host_arrays"), np.arange(4) * 2 + 1)


def test_several_losses_have_a_gradient_each():
    error = X @ P - Y
    wanted = [2 / len(Y) * X.T @ error, X.T @ np.sign(error) / len(Y)]
    np.testing.assert_allclose(out("14_several_losses"), wanted, rtol=1e-6)


def test_grad_of_several_losses_is_refused_with_the_choice():
    text = (FOLDER / "14_several_losses.yaml").read_text().replace("jacrev", "grad")
    sys.path.insert(0, str(FOLDER))
    try:
        import functions
    finally:
        sys.path.remove(str(FOLDER))
    sealed = composer.loads(
        text.replace("functions:two_losses", "f"), functions={"f": functions.two_losses}
    )
    with pytest.raises(ComposeError, match=r"grad needs one scalar.*float32\[2\]") as caught:
        sealed.call()
    assert "jacrev" in str(caught.value)


def test_environments_stepped_at_once_equal_a_loop_over_them():
    p = composer.load(FOLDER / "15_environments.yaml")
    states, keys, _ = p.args()
    got = out("15_environments")
    for row in range(8):
        angle, speed = np.asarray(states[row], np.float64)
        push = 0.1 * float(jax.random.normal(keys[row]))
        speed = speed - 0.05 * 9.81 * np.sin(angle) + push
        np.testing.assert_allclose(got[row], [angle + 0.05 * speed, speed], rtol=1e-5, atol=1e-6)


SHIPPED = sorted(ROOT.rglob("*.yaml"))


def untested(pipelines, tests):
    """Pipelines that no test names."""
    sources = "".join(path.read_text() for path in tests)
    named = ('"{}"', "pipelines/{}.yaml")
    return [p.stem for p in pipelines if not any(n.format(p.stem) in sources for n in named)]


def test_every_shipped_pipeline_is_named_by_a_test():
    assert untested(SHIPPED, Path(__file__).parent.glob("test_*.py")) == []


def test_a_new_pipeline_without_a_test_is_noticed(tmp_path):
    new = ROOT / "tutorial" / "16_new.yaml"
    assert untested([*SHIPPED, new], [Path(__file__).with_name("test_digits.py")]) == [
        *[path.stem for path in SHIPPED if path.parent == FOLDER],
        new.stem,
    ]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_pipeline_is_written_down_again_as_the_same_pipeline(path, tmp_path):
    p = composer.load(path)
    (tmp_path / "again.yaml").write_text(p.to_yaml())
    assert composer.load(tmp_path / "again.yaml") == p


def test_reading_every_shipped_pipeline_imports_neither_jax_nor_the_functions():
    script = (
        "import sys, json, composer\n"
        "for path in sys.argv[1:]: assert composer.load(path).stack\n"
        "heavy = {'jax', 'numpy', 'functions', 'digits'} & set(sys.modules)\n"
        "print(json.dumps(sorted(heavy)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, SHIPPED)],
        capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert json.loads(done.stdout) == []
