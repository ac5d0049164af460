"""Where each value of a resolved pipeline was written, and that errors say so."""

from __future__ import annotations

from pathlib import Path

import pytest

import composer
from composer._load import KEYS
from composer._overlay.edits import Edit
from composer._overlay.nodes import Origin
from composer._overlay.resolve import resolve
from composer._overlay.spelled import parse_edit
from composer._yaml import parse
from composer.errors import ComposeError
from composer.transforms import CATALOGUE

BASE = """\
composer: 1
function: m:f
args:
  w: "f32[3]"
  x: {random: normal, shape: "f32[8, 3]", seed: 0}
stack:
  - grad
  - vmap: {in_axes: {x: 0}}
  - reduce: mean
  - pmap: {split: true, sync: pmean}
  - jit
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "base.yaml").write_text(BASE)
    return tmp_path


def test_every_value_keeps_the_place_where_it_was_written(project: Path) -> None:
    text = (
        "extends: base.yaml\nname: child\n"
        "profiles:\n  laptop:\n    set: {stack.vmap.axis_size: 8}\n    run: {simulate_devices: 2}\n"
    )
    edit = parse_edit("--set", "stack.vmap.in_axes.w=1")
    path = project / "child.yaml"
    path.write_text(text)
    found = resolve(
        parse(text, "child.yaml"), path=path, keys=KEYS, targets=CATALOGUE,
        profiles=("laptop",), edits=(edit,),
    )  # fmt: skip

    def told(*path: str | int) -> tuple[str, str, Origin]:
        document = found.document
        return str(document.key_place(*path)), str(document.place(*path)), found.origin(path)

    base, profile = Origin("base.yaml"), Origin("child.yaml", "laptop")
    assert told("name") == ("child.yaml:2:1", "child.yaml:2:7", Origin("child.yaml"))
    assert told("args", "w") == ("base.yaml:4:3", "base.yaml:4:6", base)
    vmap = ("stack", 1, "vmap")
    assert told(*vmap) == ("base.yaml:8:5", "base.yaml:8:11", base)
    assert told(*vmap, "in_axes", "x") == ("base.yaml:8:22", "base.yaml:8:25", base)
    assert told(*vmap, "in_axes", "w") == (
        "<command line>:1:26", "<command line>:1:28", Origin(edit="--set"),
    )  # fmt: skip
    assert told(*vmap, "axis_size") == ("child.yaml:5:22", "child.yaml:5:33", profile)
    assert told("run", "simulate_devices") == ("child.yaml:6:11", "child.yaml:6:29", profile)
    assert found.document.file == "child.yaml"


def test_an_error_in_an_inherited_layer_points_into_the_base(project: Path) -> None:
    pipeline = _child(project, "extends: base.yaml\nname: child\n")
    assert [str(layer.place) for layer in pipeline.stack] == [
        f"{project / 'base.yaml'}:{line}:5" for line in range(7, 12)
    ]
    assert pipeline.title == "child"


def test_a_layer_that_an_edit_brought_is_named_in_a_composing_error(project: Path) -> None:
    (project / "m.py").write_text("def f(w, x): return w @ x\n")
    with pytest.raises(ComposeError) as caught:
        _child(
            project, "extends: base.yaml\n", parse_edit("--set", "stack.vmap.in_axes={q: 0}")
        ).build()
    assert "CMP201" in str(caught.value)


def _child(project: Path, text: str, *edits: Edit) -> composer.Pipeline:
    (project / "child.yaml").write_text(text)
    return composer.load(project / "child.yaml", edits=edits)
