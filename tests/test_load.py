"""What is said about text that is no pipeline: every text, whole.

A case is a file in tests/data/load with the text that reading it gives beside it: in
`refused` for every pipeline, in `sealed` for what `loads` refuses and `load` does not.
After a wanted change, `python tests/test_load.py` writes the texts anew, to be read
before committing.
"""

import re
from pathlib import Path

import pytest

import composer
from composer import InputError, PipelineError, loads
from composer._load import pipeline_from
from composer._registry import default_registry
from composer._yaml import read

FOLDER = Path(__file__).parent / "data" / "load"
REFUSED = sorted(path.stem for path in (FOLDER / "refused").glob("*.yaml"))
SEALED = sorted(path.stem for path in (FOLDER / "sealed").glob("*.yaml"))
BASE = "composer: 1\nfunction: m:f\nstack: [jit]\n"


def findings(kind, name):
    """What is wrong with a case."""
    document = read(FOLDER / kind / f"{name}.yaml", f"{name}.yaml")
    with pytest.raises(PipelineError) as caught:
        pipeline_from(document, default_registry().load, sealed=kind == "sealed")
    return caught.value


def text_of(kind, name):
    """What a user reads, less the list of all transforms, which grows."""
    said = str(findings(kind, name))
    return re.sub(r"(?m)^  transforms: apply, .*, vmap$", "  transforms: apply, ..., vmap", said)


@pytest.mark.parametrize("name", REFUSED)
def test_the_whole_text_of(name):
    assert text_of("refused", name) + "\n" == (FOLDER / "refused" / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", REFUSED)
def test_every_finding_points_at_what_is_written(name):
    lines = (FOLDER / "refused" / f"{name}.yaml").read_text().splitlines()
    for finding in findings("refused", name).diagnostics:
        place = finding.place
        assert lines[place.line - 1] == place.text
        assert 1 <= place.column <= place.column + place.width - 1 <= len(place.text)


@pytest.mark.parametrize("name", [n for n in REFUSED if n.startswith(("several", "sub_pipeline"))])
def test_findings_come_in_the_order_of_the_file(name):
    found = findings("refused", name).diagnostics
    places = [(item.place.line, item.place.column) for item in found]
    assert places == sorted(places)


def test_several_problems_are_said_at_once():
    assert len(findings("refused", "several_problems").diagnostics) == 6


def test_every_case_has_its_text_and_every_text_its_case():
    for kind, cases in (("refused", REFUSED), ("sealed", SEALED)):
        assert sorted(path.stem for path in (FOLDER / kind).glob("*.txt")) == cases
    assert len(REFUSED) >= 60
    assert len(SEALED) >= 10


@pytest.mark.parametrize("name", SEALED)
def test_sealed_text_is_refused_with(name):
    assert text_of("sealed", name) + "\n" == (FOLDER / "sealed" / f"{name}.txt").read_text()
    text = (FOLDER / "sealed" / f"{name}.yaml").read_text()
    with pytest.raises(PipelineError, match="CMP040"):
        loads(text, functions={"f": abs, "h": abs})


@pytest.mark.parametrize("name", SEALED)
def test_a_file_may_have(name, tmp_path):
    text = (FOLDER / "sealed" / f"{name}.yaml").read_text()
    text = text.replace("function: f", "function: m:f").replace("function: h", "function: m:h")
    (tmp_path / "p.yaml").write_text(text)
    assert pipeline_from(read(tmp_path / "p.yaml"), default_registry().load)


@pytest.mark.parametrize(
    ("functions", "known"), [({"f": abs, "h": len}, "f, h"), ({}, "none"), (None, "none")]
)
def test_sealed_text_with_an_unknown_function_is_refused_when_it_is_built(functions, known):
    sealed = loads("composer: 1\nfunction: os:system\nstack: [jit]\n", functions=functions)
    with pytest.raises(InputError) as caught:
        sealed.build()
    assert str(caught.value) == (
        "<text>:2:11: CMP069 sealed text names the function 'os:system', which was not passed\n"
        "    2 | function: os:system\n"
        "      |           ^^^^^^^^^\n"
        f"  functions: {known}\n"
        "  write: loads(text, functions={'os:system': ...})"
    )


@pytest.mark.parametrize("key", ["name", "returns", "static", "mesh", "args", "run", "write"])
def test_null_means_that_a_key_is_not_given(tmp_path, key):
    (tmp_path / "without.yaml").write_text(BASE)
    (tmp_path / "null.yaml").write_text(f"{BASE}{key}: null\n")
    assert composer.load(tmp_path / "null.yaml") == composer.load(tmp_path / "without.yaml")


def test_two_outputs_may_have_parts_of_one_name(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(f"{BASE}returns: [{{a: {{mean, n}}}}, {{b: {{mean, n}}}}]\n")
    assert composer.load(path).output.find("b.n") == [(1, "n")]


if __name__ == "__main__":
    for folder, names in (("refused", REFUSED), ("sealed", SEALED)):
        for case in names:
            (FOLDER / folder / f"{case}.txt").write_text(text_of(folder, case) + "\n")
