"""Argument sources: what plain data means, and what is said about data that means nothing."""

from __future__ import annotations

import subprocess
import sys

import hypothesis.strategies as st
import pytest
from hypothesis import given

from composer import _sources as sources
from composer._sources import Shape, needs_code, parse_shape, parse_source
from composer.errors import PipelineError, Place


def refused(data: object) -> str:
    with pytest.raises(PipelineError) as caught:
        parse_source(data, path=("args", "x"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("f32[8, 3]", Shape("f32", (8, 3))),
        ("f32[]", Shape("f32", ())),
        ("i32[batch]", Shape("i32", ("batch",))),
        ("key[8]", Shape("key", (8,))),
        ("bool[0]", Shape("bool", (0,))),
        ("bfloat16[n,3]", Shape("bf16", ("n", 3))),
        (" uint8 [ 2 ] ", Shape("u8", (2,))),
        ("complex128[1]", Shape("c128", (1,))),
    ],
)
def test_a_bare_text_with_brackets_is_a_shape(text: str, shape: Shape) -> None:
    source = parse_source(text)
    assert isinstance(source, sources.ShapeOnly)
    assert source.shape == shape
    assert parse_shape(str(shape)) == shape


def test_a_tree_of_shapes_keeps_its_form_and_its_nulls() -> None:
    data = {"layers": ["f32[3, 4]", {"b": "f32[4]"}], "none": None}
    source = parse_source(data)
    assert source.shape == {
        "layers": (Shape("f32", (3, 4)), {"b": Shape("f32", (4,))}),
        "none": None,
    }
    assert source.to_data() == data


def test_a_tree_whose_first_name_is_the_word_of_a_kind_is_written_below_shape() -> None:
    data = {"shape": {"key": "f32[3]", "query": "f32[3]"}}
    assert parse_source(data).to_data() == data
    assert isinstance(parse_source({"query": "f32[3]", "key": "f32[3]"}), sources.ShapeOnly)


@pytest.mark.parametrize("data", [1, 1.5, True, None, "relu", [1, [2, "a"]], [], "a b"])
def test_plain_data_is_a_literal(data: object) -> None:
    source = parse_source(data)
    assert isinstance(source, sources.Value)
    assert source.to_data() == data
    assert type(source.to_data()) is type(data)


def test_one_and_true_and_one_point_zero_are_three_different_sources() -> None:
    one, true, real = (parse_source(value) for value in (1, True, 1.0))
    assert one != true
    assert one != real
    assert true != real
    assert len({one, true, real, parse_source(1)}) == 3


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"value": {"a": 1}}, sources.Value),
        ({"value": "f32[3]"}, sources.Value),
        ({"file": "d.npz", "key": "x", "shape": "f32[n, 3]"}, sources.File),
        ({"file": "d.csv", "key": ["a", "b"], "delimiter": ";", "header": True}, sources.File),
        ({"call": "m:f", "seed": 0, "key": {"key": 0}, "shape": {"w": "f32[3]"}}, sources.Call),
        (
            {"random": "uniform", "shape": "bf16[3]", "seed": 1, "low": -1, "high": 1.5},
            sources.Random,
        ),
        ({"key": 0, "split": [8, 2], "impl": "rbg"}, sources.Key),
        ({"linspace": [0, 1, 11], "dtype": "f32"}, sources.Linspace),
        ({"logspace": [0, 3, 4], "base": 2}, sources.Logspace),
        ({"geomspace": [1, 8, 4]}, sources.Geomspace),
        ({"arange": [0, 1, 0.5]}, sources.Arange),
        ({"zeros": "f32[3]"}, sources.Zeros),
        ({"ones": "i32[3]", "shape": "i32[n]"}, sources.Ones),
        ({"full": "bool[3]", "value": True}, sources.Full),
        ({"eye": 3}, sources.Eye),
        ({"ref": "pkg.mod:Class.method"}, sources.Ref),
    ],
)
def test_the_first_word_of_a_mapping_says_the_kind(data: object, kind: type) -> None:
    source = parse_source(data)
    assert type(source) is kind
    assert source.to_data() == data
    assert parse_source(source.to_data()) == source


def test_every_word_has_a_kind() -> None:
    assert tuple(sources.KINDS) == sources.WORDS


