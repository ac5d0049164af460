"""`composer lint` and `composer rules`: findings, exit codes, pages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from composer.cli import run_command
from composer.rules import all_rules

REPOSITORY = Path(__file__).parents[2]
MODULE = """
import jax.numpy as jnp


def loss(w, x):
    return jnp.mean((w * x) ** 2)
"""
RIGHT = """composer: 1
function: m:loss
args: {w: 1.0, x: [1.0, 2.0]}
stack:
  - grad: {argnums: w}
  - jit
"""
UNSYNCED = """composer: 1
function: m:loss
args: {w: "f32[]", x: "f32[8]"}
stack:
  - collective: {op: pmean, axis_name: devices}
  - grad: {argnums: w}
  - pmap: {axis_name: devices, in_axes: {x: 0}, split: true}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "m.py").write_text(MODULE)
    (tmp_path / "right.yaml").write_text(RIGHT)
    (tmp_path / "unsynced.yaml").write_text(UNSYNCED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *arguments):
    code = run_command(list(arguments))
    return code, capsys.readouterr()


def test_a_right_pipeline_gives_nothing_and_0(folder, capsys):
    code, text = said(capsys, "lint", "right.yaml")
    assert (code, text.out) == (0, "no findings in 1 file\n")
    assert said(capsys, "lint", "-q", "right.yaml")[1].out == ""


def test_a_finding_has_place_line_and_cure_and_gives_1(folder, capsys):
    code, text = said(capsys, "lint", "unsynced.yaml")
    assert code == 1
    assert text.out.startswith("unsynced.yaml:5:5: CMP312 ")
    assert "\n    5 |   - collective: {op: pmean, axis_name: devices}\n" in text.out
    assert "more:  composer rules CMP312\n" in text.out


def test_a_folder_stands_for_its_files(folder, capsys):
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "broken.yaml").write_text("[")
    code, text = said(capsys, "lint", "--format", "concise", ".")
    lines = text.out.splitlines()
    assert code == 1
    assert all(line.startswith("unsynced.yaml:") for line in lines[:-2])
    assert lines[-2].endswith("in 2 files")


def test_an_empty_folder_is_a_usage_error(folder, capsys):
    (folder / "empty").mkdir()
    code, text = said(capsys, "lint", "empty")
    assert code == 2
    assert "no .yaml or .yml file" in text.err


def test_a_file_that_cannot_be_read_gives_2_and_the_others_are_linted(folder, capsys):
    code, text = said(capsys, "lint", "--format", "json", "missing.yaml", "unsynced.yaml")
    codes = [item["code"] for item in json.loads(text.out)["diagnostics"]]
    assert code == 2
    assert codes[0] == "CMP014"
    assert "CMP312" in codes


def test_fail_on_says_from_which_severity_on_it_is_1(folder, capsys):
    path = str(REPOSITORY / "pipelines/tutorial/06_pmap_square.yaml")
    assert said(capsys, "lint", path)[0] == 0
    assert said(capsys, "lint", "--fail-on", "info", path)[0] == 1
    assert said(capsys, "lint", "--fail-on", "error", path)[0] == 0


@pytest.mark.parametrize("word", ["CMP312", "CMP31", "pmean-inside-grad", "CMP2,CMP312"])
def test_select_and_ignore_take_codes_beginnings_and_names(word, folder, capsys):
    assert "CMP312" in said(capsys, "lint", "--select", word, "unsynced.yaml")[1].out
    code, text = said(capsys, "lint", "--ignore", word, "unsynced.yaml")
    assert "CMP312" not in text.out
    assert code == 0
    assert said(capsys, "lint", "--select", "CMP5", "unsynced.yaml")[0] == 0


def test_an_unknown_rule_is_a_usage_error_with_the_nearest(folder, capsys):
    code, text = said(capsys, "lint", "--ignore", "pmean-inside-gard", "unsynced.yaml")
    assert code == 2
    assert "Did you mean pmean-inside-grad?" in text.err


def test_what_cannot_be_read_gives_2_whatever_is_selected(folder, capsys):
    assert said(capsys, "lint", "--select", "CMP5", "missing.yaml")[0] == 2


