"""Pipelines are data: frozen, equal by content; each parameter is written down and read again.

Whole random pipelines are in test_round_trip.py.
"""

import copy
import dataclasses
import pickle
import types
from typing import Annotated, Literal, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import composer
from composer import Grad, Jit, Layer, Pipeline, Vmap
from composer._load import pipeline_from
from composer._parameters import ParameterError
from composer._pipeline import Run, Write
from composer._registry import default_registry
from composer._retrace import MaxTraces
from composer._sources import parse_source
from composer._yaml import parse
from composer.errors import ComposeError
from composer.transforms import CATALOGUE

TRANSFORMS = {word: default_registry().load(word) for word in CATALOGUE}

# Words that YAML readers take for something else stand among the names on purpose.
NAMES = st.sampled_from(["x", "y", "params", "null", "yes", "1", "on", "a b", "é", "x.y", "-"])
REFERENCES = st.sampled_from(["m:f", "pkg.mod:Class.method", "dir/file.py:f"])
NUMBERS = st.integers(-4, 4)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TREES = st.recursive(
    st.one_of(st.none(), NUMBERS, NAMES),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)


def reread(pipeline):
    return pipeline_from(parse(pipeline.to_yaml()), default_registry().load)


def values(kind):
    """A strategy for a type as fields of transforms are declared with."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return values(parts[0])
    if origin is Literal:
        return st.sampled_from(parts)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values, parts))
    if origin is tuple:
        if parts[-1] is ...:
            return st.lists(values(parts[0]), max_size=3)
        return st.tuples(*map(values, parts))
    if origin is dict:
        return st.dictionaries(NAMES, values(parts[1]), max_size=3)
    plain = {
        bool: st.booleans(), int: NUMBERS, float: FLOATS, str: NAMES,
        type(None): st.none(), object: st.one_of(TREES, REFERENCES), tuple: st.lists(TREES),
        dict: st.dictionaries(NAMES, TREES, max_size=3),
    }  # fmt: skip
    return plain[kind]


@st.composite
def transforms(draw, word):
    """A layer's transform with a few parameters that differ from the defaults."""
    cls = TRANSFORMS[word]
    required, optional = [], []
    for field in msgspec.structs.fields(cls):
        (required if field.required else optional).append(field)
    for _ in range(8):
        chosen = draw(st.lists(st.sampled_from(optional), max_size=2)) if optional else []
        fields = {field.name: field for field in [*required, *chosen]}
        try:
            return cls(**{name: draw(values(field.type)) for name, field in fields.items()})
        except ParameterError:
            continue
    return reject()


@pytest.mark.parametrize("word", sorted(CATALOGUE))
def test_every_transform_is_written_and_read_with_its_parameters(word):
    seen = set()

    @settings(max_examples=40)
    @given(transforms(word))
    def check(transform):
        [again] = reread(Pipeline("m:f", (Layer(transform),))).stack
        assert again.transform == transform
        assert repr(again.transform) == repr(transform)
        seen.update(name for name, _ in transform.items())

    check()
    assert seen, f"no parameter of {word} was ever set"


# Frozen, comparable, hashable


def example(**changes):
    given = {
        "function": "m:f", "stack": (Layer(Grad()), Layer(Vmap(in_axes={"x": 0})), Layer(Jit())),
        "returns": ["loss"], "mesh": {"data": 2, "model": 4},
        "sources": {"x": parse_source([1.0]), "n": parse_source(3)},
    }  # fmt: skip
    return Pipeline(**(given | changes))


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Pipeline)])
def test_no_field_of_a_pipeline_can_be_assigned(name):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(example(), name, None)


