"""The README says what is true: its blocks run, its commands exist."""

import re
from pathlib import Path

import numpy as np
import pytest

import composer
from composer.cli import COMMANDS

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.S | re.M)


def test_the_pipeline_is_the_shipped_one(tmp_path):
    [text] = blocks("yaml")
    (tmp_path / "digits.yaml").write_text(text)
    assert composer.load(tmp_path / "digits.yaml") == composer.load(ROOT / "pipelines/digits.yaml")


def test_the_python_block_runs_and_its_numbers_are_right(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    [code] = blocks("python")
    world = {"__name__": "readme"}
    exec(compile(code, "README.md", "exec"), world)
    got = world["each"](
        np.array([0.5, -0.2], np.float32), np.ones((8, 2), np.float32), np.ones(8, np.float32)
    )
    np.testing.assert_allclose(got, np.full((8, 2), 2 * (0.3 - 1)), rtol=1e-6)
    assert float(world["slope"](2.0, power=3)) == 12.0
    assert "import jax" in capsys.readouterr().out


def test_every_command_is_named_and_every_named_command_exists():
    named = set(re.findall(r"`composer ([a-z]+)", TEXT))
    assert named == set(COMMANDS)


@pytest.mark.parametrize("target", ["demo", "test", "bench"])
def test_a_make_target_that_is_named_exists(target):
    assert f"make {target}" in TEXT
    assert f"\n{target}:" in (ROOT / "Makefile").read_text()


def test_the_error_that_is_shown_is_the_one_that_comes():
    shown = next(b for b in blocks("console") if "CMP301" in b).split("\n", 1)[1]
    real = (ROOT / "tests/data/errors/rows_do_not_divide.txt").read_text()
    assert shown == real.replace("rows_do_not_divide.yaml", "train.yaml")