@pytest.mark.parametrize("word", ["CMP312", "pmean-inside-grad", "CMP501, CMP312"])
def test_a_comment_on_the_line_hides_what_it_names(word, folder, capsys):
    line = "  - collective: {op: pmean, axis_name: devices}"
    assert line in UNSYNCED
    text = UNSYNCED.replace(line, f"{line}  # composer: ignore[{word}] shown on purpose")
    (folder / "unsynced.yaml").write_text(text)
    code, said_ = said(capsys, "lint", "unsynced.yaml")
    assert "CMP312 pmean" not in said_.out
    assert ":5:5: CMP312" not in said_.out
    # The second name hides nothing, and that is said.
    assert ("CMP024" in said_.out) == ("CMP501" in word)
    assert code == int("CMP501" in word), said_.out


@pytest.mark.parametrize(("comment", "code"), [("ignore", "CMP025"), ("ignore[CMP312]", "CMP024")])
def test_a_comment_that_hides_nothing_is_a_finding(comment, code, folder, capsys):
    (folder / "right.yaml").write_text(RIGHT.replace("- jit", f"- jit  # composer: {comment}"))
    exit_code, text = said(capsys, "lint", "right.yaml")
    assert exit_code == 1
    assert text.out.startswith(f"right.yaml:6:10: {code} warning: ")


def test_a_comment_in_the_module_hides_a_finding_there(folder, capsys):
    slow = "def f(x):\n    for _ in range(1000):{}\n        x = x * 0.5\n    return x\n"
    (folder / "slow.yaml").write_text("composer: 1\nfunction: n:f\nargs: {x: 1.0}\nstack: [jit]\n")
    (folder / "n.py").write_text(slow.format(""))
    assert "n.py:2:5: CMP413" in said(capsys, "lint", "slow.yaml")[1].out
    (folder / "n.py").write_text(slow.format("  # composer: ignore[CMP413] the lesson"))
    assert said(capsys, "lint", "slow.yaml")[0] == 0


def test_github_gets_annotations_of_one_line_each(folder, capsys):
    (folder / "a,b%.yaml").write_text(UNSYNCED)
    code, text = said(capsys, "lint", "--format", "github", "a,b%.yaml")
    assert code == 1
    lines = text.out.splitlines()
    assert any(
        line.startswith("::error title=CMP312,file=a%2Cb%25.yaml,line=5,col=5::pmean")
        and "%0Awrite: " in line
        for line in lines
    ), lines
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)


def test_the_shipped_pipelines_have_no_warning(monkeypatch, capsys):
    monkeypatch.chdir(REPOSITORY)
    code, text = said(capsys, "lint", "pipelines")
    assert code == 0, text.out
    assert text.out.splitlines()[-2].endswith(
        f"in {len(list(Path('pipelines').rglob('*.yaml')))} files"
    )


def test_no_user_code_runs_and_jax_stays_out(folder):
    (folder / "m.py").write_text(MODULE + '\nraise SystemExit("the module ran")\n')
    code = (
        "import sys; from composer.cli import run_command;"
        "code = run_command(['lint', 'right.yaml', 'unsynced.yaml']);"
        "print(code, 'jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "1 False", done.stderr


def test_every_rule_stands_in_the_list_with_what_it_finds(capsys):
    rows = json.loads(said(capsys, "rules", "--json")[1].out)
    by_code = {row["code"]: row for row in rows}
    assert {rule.code for rule in all_rules()} <= set(by_code)
    assert all(row["summary"][0].isupper() and row["summary"].endswith(".") for row in rows)
    lines = said(capsys, "rules")[1].out.splitlines()
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("word", ["CMP312", "pmean-inside-grad"])
def test_a_rule_has_a_page_under_its_code_and_its_name(word, capsys):
    code, text = said(capsys, "rules", word)
    assert code == 0
    assert text.out.startswith("CMP312 pmean-inside-grad\n\n## What it does\n")


def test_a_code_without_a_page_has_its_meaning_and_an_unknown_one_the_nearest(capsys):
    assert "not a pipeline" in said(capsys, "rules", "CMP030")[1].out
    code, text = said(capsys, "rules", "pmean-inside-grab")
    assert code == 2
    assert "Did you mean pmean-inside-grad?" in text.err