def test_no_part_of_a_pipeline_can_be_changed():
    pipeline = example()
    with pytest.raises(TypeError, match="does not support item assignment"):
        pipeline.mesh["data"] = 8
    with pytest.raises(TypeError, match="does not support item assignment"):
        pipeline.sources["x"] = parse_source(2.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        pipeline.stack[0].id = "a"
    with pytest.raises(AttributeError):
        pipeline.stack[0].transform.argnums = 1
    assert pipeline.returns == ("loss",)


def test_a_pipeline_keeps_its_own_copy_of_what_it_is_made_of():
    mesh, names = {"data": 2}, ["loss"]
    pipeline = Pipeline("m:f", (), mesh=mesh, returns=names)
    mesh["data"] = 8
    names.append("aux")
    assert pipeline == Pipeline("m:f", (), mesh={"data": 2}, returns=["loss"])


@pytest.mark.parametrize(
    "changes",
    [
        {"function": "m:g"},
        {"name": "f"},
        {"static": ("n",)},
        {"returns": None},
        {"stack": (Layer(Grad()), Layer(Vmap(in_axes={"x": 1})), Layer(Jit()))},
        {"stack": (Layer(Grad()), Layer(Jit()), Layer(Vmap(in_axes={"x": 0})))},
        {"stack": (Layer(Grad(), "a"), Layer(Vmap(in_axes={"x": 0})), Layer(Jit()))},
        {"mesh": {"model": 4, "data": 2}},
        {"sources": {"x": parse_source([1]), "n": parse_source(3)}},
        {"sources": {"n": parse_source(3), "x": parse_source([1.0])}},
        {"plugins": ("trace",)},
        {"run": Run(simulate_devices=4)},
        {"write": Write("out.npz")},
        {"max_traces": MaxTraces(1)},
    ],
    ids=str,
)
def test_pipelines_that_differ_are_not_equal(changes):
    assert example(**changes) != example()
    assert example() == example()
    assert len({example(), example(), example(**changes)}) == 2


def test_places_and_folders_are_not_part_of_equality(tmp_path):
    text = "composer: 1\nfunction: m:f\nstack: [grad, {vmap: {in_axes: {x: 0}}}]\n"
    spread = (
        "\n\ncomposer:   1\nstack:\n  - grad\n  - vmap:\n      in_axes: {x: 0}\nfunction: m:f\n"
    )
    (tmp_path / "other").mkdir()
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "other" / "b.yaml").write_text(spread)
    one = composer.load(tmp_path / "a.yaml")
    other = composer.load(tmp_path / "other" / "b.yaml")
    assert one.stack[0].place != other.stack[0].place
    assert one.folder != other.folder
    assert one == other
    assert hash(one) == hash(other)


def test_an_alias_is_the_transform_it_stands_for():
    def read(word):
        text = f"composer: 1\nfunction: m:f\nstack: [{word}]\n"
        return pipeline_from(parse(text), default_registry().load)

    assert read("remat") == read("checkpoint")
    assert read("jacobian") == read("jacrev") != read("jacfwd")


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_a_copy_of_a_pipeline_is_equal(how, tmp_path):
    (tmp_path / "a.yaml").write_text("composer: 1\nfunction: m:f\nargs: {x: 1.0}\nstack: [grad]\n")
    pipeline = composer.load(tmp_path / "a.yaml")
    made = how(pipeline)
    assert made == pipeline
    assert made.folder == pipeline.folder
    assert made.stack[0].place == pipeline.stack[0].place


def test_a_pipeline_made_by_hand_says_how_to_get_one_that_builds():
    with pytest.raises(ComposeError) as caught:
        example().build()
    assert str(caught.value) == (
        "CMP030 this pipeline was put together by hand, so nothing builds it\n"
        "  write: composer.load(path), composer.loads(text) or composer.compose(function, ...)"
    )


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"name": "job", "function": "m:f"}, "job"),
        ({"function": "pkg.m:Model.loss"}, "Model.loss"),
        ({"function": parse_source({"call": "m:make", "n": 1})}, "make"),
    ],
)
def test_the_title_is_the_name_or_that_of_the_function(changes, title):
    assert example(**changes).title == title
