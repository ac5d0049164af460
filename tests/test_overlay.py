"""Overlays on plain data: what is merged, and what is edited."""

from __future__ import annotations

from pathlib import Path

import pytest

import composer
from composer import Drop, InsertAfter, InsertBefore, Set
from composer._load import KEYS
from composer._overlay.edits import Edit
from composer._overlay.resolve import Resolved, resolve
from composer._overlay.spelled import parse_edit
from composer._yaml import parse
from composer.errors import PipelineError
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


def resolved(
    text: str, *edits: Edit, profiles: tuple[str, ...] = (), path: Path | None = None
) -> Resolved:
    document = parse(text, "p.yaml")
    return resolve(
        document, path=path, keys=KEYS, targets=CATALOGUE, profiles=profiles, edits=edits
    )


def data_of(text: str, *edits: Edit, profiles: tuple[str, ...] = ()) -> dict[str, object]:
    found = resolved(text, *edits, profiles=profiles).document.data
    assert isinstance(found, dict)
    return found


def stack_of(text: str, *edits: Edit, profiles: tuple[str, ...] = ()) -> object:
    return data_of(text, *edits, profiles=profiles)["stack"]


def refused(text: str, *edits: Edit, profiles: tuple[str, ...] = ()) -> str:
    with pytest.raises(PipelineError) as caught:
        resolved(text, *edits, profiles=profiles)
    return str(caught.value)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "base.yaml").write_text(BASE)
    return tmp_path


def load(project: Path, text: str, *edits: Edit, profiles: tuple[str, ...] = ()) -> object:
    (project / "child.yaml").write_text(text)
    return composer.load(project / "child.yaml", profiles=profiles, edits=edits).to_data()


# extends


def test_a_child_wins_key_by_key_and_its_stack_replaces_the_stack(project: Path) -> None:
    found = load(
        project,
        "extends: base.yaml\nargs: {y: 3}\nrun: {simulate_devices: 2}\nstack: [hessian]\n",
    )
    assert found == {
        "composer": 1,
        "function": "m:f",
        "args": {
            "w": "f32[3]",
            "x": {"random": "normal", "shape": "f32[8, 3]", "seed": 0},
            "y": 3,
        },
        "stack": ["hessian"],
        "run": {"simulate_devices": 2},
    }


def test_a_chain_goes_from_the_lowest_base_up(project: Path) -> None:
    (project / "middle.yaml").write_text("extends: base.yaml\nname: middle\ndrop: pmap\n")
    found = load(project, "extends: middle.yaml\nname: top\ninsert_before: {jit: hessian}\n")
    assert found["name"] == "top"
    assert found["stack"] == [
        "grad",
        {"vmap": {"in_axes": {"x": 0}}},
        {"reduce": {"op": "mean"}},
        "hessian",
        "jit",
    ]


def test_eight_files_may_stand_in_a_chain(project: Path) -> None:
    for number in range(1, 7):
        below = f"b{number + 1}" if number < 6 else "base"
        (project / f"b{number}.yaml").write_text(f"extends: {below}.yaml\n")
    assert load(project, "extends: b1.yaml\nname: top\n")["name"] == "top"


def test_a_base_lies_relative_to_the_file_that_names_it(project: Path) -> None:
    (project / "lower").mkdir()
    (project / "lower" / "middle.yaml").write_text("extends: ../base.yaml\nname: middle\n")
    assert load(project, "extends: lower/middle.yaml\n")["name"] == "middle"


def test_the_source_of_an_argument_is_one_value(project: Path) -> None:
    found = load(project, "extends: base.yaml\nargs: {x: {file: x.npy}}\n")
    assert found["args"] == {"w": "f32[3]", "x": {"file": "x.npy"}}


