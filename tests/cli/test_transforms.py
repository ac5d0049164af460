"""`composer transforms`: the list, and the page of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import pytest

from composer.cli import run_command
from composer.cli.transforms import type_text

REPOSITORY = Path(__file__).parents[2]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run_command(["transforms", *arguments]) == code
    found = capsys.readouterr()
    assert (found.err == "") == (code == 0)
    return found.err if code else found.out


def test_every_transform_stands_in_the_list_within_80_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = printed(capsys).splitlines()
    assert lines[0].split() == ["word", "from", "what", "it", "does"]
    words = {line.split()[0] for line in lines if "built-in" in line}
    assert {"grad", "value_and_grad", "vmap", "pmap", "shard_map", "jit", "checkpoint"} <= words
    assert max(map(len, lines)) <= 80


def test_json_lists_the_same_words(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, "--json"))
    grad = next(item for item in found if item["word"] == "grad")
    assert grad["from"] == "built-in"
    assert grad["summary"].endswith("as `jax.grad`.")


def test_a_page_shows_each_parameter_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "vmap")
    lines = text.splitlines()
    assert lines[0] == "vmap"
    assert lines[2].startswith("A function of one example becomes a function of a batch")
    assert [line.split()[0] for line in lines if line.startswith(("in_axes", "axis_name"))] == [
        "in_axes",
        "axis_name",
    ]
    assert max(map(len, lines)) <= 85
    page = json.loads(printed(capsys, "vmap", "--json"))
    in_axes = page["parameters"][0]
    assert (in_axes["name"], in_axes["default"], in_axes["required"]) == ("in_axes", 0, False)
    assert in_axes["doc"].startswith("The mapped axis of each argument")


def test_an_alias_opens_the_same_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "remat") == printed(capsys, "checkpoint")


def test_an_unknown_word_gets_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "vmpa", code=2)
    assert text.startswith("CMP034 there is no transform 'vmpa'\n")
    assert text.endswith("  write: - vmap\n")


def test_types_are_told_in_the_words_of_yaml() -> None:
    assert type_text(Annotated[int | str | None, "x"]) == "whole number | word | null"
    assert type_text(tuple[int | str, ...]) == "list of (whole number | word)"
    assert type_text(Literal["mean", "sum"] | None) == "mean | sum | null"
    assert type_text(dict[str, bool]) == "mapping to true or false"
    assert type_text(object) == "anything"


def test_a_closed_pipe_is_quiet() -> None:
    read, written = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "composer", "transforms"],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=written, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(written)
    assert (done.returncode, done.stderr) == (141, "")


def test_listing_imports_no_jax() -> None:
    code = (
        "import sys; from composer.cli import run_command; run_command(['transforms', 'pmap']);"
        "run_command(['transforms']); sys.exit('jax' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.DEVNULL,
    )
    assert done.returncode == 0
