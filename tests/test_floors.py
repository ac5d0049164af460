"""Imports go down only, and no floor up to the registry brings JAX or NumPy along."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACT = PROJECT["tool"]["importlinter"]["contracts"][0]
HEAVY = ("jax", "jaxlib", "numpy", "optax", "rich", "scipy", "sklearn")

# Run in a fresh interpreter: each statement in turn, and what it brought along.
PROBE = """
import json, sys
statements, heavy = json.loads(sys.argv[1])
brought = {}
for statement in statements:
    exec(statement)
    new = [name for name in heavy if name in sys.modules]
    if new:
        brought[statement] = new
        break
print(json.dumps(brought))
"""

PIPELINE = """\
composer: 1
function: nowhere:loss
args:
  w: f32[3]
  x: f32[8, 3]
stack:
  - grad
  - vmap: {in_axes: {x: 0}}
  - jit
"""


def brought_along(statements: Sequence[str], heavy: Sequence[str] = HEAVY) -> dict[str, list[str]]:
    """The first of the statements that imports something heavy, with what it imported."""
    process = run(["-c", PROBE, json.dumps([statements, heavy])], ROOT)
    assert process.returncode == 0, process.stderr
    found: dict[str, list[str]] = json.loads(process.stdout)
    return found


def run(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """This Python in a fresh process that finds the `composer` package in `folder`."""
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """import-linter over the package in `folder`."""
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return run(["-c", script, "--no-cache"], folder)


def layers() -> list[str]:
    """The modules of the contract, highest floor first."""
    return [name.strip() for floor in CONTRACT["layers"] for name in floor.split("|")]


def modules(names: Iterable[str]) -> list[str]:
    """Dotted names of the modules in these files and folders of `composer/`.

    Not those of `transforms/_*.py`, the half of a transform that `build` imports.
    """
    found = []
    for name in names:
        path = ROOT / "composer" / name
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        for file in files:
            parts = file.relative_to(ROOT).with_suffix("").parts
            if name != "transforms" or parts[-1] == "__init__" or not parts[-1].startswith("_"):
                found.append(".".join(part for part in parts if part != "__init__"))
    return found


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to be spoilt."""
    shutil.copytree(
        ROOT / "composer", tmp_path / "composer", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_importing_composer_and_every_floor_up_to_the_registry_imports_no_jax() -> None:
    low = layers()[layers().index("_registry") :]
    names = ["composer", *modules(low), *modules(["cli"])]
    assert len(names) > 25
    assert brought_along([f"import {name}" for name in names]) == {}


def test_reading_a_pipeline_and_listing_its_layers_imports_no_jax(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(PIPELINE, encoding="utf-8")
    statements = [
        "import composer",
        f"pipeline = composer.load({str(file)!r})",
        "assert [layer.word for layer in pipeline.stack] == ['grad', 'vmap', 'jit']",
        "repr(pipeline)",
    ]
    assert brought_along(statements) == {}


def test_this_test_fails_for_a_module_that_imports_jax() -> None:
    found = brought_along(["import composer", "import jax.numpy"])
    assert list(found) == ["import jax.numpy"]
    assert {"jax", "jaxlib", "numpy"} <= set(found["import jax.numpy"])


def test_imports_go_down_only_and_every_module_has_a_floor() -> None:
    process = lint(ROOT)
    assert process.returncode == 0, process.stdout


def test_a_module_without_a_floor_is_refused(copied: Path) -> None:
    (copied / "composer" / "newcomer.py").write_text("", encoding="utf-8")
    process = lint(copied)
    assert process.returncode == 1
    assert "newcomer" in process.stdout


def test_an_import_that_goes_up_is_refused(copied: Path) -> None:
    with (copied / "composer" / "errors.py").open("a", encoding="utf-8") as file:
        file.write("\nimport composer._registry\n")
    process = lint(copied)
    assert process.returncode == 1
    assert "composer.errors -> composer._registry" in process.stdout