def test_null_removes_what_is_inherited_and_set_writes_null(project: Path) -> None:
    found = load(
        project,
        "extends: base.yaml\nargs: {w: null}\nset: {stack.vmap.in_axes.w: null}\n",
    )
    assert found["args"] == {"x": {"random": "normal", "shape": "f32[8, 3]", "seed": 0}}
    assert found["stack"][1] == {"vmap": {"in_axes": {"x": 0, "w": None}}}


def test_profiles_are_inherited_and_one_of_the_same_name_replaces_the_whole(
    project: Path,
) -> None:
    (project / "base.yaml").write_text(
        BASE + "profiles:\n  one: {drop: pmap, name: a}\n  two: {drop: jit}\n"
    )
    child = "extends: base.yaml\nprofiles: {one: {drop: reduce}, two: null}\n"
    found = load(project, child, profiles=("one",))
    assert "name" not in found
    base = stack_of(BASE)
    assert found["stack"] == [*base[:2], *base[3:]]
    with pytest.raises(PipelineError, match="there is no profile 'two'"):
        load(project, child, profiles=("two",))


def test_sealed_text_extends_no_file_but_has_profiles() -> None:
    text = BASE.replace("m:f", "f")
    with pytest.raises(PipelineError) as caught:
        composer.loads("extends: base.yaml\n" + text)
    assert str(caught.value) == (
        "<text>:1:1: CMP040 sealed text may not extend a file\n"
        "    1 | extends: base.yaml\n"
        "      | ^^^^^^^\n"
        "  write: the whole pipeline in the text"
    )
    found = composer.loads(
        text + "profiles: {laptop: {drop: pmap}}\n", profiles=("laptop",), edits=(Drop("reduce"),)
    )
    assert [layer.word for layer in found.stack] == ["grad", "vmap", "jit"]


@pytest.mark.parametrize("name", ["a\\0b.yaml", "circle.yaml", "lower", "x" * 5000])
def test_a_base_that_is_no_readable_file_is_said_at_its_name(project: Path, name: str) -> None:
    (project / "lower").mkdir()
    (project / "circle.yaml").symlink_to(project / "circle.yaml")
    with pytest.raises(PipelineError) as caught:
        load(project, f'extends: "{name}"\n')
    [found] = caught.value.diagnostics
    assert found.code in ("CMP014", "CMP050")
    assert (found.place.line, found.place.column) == (1, 10)


# profiles


def test_a_profile_merges_first_and_then_edits_in_the_order_written() -> None:
    text = BASE + (
        "profiles:\n"
        "  a: {drop: vmap, insert_after: {grad: vmap}, name: a, stack: [grad, vmap, jit]}\n"
        "  b: {insert_after: {grad: checkpoint}, set: {stack.checkpoint.policy: p}}\n"
    )
    assert stack_of(text, profiles=("a",)) == ["grad", "vmap", "jit"]
    assert stack_of(text, profiles=("a", "b")) == [
        "grad", {"checkpoint": {"policy": "p"}}, "vmap", "jit",
    ]  # fmt: skip
    assert "profiles" not in data_of(text)


def test_profiles_apply_in_the_order_in_which_they_are_named() -> None:
    text = BASE + "profiles: {a: {name: a}, b: {name: b}}\n"
    assert data_of(text, profiles=("a", "b"))["name"] == "b"
    assert data_of(text, profiles=("b", "a"))["name"] == "a"


def test_a_profile_that_needs_another_one_is_not_refused_before_it_is_used() -> None:
    text = BASE + (
        "profiles:\n"
        "  cluster: {insert_after: {jit: {pmap: {id: outer}}}, args: {z: {key: 0}}}\n"
        "  debug: {drop: outer, set: {args.z.key: 3}}\n"
    )
    assert stack_of(text, profiles=("cluster", "debug")) == stack_of(BASE)
    assert "the stack has no layer 'outer'" in refused(text, profiles=("debug",))


def test_a_broken_profile_is_found_although_another_one_is_used() -> None:
    text = BASE + "profiles: {good: {name: a}, bad: {drop: vmpa}}\n"
    assert refused(text, profiles=("good",)).startswith("p.yaml:12:41: CMP054 ")


