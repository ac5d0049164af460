"""`composer run` as a person or a script meets it: stdout, stderr, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

MODEL = """
import os
import subprocess
import sys
import time

import jax
import jax.numpy as jnp

def square(x):
    return {"y": x * x, "n": jnp.int32(3)}

def noisy(x):
    print("python prints")
    os.write(1, b"the descriptor too\\n")
    subprocess.run([sys.executable, "-c", "print('and a child')"])
    return x

def outer(x):
    return inner(x)

def inner(x):
    raise ValueError("no good")

def sleep(x):
    open("ready", "w").close()
    time.sleep(60)
    return x

def compute(x):
    open("ready", "w").close()
    # What JAX thinks cheap is computed by the thread that called, which then hears no signal.
    x = jnp.full((300, 300), x[0])
    return jax.lax.fori_loop(0, 10**9, lambda i, v: v @ v, x)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONWARNINGS": "error",
        "COLUMNS": "300",
    }


def write(project: Path, function: str, more: str = "", stack: str = "[jit]") -> None:
    text = f"composer: 1\nfunction: {function}\nargs: {{x: [1.0, -2.0]}}\nstack: {stack}\n{more}"
    (project / "p.yaml").write_text(text)


def composer(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "composer", *arguments],
        cwd=project, env=environment(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_a_table_of_outputs_is_printed_and_fits_80_columns(project: Path) -> None:
    write(project, "model:square", "write: {file: out.npz}\n")
    done = composer(project, "run", "p.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["output", "shape", "mean", "norm"]
    assert lines[1].split() == ["n", "i32[]", "3", "3"]
    assert lines[2].split() == ["y", "f32[2]", "2.5", "4.12311"]
    assert max(map(len, lines[:3])) <= 80
    assert f"written   {project / 'out.npz'}" in lines
    assert (project / "out.npz").exists()


def test_what_is_not_finite_is_said_loudly(project: Path) -> None:
    write(project, "jax.numpy:log")
    done = composer(project, "run", "p.yaml")
    assert done.returncode == 0
    assert "NOT FINITE: output holds 1 nan and 0 inf" in done.stdout


def test_json_is_one_document_whoever_else_prints(project: Path) -> None:
    write(project, "model:noisy")
    done = composer(project, "run", "p.yaml", "--json", "--out", "elsewhere")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["outputs"][0]["shape"] == "f32[2]"
    assert document["command"] == ["composer", "run", "p.yaml", "--json", "--out", "elsewhere"]
    assert Path(document["manifest"]).is_relative_to("elsewhere/p")
    for text in ("python prints", "the descriptor too", "and a child"):
        assert text in done.stderr


def test_json_of_a_failure_is_one_document_too(project: Path) -> None:
    write(project, "model:outer")
    done = composer(project, "run", "p.yaml", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {"error": {"type": "ValueError", "message": "no good"}}
    write(project, "model:outter")
    done = composer(project, "run", "p.yaml", "--json")
    assert done.returncode == 2
    [found] = json.loads(done.stdout)["diagnostics"]
    assert (found["code"], found["place"]["line"]) == ("CMP069", 2)


def test_the_users_frames_are_shown_and_no_others(project: Path) -> None:
    write(project, "model:outer")
    done = composer(project, "run", "p.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    frames = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert [line.rpartition(" ")[2] for line in frames] == ["outer", "inner"]
    assert "ValueError: no good\n" in done.stderr
    assert done.stderr.endswith("  more:  --traceback shows every frame\n")
    whole = composer(project, "run", "p.yaml", "--traceback")
    assert whole.returncode == 1
    assert "run_pipeline" in whole.stderr


def test_a_module_that_fails_shows_our_error_and_the_users_frame(project: Path) -> None:
    (project / "model.py").write_text("x = 1\ny = x / 0\n")
    write(project, "model:square")
    done = composer(project, "run", "p.yaml")
    assert done.returncode == 2
    assert "p.yaml:2:11: CMP069 model:square: module 'model' fails" in done.stderr
    assert f'File "{project / "model.py"}", line 2, in <module>' in done.stderr
    assert "composer/_reference.py" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "Missing argument 'FILE'"),
        (["run", "missing.yaml"], "CMP014"),
        (["run", "p.yaml", "--devices", "0"], "0 is not in the range 1<=x<=512"),
        (["run", "p.yaml", "--divices", "2"], "No such option"),
        (["rnu", "p.yaml"], "There is no command 'rnu'. Did you mean run?"),
        (["run", "bad.yaml"], "CMP034 there is no transform 'vmpa'"),
        (["run", "p.yaml", "-p", "no_such_plugin"], "CMP602 there is no plugin 'no_such_plugin'"),
    ],
)
def test_bad_usage_is_no_traceback(project: Path, arguments: list[str], said: str) -> None:
    write(project, "model:square", stack="[vmpa]")
    (project / "p.yaml").rename(project / "bad.yaml")
    write(project, "model:square")
    done = composer(project, *arguments)
    assert done.returncode == (3 if "-p" in arguments else 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_devices_are_simulated_by_option_or_file(project: Path) -> None:
    write(project, "jax.numpy:negative", stack="[{pmap: {split: true}}, jit]")
    done = composer(project, "run", "p.yaml", "--devices", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["devices"]) == 2
    write(
        project,
        "jax.numpy:negative",
        "run: {simulate_devices: 2}\n",
        "[{pmap: {split: true}}, jit]",
    )
    done = composer(project, "run", "p.yaml", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["devices"]) == 2


def test_too_few_devices_are_the_environments_fault_with_the_cure(project: Path) -> None:
    write(project, "model:square", "mesh: {data: 64}\n")
    done = composer(project, "run", "p.yaml")
    assert done.returncode == 3
    assert "CMP090 mesh needs 64 devices, but there is 1" in done.stderr
    assert "--devices 64" in done.stderr


def test_a_manifest_that_cannot_be_written_is_said_before_anything_is_computed(
    project: Path,
) -> None:
    write(project, "model:inner")
    (project / "runs").touch()
    done = composer(project, "run", "p.yaml")
    assert done.returncode == 2
    assert done.stderr == (
        f"CMP070 the manifest cannot be written: {project / 'runs'}: {project / 'runs'} is a file\n"
        "  write: composer run --out DIR ...     # a folder that can be written\n"
    )


def test_frames_of_python_and_numpy_are_not_the_users_code(project: Path) -> None:
    (project / "x.npz").touch()
    write(project, "model:square")
    done = composer(project, "run", "p.yaml", "--set", "args.x={file: x.npz}")
    assert done.stderr == (
        "<command line>:1:14: CMP063 x.npz: No data left in file\n"
        "    1 | --set args.x={file: x.npz}\n"
        "      |              ^^^^^^^^^^^^^\n"
    )


def test_a_module_that_is_no_python_shows_the_line(project: Path) -> None:
    (project / "model.py").write_text("def square(x): return (\n")
    write(project, "model:square")
    done = composer(project, "run", "p.yaml")
    assert done.stderr.endswith(
        f'  File "{project / "model.py"}", line 1\n'
        "    def square(x): return (\n"
        "                          ^\n"
        "SyntaxError: '(' was never closed\n"
        "  more:  --traceback shows every frame\n"
    )


def test_an_output_that_is_closed_is_no_failure(project: Path) -> None:
    write(project, "model:square")
    done = subprocess.run(
        ["sh", "-c", f"exec '{sys.executable}' -m composer run p.yaml >&-"],
        cwd=project, env=environment(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_x64_is_an_option(project: Path) -> None:
    write(project, "model:square")
    done = composer(project, "run", "p.yaml", "--x64", "--json")
    assert json.loads(done.stdout)["outputs"][1]["shape"] == "f64[2]"


# A test run in the background ignores SIGINT, and its children would inherit that.
LISTENING = (
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "runpy.run_module('composer', run_name='__main__')"
)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(("function", "stack"), [("sleep", "[]"), ("compute", "[jit]")])
def test_an_interrupted_run_says_by_what(
    project: Path, function: str, stack: str, number: int, code: int
) -> None:
    write(project, f"model:{function}", stack=stack)
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENING, "run", "p.yaml"],
        cwd=project, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        for _ in range(600):
            if (project / "ready").exists():
                break
            time.sleep(0.1)
        # What was traced is compiled, and runs.
        time.sleep(2 if function == "compute" else 0)
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert process.returncode == code
    assert b"Traceback" not in said


def test_help_imports_neither_jax_nor_rich() -> None:
    code = (
        "import sys; from composer.cli import run_command; run_command(['--help']);"
        "run_command(['run', '--help']); run_command(['transforms', '--help']);"
        "sys.exit(bool({'jax', 'rich', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Simulate N CPU devices." in done.stdout


def test_the_check_of_imports_can_fail() -> None:
    code = "import sys; import rich; sys.exit(bool({'jax', 'rich', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 1
