"""Sources become the arguments of the composed function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer._pipeline import Layer, Pipeline
from composer._run.arguments import Arguments, read_arguments
from composer._sources import parse_source
from composer.errors import ComposerError
from composer.transforms.jit import Jit

Read = Callable[..., Arguments]


def take(**arguments: object) -> None: ...


def read(
    args: dict[str, object],
    fn: Callable[..., object] = take,
    static: tuple[str, ...] = (),
    folder: Path | None = None,
    stack: tuple[Layer, ...] = (),
) -> Arguments:
    sources = {name: parse_source(data, path=(name,)) for name, data in args.items()}
    return read_arguments(Pipeline("m:f", stack, None, static, None, sources, folder=folder), fn)


def refused(args: dict[str, object], fn: Callable[..., object] = take, **more: object) -> str:
    with pytest.raises(ComposerError) as caught:
        read(args, fn, **more)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "a_model_of_arguments.py").write_text(
        "import numpy as np\n"
        "def init(seed, key=None):\n"
        "    return {'w': np.ones((3, 2)) * seed, 'b': (0.5, 3), 'key': key}\n"
        "def act(x): return x\n"
        "def bad(): raise KeyError('gone')\n"
        "NUMBER = 3\n"
    )
    return tmp_path


def test_a_literal_is_an_array_without_a_weak_type() -> None:
    values = read({"a": 1, "b": 2.5, "c": True, "d": [1, 2.5], "e": [[1], [2]], "f": []}).values
    found = {name: (str(value.dtype), value.tolist()) for name, value in values.items()}
    assert found == {
        "a": ("int32", 1),
        "b": ("float32", 2.5),
        "c": ("bool", True),
        "d": ("float32", [1, 2.5]),
        "e": ("int32", [[1], [2]]),
        "f": ("float32", []),
    }
    assert not any(jnp.asarray(value).weak_type for value in values.values())


def test_a_ragged_list_and_a_mapping_are_trees() -> None:
    values = read({"a": [[1, 2], [3]], "b": {"value": {"w": 1, "n": None}}, "c": None}).values
    assert [item.tolist() for item in values["a"]] == [[1, 2], [3]]
    assert jax.tree.map(np.ndim, values["b"]) == {"w": 0, "n": None}
    assert values["c"] is None


def test_a_static_literal_stays_what_it_is_in_python() -> None:
    values = read({"n": 3, "f": "relu", "l": [1, [2]], "x": 3}, static=("n", "f", "l")).values
    assert [values[name] for name in "nfl"] == [3, "relu", (1, (2,))]
    assert type(values["n"]) is int
    assert values["x"].dtype == np.int32


def test_what_jit_itself_calls_static_is_static_too() -> None:
    def fn(x: object, n: object, m: object) -> None: ...

    jit = Layer(Jit(static_argnums=(1,), static_argnames="m"))
    found = read({"x": 1, "n": 2, "m": "mean"}, fn, stack=(jit,))
    assert found.static == {"n", "m"}
    assert found.args[1:] == (2, "mean")
    assert found.traced() == ((found.args[0],), {})


def test_text_is_for_static_arguments_only() -> None:
    assert refused({"act": "relu"}) == (
        "CMP061 act is the text 'relu', which no array can hold\n"
        "  write: static: [act]     # a value that is known when the function is compiled"
    )
    assert "a list of true or false and numbers together" in refused({"a": [True, 1]})


def test_the_name_of_a_data_file_is_refused_with_the_source_that_reads_it() -> None:
    assert refused({"x": "data/x.npy"}) == (
        "CMP061 x is the text 'data/x.npy', which no array can hold\n"
        "  write: x: {file: data/x.npy}     # to read it; or\n"
        "         static: [x]     # a value that is known when the function is compiled"
    )


def test_a_literal_takes_its_declared_dtype_where_that_holds_it() -> None:
    values = read(
        {"a": {"value": 1, "shape": "bf16[]"}, "b": {"value": [1], "shape": "u8[1]"}}
    ).values
    assert values["a"].dtype == jnp.bfloat16
    assert values["b"].dtype == np.uint8
    assert refused({"a": {"value": 1.5, "shape": "i32[]"}}) == "CMP065 a: 1.5 does not fit into i32"
    assert refused({"a": {"value": -1, "shape": "u8[]"}}) == "CMP065 a: -1 does not fit into u8"
    assert refused({"a": {"value": True, "shape": "i32[]"}}) == "CMP065 a: true is no value of i32"


def test_a_number_that_needs_64_bits_is_refused_and_not_cut() -> None:
    assert refused({"a": 2**40}) == (
        "CMP065 a: 1099511627776 does not fit into i32\n"
        "  write: run: {enable_x64: true}     # or --x64"
    )
    assert "1e+300 does not fit into f32" in refused({"a": [1e300]})
    with jax.enable_x64(True):
        assert read({"a": 2**40}).values["a"].dtype == np.int64


def test_positions_come_from_the_function_and_the_rest_goes_by_keyword() -> None:
    def fn(a: object, b: object = 1, c: object = 2, *, d: object = 3) -> None: ...

    found = read({"d": 4, "a": 1, "c": 3}, fn)
    assert [np.asarray(value).tolist() for value in found.args] == [1]
    assert {name: np.asarray(value).tolist() for name, value in found.kwargs.items()} == {
        "c": 3,
        "d": 4,
    }
    assert list(found.values) == ["a", "c", "d"]


def test_a_function_that_does_not_tell_its_arguments_gets_them_in_the_files_order() -> None:
    found = read({"b": 1, "a": 2}, max)
    assert [np.asarray(value).tolist() for value in found.args] == [1, 2]


def test_a_function_with_open_ended_arguments_gets_the_others_in_the_files_order() -> None:
    def fn(a: object, *rest: object, b: object = 0) -> None: ...

    found = read({"y": 3, "a": 1, "b": 2, "x": 4}, fn)
    assert [np.asarray(value).tolist() for value in found.args] == [1, 3, 4]
    assert list(found.kwargs) == ["b"]


def test_all_arguments_without_a_value_are_named_at_once() -> None:
    def fn(x: object, y: object, z: object = 0) -> None: ...

    text = refused({"x": "f32[3]"}, fn)
    assert text.count("CMP066") == 2
    assert "CMP066 argument 'x' has no value\n" in text
    assert "CMP066 argument 'y' has no value\n" in text


def test_an_argument_that_the_function_does_not_take_gets_the_nearest_one() -> None:
    def fn(params: object) -> None: ...

    assert "CMP067 the composed function takes no argument 'param'" in refused({"param": 1}, fn)
    assert refused({"params": 1, "q": 1}, fn) == (
        "CMP067 the composed function takes no argument 'q'\n"
        "  arguments: params\n"
        "  write: nothing: remove q"
    )


def test_a_name_of_a_size_means_one_size_in_all_arguments() -> None:
    assert refused(
        {
            "x": {"zeros": "f32[30, 4]", "shape": "f32[batch, 4]"},
            "y": {"zeros": "i32[25]", "shape": "i32[batch]"},
        }
    ) == (
        "CMP065 y is i32[25], but i32[batch] is declared\n"
        "  batch is 30, from x, f32[batch, 4]\n"
        '  write: shape: "i32[25]"'
    )
    assert "n is 2, from x, f32[n, n]" in refused(
        {"x": {"zeros": "f32[2, 3]", "shape": "f32[n, n]"}}
    )


def test_a_wrong_dtype_or_rank_is_refused() -> None:
    assert "x is f32[3], but i32[3] is declared" in refused(
        {"x": {"zeros": "f32[3]", "shape": "i32[3]"}}
    )
    assert "x is f32[3], but f32[3, 1] is declared" in refused(
        {"x": {"zeros": "f32[3]", "shape": "f32[3, 1]"}}
    )
    assert "x is key[4], but key[8] is declared" in refused(
        {"x": {"key": 0, "split": 4, "shape": "key[8]"}}
    )


def test_a_call_gets_python_values_and_its_tree_becomes_arrays(model: Path) -> None:
    data = {"call": "a_model_of_arguments:init", "seed": 2, "key": {"key": 1}}
    shape = {"w": "f32[3, 2]", "b": ["f32[]", "i32[]"], "key": "key[]"}
    value = read({"p": {**data, "shape": shape}}, folder=model).values["p"]
    assert value["w"].tolist() == [[2, 2]] * 3
    assert [item.tolist() for item in value["b"]] == [0.5, 3]
    text = refused({"p": {**data, "shape": {"w": "f32[2, 3]", "c": "f32[]"}}}, folder=model)
    assert "p['w'] is f32[3, 2], but f32[2, 3] is declared" in text
    assert "p has no 'c', which is declared" in text
    assert "p has 'b', which is not declared" in text


def test_an_exception_of_the_called_function_is_the_cause(model: Path) -> None:
    with pytest.raises(ComposerError) as caught:
        read({"p": {"call": "a_model_of_arguments:bad"}}, folder=model)
    assert str(caught.value) == (
        "CMP071 p: a_model_of_arguments:bad fails when it is called: KeyError: 'gone'\n"
        "  called with: no arguments"
    )
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_object_is_static_without_being_declared(model: Path) -> None:
    ref = {"ref": "a_model_of_arguments:act"}
    found = read({"f": ref}, folder=model)
    assert callable(found.values["f"])
    assert found.static == {"f"}
    text = refused({"f": {"call": "a_model_of_arguments:NUMBER"}}, folder=model)
    assert "a_model_of_arguments:NUMBER is a int, which cannot be called" in text


def test_a_static_mapping_is_refused_before_jit_refuses_it() -> None:
    assert "CMP401 static argument 'n' is a dict, which is not hashable" in refused(
        {"n": {"value": {"a": 1}}}, static=("n",)
    )


def test_data_from_a_file_is_checked_and_only_converted_on_request(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=np.ones((5, 3)), y=np.arange(5))
    np.savetxt(tmp_path / "t.csv", np.arange(4).reshape(2, 2), fmt="%d", delimiter=",")
    values = read(
        {
            "x": {"file": "d.npz", "key": "x", "shape": "f32[n, 3]"},
            "y": {"file": "d.npz", "key": "y", "shape": "i32[n]"},
            "h": {"file": "d.npz", "key": "x", "dtype": "bf16", "shape": "bf16[n, 3]"},
            "t": {"file": "t.csv", "shape": "f32[2, 2]"},
        },
        folder=tmp_path,
    ).values
    assert [str(value.dtype) for value in values.values()] == [
        "float32",
        "int32",
        "bfloat16",
        "float32",
    ]
    with jax.enable_x64(True):
        text = refused({"x": {"file": "d.npz", "key": "x", "shape": "f32[n, 3]"}}, folder=tmp_path)
        assert "x is f64[5, 3], but f32[n, 3] is declared" in text
    text = refused({"x": {"file": "../d.npz"}}, folder=tmp_path)
    assert "CMP068 ../d.npz is outside the project" in text