def test_a_profile_may_be_named_by_one_word_from_python(project: Path) -> None:
    (project / "base.yaml").write_text(BASE + "profiles: {small: {drop: [pmap]}}\n")
    found = composer.load(project / "base.yaml", profiles="small")
    assert [layer.word for layer in found.stack] == ["grad", "vmap", "reduce", "jit"]


# edits

VMAP = {"in_axes": {"x": 0}}
PMAP = {"split": True, "sync": "pmean"}
X = {"random": "normal", "shape": "f32[8, 3]", "seed": 0}


@pytest.mark.parametrize(
    ("edit", "at", "layer"),
    [
        (Set("stack.vmap.in_axes.w", 1), 1, {"vmap": {"in_axes": {"x": 0, "w": 1}}}),
        (Set("stack[1].in_axes.x", None), 1, {"vmap": {"in_axes": {"x": None}}}),
        (Set("stack.vmap.in_axes", [0, None]), 1, {"vmap": {"in_axes": [0, None]}}),
        (Set("stack.vmap.out_axes.loss", 0), 1, {"vmap": {**VMAP, "out_axes": {"loss": 0}}}),
        (Set("stack.vmap.in_axes.0", 2), 1, {"vmap": {"in_axes": {"x": 0, 0: 2}}}),
        (Set('stack.vmap.in_axes."a.b"', 2), 1, {"vmap": {"in_axes": {"x": 0, "a.b": 2}}}),
        (Set("stack.jit.donate_argnums", "w"), 4, {"jit": {"donate_argnums": "w"}}),
        (Set("stack.reduce", {"op": "sum"}), 2, {"reduce": {"op": "sum"}}),
        (Set("stack.pmap.id", "outer"), 3, {"pmap": {**PMAP, "id": "outer"}}),
    ],
)  # fmt: skip
def test_a_layer_is_set_by_word_or_position(edit: Set, at: int, layer: object) -> None:
    found = stack_of(BASE, edit)
    before = stack_of(BASE)
    assert found[at] == layer
    assert [*found[:at], *found[at + 1 :]] == [*before[:at], *before[at + 1 :]]


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("name=foo", "name", "foo"),
        ("run.simulate_devices=2", "run", {"simulate_devices": 2}),
        ("mesh={data: 4}", "mesh", {"data": 4}),
        ("static=[n, m]", "static", ["n", "m"]),
        ("args.x.seed=3", "args", {"w": "f32[3]", "x": {**X, "seed": 3}}),
        ("args.w=f32[4]", "args", {"w": "f32[4]", "x": X}),
        ("max_traces.limit=1e-3", "max_traces", {"limit": 0.001}),
        ("run.enable_x64=true", "run", {"enable_x64": True}),
        ('name="true"', "name", "true"),
        ("name=a=b", "name", "a=b"),
    ],
)  # fmt: skip
def test_values_of_the_command_line_are_yaml(text: str, key: str, value: object) -> None:
    found = data_of(BASE, parse_edit("--set", text))
    assert (found[key], type(found[key])) == (value, type(value))
    assert data_of(BASE, *edits_again(parse_edit("--set", text))) == found


def edits_again(edit: Edit) -> list[Edit]:
    """The same edit, as Python would write it."""
    assert isinstance(edit, Set)
    return [Set(edit.address, edit.value)]


def test_a_list_is_set_in_by_position() -> None:
    assert data_of(BASE + "static: [n, m]\n", Set("static[1]", "k"))["static"] == ["n", "k"]


