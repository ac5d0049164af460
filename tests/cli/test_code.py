"""`composer code`: what is printed, what is written, and what is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from composer.cli import run_command

REPOSITORY = Path(__file__).parents[2]
MODEL = Path(__file__).parents[1] / "data" / "code" / "model.py"
PIPELINE = "composer: 1\nfunction: model:loss\nstack: [grad, jit]\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    shutil.copy(MODEL, tmp_path)
    (tmp_path / "gradient.yaml").write_text(PIPELINE)
    monkeypatch.chdir(tmp_path)
    return "gradient.yaml"


EXPECTED = '''\
"""gradient: plain JAX for gradient.yaml.

Written by `composer code`. Call NAME(params, x, y), arguments by position.
model.py must be beside this file, or on the Python path.
"""

import jax

from model import loss

# grad
# jit
NAME = jax.jit(jax.grad(loss))
'''


def test_the_plain_jax_is_printed(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["code", file]) == 0
    assert capsys.readouterr() == (EXPECTED.replace("NAME", "gradient"), "")


def test_it_is_written_where_out_says_under_the_name_that_function_says(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["code", file, "--out", "plain.py", "--function", "step"]) == 0
    assert capsys.readouterr() == ("", "")
    assert Path("plain.py").read_text() == EXPECTED.replace("NAME", "step")


def test_what_is_written_runs(file: str, tmp_path: Path) -> None:
    assert run_command(["code", file, "--out", "plain.py"]) == 0
    code = "import numpy as np; from plain import gradient; import model as m;"
    code += "g = gradient(m.P, m.X, m.Y); r = m.X @ m.P - m.Y;"
    code += "np.testing.assert_allclose(g, 2 / 8 * m.X.T @ r, rtol=1e-5)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=tmp_path)


def test_a_folder_that_does_not_exist_is_an_error(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["code", file, "--out", "nowhere/plain.py"]) == 1
    expected = "CMP070 nowhere/plain.py cannot be written: No such file or directory\n"
    assert capsys.readouterr().err == expected


def test_a_function_that_is_no_name_is_bad_usage(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["code", file, "--function", "my step"]) == 2
    assert "Invalid value for --function: 'my step' is no name" in capsys.readouterr().err


def test_both_commands_are_there_without_importing_jax(tmp_path: Path) -> None:
    code = "import sys; from composer.cli import run_command; run_command(['code', '--help']);"
    done = subprocess.run(
        [sys.executable, "-c", f"{code} sys.exit('jax' in sys.modules)"],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0
