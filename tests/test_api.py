"""`load` and `loads`: what they give, beside what tests/test_load.py says that they refuse."""

import sys

import numpy as np
import pytest

import composer
from composer import ComposeError, InputError, Jit, PipelineError, compose, loads


def sealed(rest="stack: [jit]", function="f"):
    return f"composer: 1\nfunction: {function}\n{rest}\n"


def test_sealed_text_runs_what_was_passed_on_what_it_says():
    text = sealed(
        "static: n\nargs: {x: [1.0, 2.0, 3.0], n: 3}\nstack: [grad, {vmap: {in_axes: {x: 0}}}, jit]"
    )
    pipeline = loads(text, functions={"f": lambda x, n: x**n})
    np.testing.assert_allclose(pipeline.call(), [3, 12, 27])


def test_all_that_sealed_text_may_not_is_said_at_once():
    rest = "args:\n  x: {file: a.npy}\n  y: {ref: m:g}\nstack: [jit]\nwrite: {file: out.npz}"
    with pytest.raises(PipelineError) as caught:
        loads(sealed(rest), functions={"f": abs})
    found = [(item.code, item.place.line) for item in caught.value.diagnostics]
    assert found == [("CMP040", 4), ("CMP040", 5), ("CMP040", 7)]


def test_a_function_that_was_not_passed_is_refused_with_the_nearest():
    with pytest.raises(InputError) as caught:
        loads(sealed(function="los"), functions={"loss": abs, "step": abs}).build()
    assert str(caught.value) == (
        "<text>:2:11: CMP069 sealed text names the function 'los', which was not passed\n"
        "    2 | function: los\n"
        "      |           ^^^\n"
        "  functions: loss, step\n"
        "  write: function: loss"
    )


def test_compiler_options_that_write_files_are_refused_before_anything_is_written(tmp_path):
    layer = f"stack:\n  - jit: {{compiler_options: {{xla_dump_to: {tmp_path}}}}}"
    with pytest.raises(PipelineError, match="CMP040 sealed text may not set compiler_options"):
        loads(sealed(layer), functions={"f": abs})
    assert list(tmp_path.iterdir()) == []


def test_load_looks_beside_the_file_wherever_python_stands(tmp_path, monkeypatch):
    (tmp_path / "beside.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "p.yaml").write_text(
        "composer: 1\nfunction: beside:double\nargs: {x: 2.5}\nstack: [jit]\n"
    )
    monkeypatch.chdir(tmp_path.parent)
    assert float(composer.load(tmp_path / "p.yaml").call()) == 5.0
    assert str(tmp_path) not in sys.path


def test_a_file_that_is_loaded_twice_gives_the_same_callable(tmp_path):
    (tmp_path / "once.py").write_text("def double(x):\n    return 2 * x\n")
    path = tmp_path / "p.yaml"
    path.write_text("composer: 1\nfunction: once:double\nstack: [grad, jit]\n")
    assert composer.load(path).build() is composer.load(path).build()


def test_a_file_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PipelineError) as caught:
        composer.load("no.yaml")
    assert [item.code for item in caught.value.diagnostics] == ["CMP014"]
    assert "no.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("typed", "there", "cure"),
    [
        ("train", "train.yaml", "train.yaml"),
        ("tran.yaml", "train.yml", "train.yml"),
        ("nope.yaml", "b.yaml", None),
    ],
)
def test_a_file_that_is_not_there_is_sought_by_its_name_without_the_ending(
    tmp_path, monkeypatch, typed, there, cure
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / there).touch()
    with pytest.raises(PipelineError) as caught:
        composer.load(typed)
    assert [item.cure for item in caught.value.diagnostics] == [cure]


def test_code_of_a_callable_is_refused():
    with pytest.raises(TypeError, match="code writes a Pipeline, from load or loads, not <"):
        composer.code(compose(lambda n: n, Jit()))


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"static": 0}, 'static is 0, not names of arguments\n  write: static=("n",)'),
        ({"static": (0,)}, 'static is (0,), not names of arguments\n  write: static=("n",)'),
        (
            {"mesh": [4]},
            'mesh is [4], not sizes by axis name, or a mesh of JAX\n  write: mesh={"data": 4}',
        ),
        (
            {"max_traces": "1"},
            "max_traces is '1', not a whole number, or MaxTraces\n  write: max_traces=1",
        ),
        (
            {"max_traces": True},
            "max_traces is True, not a whole number, or MaxTraces\n  write: max_traces=1",
        ),
        ({"returns": "loss"}, "returns: is a list of names, such as [loss, aux]"),
    ],
    ids=["static", "statics", "mesh", "text", "bool", "returns"],
)
def test_an_option_of_compose_with_a_wrong_type_is_refused(option, text):
    with pytest.raises(ComposeError) as caught:
        compose(lambda n: n, Jit(), **option)
    assert str(caught.value) == f"CMP033 compose: {text}"