_names = st.sampled_from(["w", "b", "key", "file", "shape", "x1"])
_scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
_texts = st.sampled_from(["relu", "f32[3]", "", "a[b", "no", "1", "f32 [2]"])
_plain = st.recursive(
    _scalars | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=8,
)
_shapes = st.builds(
    Shape,
    st.sampled_from(list(sources.LONG_NAMES)),
    st.lists(st.integers(0, 9) | st.sampled_from(["n", "batch"]), max_size=3).map(tuple),
)
_trees = st.recursive(
    _shapes,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(tuple)
        | st.dictionaries(_names, inner, min_size=1, max_size=3)
    ),
    max_leaves=6,
)
_values = st.builds(sources.Value, value=_plain, shape=st.none() | _trees)
_bare = st.builds(sources.ShapeOnly, shape=_trees)
_keys = st.builds(sources.Key, key=st.integers(0, 99), split=st.none() | st.integers(0, 8))
_calls = st.builds(
    sources.Call,
    call=st.just("m:f"),
    arguments=st.dictionaries(st.sampled_from(["a", "key", "file"]), _values | _keys, max_size=3),
    shape=st.none() | _trees,
)


@given(_values | _bare | _keys | _calls)
def test_reading_what_a_source_writes_gives_the_source_again(source: sources.Source) -> None:
    assert parse_source(source.to_data()) == source


def test_the_kinds_that_read_or_run_something_need_code() -> None:
    assert needs_code(parse_source({"file": "a.npz"}))
    assert needs_code(parse_source({"ref": "m:f"}))
    assert needs_code(parse_source({"call": "m:f", "x": {"file": "a.npz"}}))
    assert not needs_code(parse_source({"zeros": "f32[3]"}))
    assert not needs_code(parse_source([1, 2]))


def test_an_unknown_kind_gets_the_nearest_one() -> None:
    assert refused({"fil": "a.npz"}) == (
        "CMP060 x is a mapping, but no kind of source\n"
        "  kinds: value, file, call, ref, random, key, zeros, ones, full, eye, linspace,"
        " logspace, geomspace, arange\n"
        "  write: {file: ...}"
    )


def test_a_kind_that_does_not_stand_first_is_told_to_stand_first() -> None:
    assert "the kind of a source stands first, but 'seed' does" in refused(
        {"seed": 0, "random": "normal"}
    )
    assert "write: {random: ..., seed: ...}" in refused({"seed": 0, "random": "normal"})


def test_an_unknown_part_is_refused_with_the_parts_there_are() -> None:
    assert refused({"file": "a.npz", "sahpe": "f32[3]"}) == (
        "CMP061 'sahpe' is no part of a file source\n"
        "  parts: file, key, dtype, delimiter, header, shape\n"
        "  write: shape: ..."
    )


def test_true_is_no_seed_and_an_unknown_distribution_gets_the_nearest() -> None:
    assert refused({"random": "norml", "shape": "f32[2]", "seed": True}) == (
        "CMP061 random of a random source does not fit: invalid enum value 'norml'\n"
        "  choices: normal, uniform, truncated_normal, exponential, integers, bernoulli\n"
        "  write: random: normal\n"
        "\n"
        "CMP061 seed of a random source does not fit: expected `int`, got `bool`"
    )


def test_a_text_is_no_number() -> None:
    assert "expected `int`, got `text`" in refused({"key": "1"})


def test_a_random_source_needs_a_shape_and_a_seed() -> None:
    text = refused({"random": "normal"})
    assert "CMP061 a random source needs shape\n" in text
    assert "CMP061 a random source needs seed\n" in text


def test_sizes_alone_are_refused_with_the_shape_that_they_mean() -> None:
    assert refused({"random": "normal", "shape": [32, 3], "seed": 0}) == (
        'CMP062 [32, 3] has no dtype: dtype[sizes]\n  write: "f32[32, 3]"'
    )
    assert refused({"ones": 32}) == ('CMP062 32 is not a shape: dtype[sizes]\n  write: "f32[32]"')


def test_a_dtype_alone_is_refused_with_brackets() -> None:
    assert refused({"zeros": "float32"}) == (
        "CMP062 'float32' is not a shape: dtype[sizes]\n"
        '  write: "f32[]" for one number, "f32[8, 3]" for an array'
    )


