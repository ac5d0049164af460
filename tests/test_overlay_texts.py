"""What is wrong with an overlay is said with code, place and cure: every text, whole.

A case is a pipeline in tests/data/overlay with its text beside it; its first line holds the
options of the command line, if it needs any. After a wanted change,
`python tests/test_overlay_texts.py` writes the texts anew, to be read before committing.
"""

import contextlib
import functools
import io
import os
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from composer.cli import run_command
from composer.errors import CODES

FOLDER = Path(__file__).parent / "data" / "overlay"
CASES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def options_of(name):
    first = (FOLDER / f"{name}.yaml").read_text().split("\n")[0]
    return shlex.split(first.removeprefix("#")) if first.startswith("# --") else []


def text_of(name, capture):
    """What a user reads on stderr, less the project's folder and the list of transforms."""
    before = Path.cwd()
    os.chdir(FOLDER)
    try:
        code = run_command(["show", f"{name}.yaml", *options_of(name)])
    finally:
        os.chdir(before)
    printed = capture()
    assert (code, printed.out) == (2, ""), printed.out
    text = re.sub(r"(?m)^(  transforms: ).*", r"\1...", printed.err)
    return re.sub(r"(?m)^(  project: ).*", r"\1...", text)


@pytest.mark.parametrize("name", CASES)
def test_the_whole_text_of(name, capsys):
    assert text_of(name, capsys.readouterr) == (FOLDER / f"{name}.txt").read_text()


def test_every_code_of_overlays_has_a_text():
    texts = "".join(path.read_text() for path in FOLDER.glob("*.txt"))
    assert {code for code in CODES if code.startswith("CMP05")} <= set(
        re.findall(r"CMP\d{3}", texts)
    )
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == CASES


def said_on(streams):
    return SimpleNamespace(out=streams.out.getvalue(), err=streams.err.getvalue())


if __name__ == "__main__":
    for case in CASES:
        streams = SimpleNamespace(out=io.StringIO(), err=io.StringIO())
        with contextlib.redirect_stdout(streams.out), contextlib.redirect_stderr(streams.err):
            text = text_of(case, functools.partial(said_on, streams))
        (FOLDER / f"{case}.txt").write_text(text)