def test_an_id_addresses_the_layer_whose_word_stands_twice() -> None:
    text = BASE.replace("- jit", "- vmap: {id: outer, in_axes: {w: 0}}\n  - jit")
    assert stack_of(text, Drop("outer")) == stack_of(BASE)
    beside = text.replace("vmap: {id: outer, in_axes: {w: 0}}", "vmap: {in_axes: 0}\n    id: outer")
    assert stack_of(beside, Drop("outer")) == stack_of(BASE)
    assert stack_of(beside, Set("stack.outer.in_axes", 1))[4] == {
        "vmap": {"in_axes": 1}, "id": "outer",
    }  # fmt: skip


def test_another_word_for_the_same_transform_finds_it_unless_both_stand_there() -> None:
    text = BASE.replace("grad", "jacobian")
    assert stack_of(text, Drop("jacrev")) == stack_of(BASE)[1:]
    both = text.replace("- jit", "- jacrev\n  - jit")
    assert stack_of(both, Drop("jacrev")) == stack_of(text)


def test_layers_are_inserted_inside_and_outside_also_several() -> None:
    stack = stack_of(BASE)
    assert stack_of(BASE, InsertBefore("grad", "cast")) == ["cast", *stack]
    assert stack_of(BASE, InsertAfter("jit", [{"map": {}}, "grad"])) == [
        *stack,
        {"map": {}},
        "grad",
    ]


def test_a_layer_of_a_sub_pipeline_is_addressed_through_its_argument() -> None:
    text = BASE.replace("  w:", '  u: {function: "m:u", stack: [grad, vmap]}\n  w:')

    def inner(*edits: Edit) -> object:
        return data_of(text, *edits)["args"]["u"]["stack"]

    assert inner(Set("args.u.stack.vmap.in_axes", 1)) == ["grad", {"vmap": {"in_axes": 1}}]
    assert inner(Drop("args.u.stack.grad")) == ["vmap"]
    assert inner(InsertAfter("args.u.stack[0]", "grad")) == ["grad", "grad", "vmap"]


def test_edits_apply_in_the_order_in_which_they_stand() -> None:
    drop, insert = Drop("pmap"), InsertAfter("grad", "pmap")
    assert stack_of(BASE, drop, insert) == [
        "grad", "pmap", {"vmap": {"in_axes": {"x": 0}}}, {"reduce": "mean"}, "jit",
    ]  # fmt: skip
    assert "CMP055 pmap stands 2 times" in refused(BASE, insert, drop)
    assert data_of(BASE, Set("name", "a"), Set("name", "b"))["name"] == "b"


def test_what_is_not_plain_data_is_refused_at_the_edit() -> None:
    assert refused(BASE, Set("stack.vmap.in_axes", (0, 1))) == (
        "<edits>:1:1: CMP041 a value of type tuple is not plain data\n"
        "    1 | Set(address='stack.vmap.in_axes', value=(0, 1))\n"
        "      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  write: a list"
    )


def test_an_address_is_no_deeper_than_a_pipeline() -> None:
    assert "CMP059" in refused(BASE, Set("stack.vmap" + ".a" * 100_000, 1))
    assert "CMP059" in refused(BASE, Set("stack[" + "1" * 5000 + "]", 1))


def test_an_edit_of_python_is_shown_as_it_is_written() -> None:
    assert refused(BASE, Drop("pmpa")) == (
        "<edits>:1:13: CMP054 the stack has no layer 'pmpa'\n"
        "    1 | Drop(layer='pmpa')\n"
        "      |             ^^^^\n"
        "  innermost first: stack[0] grad, stack[1] vmap, stack[2] reduce, stack[3] pmap, "
        "stack[4] jit\n"
        "  write: pmap"
    )


def test_edits_are_values_that_compare_by_what_they_do() -> None:
    assert parse_edit("--set", "stack.vmap.in_axes={x: 0}") == Set("stack.vmap.in_axes", {"x": 0})
    assert parse_edit("--drop", "pmap") == Drop("pmap") != Drop("jit")
    assert parse_edit("--insert-after", "grad=[jit]") == InsertAfter("grad", ["jit"])
    assert InsertAfter("grad", "jit") != InsertBefore("grad", "jit")