def test_a_random_source_needs_sizes_not_names() -> None:
    assert refused({"random": "normal", "shape": "f32[batch, 3]", "seed": 0}) == (
        "CMP061 x: f32[batch, 3] names 'batch': how many numbers to make must be said here\n"
        '  write: shape: "f32[8, 3]"'
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"random": "normal", "shape": "i32[3]", "seed": 0}, "normal draws no i32"),
        ({"random": "integers", "shape": "f32[3]", "seed": 0, "low": 0, "high": 2}, "draws no f32"),
        ({"random": "integers", "shape": "i32[3]", "seed": 0}, "integers needs low"),
        (
            {"random": "normal", "shape": "f32[3]", "seed": 0, "low": 0},
            "takes mean, std, and no low",
        ),
        (
            {"random": "uniform", "shape": "f32[3]", "seed": 0, "low": 2, "high": 1},
            "not below high",
        ),
        (
            {"random": "bernoulli", "shape": "bool[3]", "seed": 0, "p": 2},
            "p is 2, not a probability",
        ),
        ({"file": "a.txt"}, "ends in none of .npy, .npz, .csv, .safetensors"),
        ({"file": "a.npy", "key": "x"}, "a npy file holds one array"),
        ({"file": "a.npz", "header": True}, "header is for csv files only"),
        ({"file": "a.npz", "dtype": "f33"}, "'f33' is not a dtype"),
        ({"call": "no_colon"}, "'no_colon' is not module:name"),
        ({"call": "m:f", "x": "f32[3]"}, "x has a shape, but no value"),
        ({"linspace": [0, 1]}, "expected `list` of length 3, got 2"),
        ({"arange": [0, 1, 0]}, "the step of arange is 0"),
        ({"geomspace": [0, 1, 3]}, "start and stop of geomspace are above 0"),
        ({"full": "i32[3]", "value": True}, "true is no value of i32"),
        ({"zeros": "key[3]"}, "a PRNG key is made by {key: 0}"),
        ({"value": float("nan")}, "nan is not a finite number"),
        ([{"a": 1}], "x is a list with a mapping in it"),
    ],
)
def test_parts_that_do_not_fit_each_other_are_refused(data: object, said: str) -> None:
    assert said in refused(data)
    assert "CMP061" in refused(data)


@pytest.mark.parametrize(
    ("text", "said", "cure"),
    [
        ("float[3]", "'float' is not a dtype", '"f32[3]"'),
        ("f32[3", "'f32[3' is not a shape: dtype[sizes]", '"f32[8, 3]"'),
        (
            "f32[-1]",
            "'-1' in 'f32[-1]' is neither a size (0, 1, 2 ...) nor the name of one",
            '"f32[n, 3]"',
        ),
        ("f32[2.0]", "'2.0' in 'f32[2.0]' is neither", '"f32[n, 3]"'),
        ("f32[3,]", "'' in 'f32[3,]' is neither", '"f32[n, 3]"'),
    ],
)
def test_a_wrong_shape_text_is_refused_with_a_right_one(text: str, said: str, cure: str) -> None:
    found = refused(text)
    assert f"CMP062 {said}" in found
    assert f"  write: {cure}     # or, for the text itself: {{value: {text!r}}}" in found


def test_a_list_of_shapes_and_others_is_refused() -> None:
    assert "CMP062 x is a list of shapes and other values" in refused(["f32[3]", 1])


def test_a_diagnostic_stands_at_the_part_that_is_wrong() -> None:
    def place_of(path: tuple[str | int, ...]) -> Place:
        return Place("p.yaml", len(path), 1, ".".join(str(step) for step in path))

    with pytest.raises(PipelineError) as caught:
        parse_source(
            {"call": "m:f", "k": {"key": 0, "splt": 2}}, path=("args", "x"), place_of=place_of
        )
    place = caught.value.diagnostics[0].place
    assert place is not None
    assert place.text == "args.x.k.splt"


def test_reading_sources_imports_neither_jax_nor_numpy() -> None:
    code = (
        "import sys; from composer._sources import parse_source;"
        "parse_source({'random': 'normal', 'shape': 'f32[3]', 'seed': 0});"
        "sys.exit(bool({'jax', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
