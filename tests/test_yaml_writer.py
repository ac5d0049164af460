"""Writing: the layout of a pipeline's text, and that every reader takes it for the same data."""

from __future__ import annotations

import math
import struct

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from composer._yaml import dump, parse
from composer.errors import PipelineError

PIPELINE = """\
composer: 1
function: digits:loss
returns: [loss, {stats: {n, mean}}]
args:
  params: {call: digits:init_params, seed: 0}
  x: {file: data/digits.npz, key: x, shape: "f32[batch, 64]"}
  y: {file: data/digits.npz, key: y}
stack:
  - value_and_grad: {argnums: params}
  - pmap: {axis_name: devices, in_axes: {x: 0, y: 0}, split: true, sync: pmean}
  - optimizer: {optax: adam, learning_rate: 0.001}
  - jit
write: null
"""


def exact(value: object) -> object:
    """The value with its types and its floats as bits, so that 1, 1.0 and true differ."""
    if isinstance(value, dict):
        return [(type(key), key, exact(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, float):
        return struct.pack("<d", value)
    return type(value), value


def test_a_pipeline_is_written_as_a_person_would() -> None:
    assert dump(parse(PIPELINE).data) == PIPELINE


def test_what_does_not_fit_into_a_hundred_columns_is_written_in_block_style() -> None:
    spec = {f"argument_{i}": {"shape": f"f32[{i}, 3]"} for i in range(4)}
    text = dump({"args": {"x": 1}, "stack": [{"vmap": {"in_axes": spec}}, {"id": "a", "jit": {}}]})
    assert text == (
        "args:\n"
        "  x: 1\n"
        "stack:\n"
        "  - vmap:\n"
        "      in_axes:\n"
        '        argument_0: {shape: "f32[0, 3]"}\n'
        '        argument_1: {shape: "f32[1, 3]"}\n'
        '        argument_2: {shape: "f32[2, 3]"}\n'
        '        argument_3: {shape: "f32[3, 3]"}\n'
        "  - id: a\n"
        "    jit: {}\n"
    )


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("no", '"no"'),
        ("On", '"On"'),
        ("null", '"null"'),
        ("None", '"None"'),
        ("~", '"~"'),
        ("1e-3", '"1e-3"'),
        ("017", '"017"'),
        ("1:30", '"1:30"'),
        ("2024-01-01", '"2024-01-01"'),
        ("(0, 1)", '"(0, 1)"'),
        ("<<", '"<<"'),
        ("=", '"="'),
        ("", '""'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        (" a", '" a"'),
        ("a:", '"a:"'),
        ("- a", '"- a"'),
        ("...", '"..."'),
        ("---", '"---"'),
        ("f32[8, 3]", '"f32[8, 3]"'),
        ('say "hi"\\', '"say \\"hi\\"\\\\"'),
        ("a\nb\tc\r", '"a\\nb\\tc\\r"'),
        ("\x1b\x85\u2028\u202e\ufeff\U000e0001", '"\\x1b\\x85\\u2028\\u202e\\ufeff\\U000e0001"'),
        ("digits:loss", "digits:loss"),
        ("./data/x.npz", "./data/x.npz"),
        ("two words", "two words"),
        ("é", "é"),
        ("y", "y"),
        (1e-3, "0.001"),
        (1e-7, "1.0e-07"),
        (1e16, "1.0e+16"),
        (-0.0, "-0.0"),
        (5e-324, "5.0e-324"),
        (2.0, "2.0"),
        (True, "true"),
        (None, "null"),
        ([], "[]"),
        ({}, "{}"),
    ],
)
def test_a_value_is_written_so_that_every_reader_takes_it_alike(
    value: object, written: str
) -> None:
    assert dump([value]) == f"- {written}\n"
    assert exact(parse(dump([value])).data) == exact([value])
    assert exact(yaml.safe_load(dump({"a": [value]}))) == exact({"a": [value]})


def test_names_alone_are_written_alone_only_in_returns() -> None:
    data = {"returns": [{"n": None, "a:b": None}], "in_axes": {"x": None}}
    assert dump(data) == 'returns: [{n, "a:b"}]\nin_axes: {x: null}\n'
    assert parse(dump(data)).data == data


PLAIN = "text, numbers, true, false, null, lists, dicts"


def too_deep() -> object:
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            {"stack": [{"vmap": {"in_axes": (0, 1)}}]},
            "stack[0].vmap.in_axes: a value of type tuple is not plain data\n  write: a list",
        ),
        ({"a": math.inf}, "a: inf is not a finite number\n  write: a finite number"),
        (math.nan, "nan is not a finite number\n  write: a finite number"),
        ([2**63], "[0]: the integer does not fit into 64 bits\n  write: a smaller number"),
        (
            {"a": object},
            "a: a value of type type is not plain data\n  write: " + PLAIN,
        ),
        (
            {"a": "\ud800"},
            "a: a text has half a character (a surrogate)\n  write: whole characters",
        ),
        ({True: 1}, "a key of type bool is not a word\n  write: text, or a position such as 0"),
        ({-1: 1}, "the key -1 is not a word\n  write: text, or a position such as 0"),
        ({"k" * 1001: 1}, "a key is longer than 1000 characters\n  write: a shorter key"),
        (
            too_deep(),
            "[0]" * 12 + "[...: nested deeper than 32 levels\n  write: fewer levels",
        ),
        (
            ["x" * 65536],
            "the text would be larger than 64 KiB\n  write: large values in a data file",
        ),
    ],
)
def test_what_cannot_be_read_back_is_not_written(data: object, said: str) -> None:
    with pytest.raises(PipelineError) as caught:
        dump(data)
    assert str(caught.value) == "CMP041 " + said


def test_long_texts_and_keys_of_the_largest_size_are_read_back() -> None:
    long = "word: " * 800
    for data in (long, [long], {"k" * 1000: long}, {"a": [{"k" * 996 + '"': {"b": long}}]}):
        assert parse(dump(data)).data == data


texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text("yesnoYNofULtrua~.:-+_#,[]{}&*!|>'\"%@` \n\t0123456789exX(=<", max_size=8),
    st.sampled_from(["no", "1e-3", "017", "0x1F", "1:30", "null", "None", ".inf", "1_0", "..."]),
)
scalars = st.one_of(
    texts,
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)
keys = st.one_of(texts, st.integers(0, 2**63 - 1))
plain_data = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(keys, inner, max_size=5),
        st.dictionaries(st.sampled_from(["args", "stack", "returns"]), inner, min_size=1),
    ),
    max_leaves=30,
)


@given(plain_data)
def test_what_is_written_reads_back_equal_in_value_and_type(data: object) -> None:
    text = dump(data)
    assert exact(parse(text).data) == exact(data)
    # PyYAML's own loader stands for the readers of YAML 1.1.
    assert exact(yaml.safe_load(text)) == exact(data)
