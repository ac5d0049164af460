"""`composer show` and the overlay options, as a person or a script meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import composer
from composer._overlay.edits import Drop, InsertAfter, Set
from composer.cli import run_command

REPOSITORY = Path(__file__).parents[2]

BASE = """\
composer: 1
function: model:f
args:
  w: [1.0, 2.0]
  x: {random: normal, shape: "f32[8, 2]", seed: 0}
stack:
  - grad
  - vmap: {in_axes: {x: 0}}
  - pmap: {split: true, sync: pmean}
  - jit
"""
TRAIN = """\
extends: base.yaml
name: train
set: {args.x.seed: 3}
profiles:
  laptop:
    drop: [pmap]
    run: {simulate_devices: 2}
    set:
      stack.vmap.axis_size: 8
"""
RESOLVED = """\
composer: 1                                         # from base.yaml:1
name: train
function: model:f                                   # from base.yaml:2
args:
  w: [1.0, 2.0]                                     # from base.yaml:4
  x: {random: normal, shape: "f32[8, 2]", seed: 3}  # random, shape: from base.yaml:5
stack:
  - grad                                            # from base.yaml:7
  - checkpoint                                      # --insert-after
  - vmap: {in_axes: {x: 0, w: null}, axis_size: 8}  \
# in_axes.x: from base.yaml:8; in_axes.w: --set; axis_size: profile laptop, train.yaml:9
  - jit: {donate_argnums: w}                        # donate_argnums: --set
run: {simulate_devices: 2}                          # profile laptop, train.yaml:7
"""
OPTIONS = (
    "--profile", "laptop", "--set", "stack.vmap.in_axes.w=null", "--insert-after",
    "grad=checkpoint", "--set", "stack.jit.donate_argnums=w",
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "train.yaml").write_text(TRAIN)
    (tmp_path / "model.py").write_text("def f(w, x):\n    return (w * x).sum()\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run_command(["show", *arguments]) == 0
    found = capsys.readouterr()
    assert found.err == ""
    return found.out


def test_what_the_file_does_not_say_itself_has_a_comment(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(capsys, "train.yaml", *OPTIONS) == RESOLVED


def test_what_is_printed_reads_as_the_equal_pipeline(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "again.yaml").write_text(shown(capsys, "train.yaml", *OPTIONS))
    edits = (
        Set("stack.vmap.in_axes.w", None),
        InsertAfter("grad", "checkpoint"),
        Set("stack.jit.donate_argnums", "w"),
    )
    loaded = composer.load("train.yaml", profiles=("laptop",), edits=edits)
    assert composer.load("again.yaml") == loaded
    assert {"extends", "profiles"}.isdisjoint(loaded.to_data())


def test_without_overlays_nothing_is_said_unless_it_is_asked_for(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(capsys, "base.yaml") == BASE
    lines = shown(capsys, "base.yaml", "--origin").splitlines()
    assert lines[1].split("  # ") == [f"{'function: model:f':<50}", "from base.yaml:2"]
    assert [line.rpartition(":")[2] for line in lines if "#" in line] == [
        "1", "2", "4", "5", "7", "8", "9", "10",
    ]  # fmt: skip


def test_options_of_different_names_apply_in_the_order_in_which_they_stand(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = ["--drop", "pmap", "--insert-after", "grad=pmap", "--set", "stack.pmap.split=true"]
    text = shown(capsys, "base.yaml", *edits)
    assert [line.split("#")[0].strip() for line in text.splitlines()[6:]] == [
        "- grad", "- pmap: {split: true}", "- vmap: {in_axes: {x: 0}}", "- jit",
    ]  # fmt: skip
    assert run_command(["show", "base.yaml", *edits[2:4], *edits[:2]]) == 2
    assert "CMP055 pmap stands 2 times" in capsys.readouterr().err


def test_json_holds_the_data_and_who_wrote_each_value(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(shown(capsys, "train.yaml", *OPTIONS, "--json"))
    assert found["pipeline"]["stack"][2] == {
        "vmap": {"in_axes": {"x": 0, "w": None}, "axis_size": 8}
    }
    origins = {".".join(map(str, item.pop("path"))): item for item in found["origins"]}
    assert origins["name"] == {
        "file": "train.yaml", "line": 2, "column": 7, "profile": None, "edit": None,
    }  # fmt: skip
    assert origins["run.simulate_devices"] == {
        "file": "train.yaml", "line": 7, "column": 29, "profile": "laptop", "edit": None,
    }  # fmt: skip
    assert origins["stack.2.vmap.in_axes.w"] == {
        "file": "<command line>", "line": 1, "column": 28, "profile": None, "edit": "--set",
    }  # fmt: skip
    assert len(origins) == 15


def test_json_of_a_failure_is_one_document_too(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["show", "base.yaml", "--drop", "pmpa", "--json"]) == 2
    [found] = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (found["code"], found["place"]["column"], found["cure"]) == ("CMP054", 8, "pmap")


def test_names_of_files_and_profiles_cannot_steer_a_terminal(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "a\nb.yaml").write_text(BASE)
    (project / "c.yaml").write_text('extends: "a\\nb.yaml"\nname: c\n')
    text = shown(capsys, "c.yaml")
    assert "# from a\\nb.yaml:2" in text
    (project / "c.yaml").write_text(BASE + 'profiles: {"\\e[31m": {name: a}}\n')
    assert "name: a  # profile \\x1b[31m, c.yaml:11" in " ".join(
        shown(capsys, "c.yaml", "--profile", "\x1b[31m").split("   ")
    ).replace("    ", "")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "error"}


CHILD = """
import sys
from composer.cli import run_command
assert run_command(["show", "train.yaml", "--profile", "laptop", "--set", "name=a"]) == 0
{more}
print([name for name in ("jax", "jaxlib", "numpy", "rich", "model") if name in sys.modules])
"""


@pytest.mark.parametrize(("more", "found"), [("", "[]"), ("import model", "['model']")])
def test_showing_imports_neither_jax_nor_the_users_code_and_this_can_fail(
    project: Path, more: str, found: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD.format(more=more)],
        env={**environment(), "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{project}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == found


def test_a_run_takes_the_same_overlays(project: Path) -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "composer", "run", "train.yaml", "--profile", "laptop",
            "--set", 'args.x={ones: "f32[8, 2]"}', "--set", "run.simulate_devices=1",
            "--insert-before", "jit={reduce: sum}", "--json",
        ],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # The gradient of sum(w * x) by w is x; 8 rows of ones are summed.
    assert [(row["shape"], row["mean"]) for row in found["outputs"]] == [("f32[2]", 8.0)]
    assert len(found["devices"]) == 1
    assert "extends" not in found["pipeline"]


def test_plain_jax_is_written_of_what_the_overlays_leave(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["code", "train.yaml", "--profile", "laptop", "--drop", "jit"]) == 0
    text = capsys.readouterr().out
    assert "jax.vmap(" in text
    assert "pmap" not in text
    assert "jax.jit" not in text


def test_the_words_of_python_and_of_the_command_line_are_the_same(project: Path) -> None:
    assert composer.Drop is Drop
    assert composer.load("base.yaml", edits=(Drop("pmap"),)).stack == tuple(
        layer for layer in composer.load("base.yaml").stack if layer.word != "pmap"
    )
