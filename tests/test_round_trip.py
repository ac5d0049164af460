"""Random pipelines, of every transform and every kind of source, are what they were when read."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import composer
from composer import Layer, Pipeline, PipelineError, _sources
from composer._load import pipeline_from
from composer._pipeline import Run, SubPipeline, Write
from composer._registry import default_registry
from composer._sources import Shape
from composer._yaml import parse


def read(text):
    """The pipeline of a text, without a file."""
    return pipeline_from(parse(text), default_registry().load)


# Words that careless writers or readers of YAML take for something else.
WORDS = st.sampled_from(
    ["x", "params", "yes", "on", "null", "~", "true", "1", "1e3", "0x1F", "1_000", "12:30",
     "2024-01-01", "a b", "a: b", "- a", "#a", "ß", "'", '"', "\\", "{x", "&a", "*a", "<<", "=",
     "id", "function", "shape", "key", "value"]
)  # fmt: skip
NAMES = st.sampled_from(["x", "y", "params", "größe", "batch", "is_on", "null", "n1"])
REFERENCES = st.sampled_from(["m:f", "a.b:C.d", "functions.py:loss", "sub/file.py:f"])
SMALL = st.integers(-3, 3)
SIZES = st.integers(1, 9)
REALS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | REALS | WORDS
ONE_OR_MORE = NAMES | st.lists(NAMES, min_size=1, max_size=3, unique=True).map(tuple)
WHICH = SMALL | ONE_OR_MORE
FLAG = st.booleans()


def trees(leaves, keys=WORDS):
    """Lists and mappings of the leaves, nested."""
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=3)
        ),
        max_leaves=5,
    )


AXES = trees(st.none() | SMALL)
PLAIN = trees(SCALARS)
SPECS = st.dictionaries(NAMES, st.lists(st.none() | NAMES, max_size=3).map(tuple), max_size=2)


def made(cls, required=None, **optional):
    """Instances of a class with its required parameters, and any of the optional ones."""
    return st.fixed_dictionaries(required or {}, optional=optional).map(lambda v: cls(**v))


def derivative(cls, **more):
    return made(cls, argnums=WHICH, has_aux=FLAG, holomorphic=FLAG, **more)


OVER = {"axis_name": ONE_OR_MORE}
TRANSFORMS = {
    "Apply": made(
        composer.Apply,
        {"function": REFERENCES},
        args=st.lists(PLAIN, max_size=2).map(tuple),
        keywords=st.dictionaries(WORDS, PLAIN, max_size=2),
        how=st.sampled_from(["decorator", "factory", "call"]),
        arguments=st.just(("x", "größe")),
        equals=REFERENCES,
    ),
    "Cast": made(
        composer.Cast,
        {"outputs": st.sampled_from(["f32", "bf16"])},
        arguments=st.dictionaries(NAMES, st.sampled_from(["f32", "i32"]), max_size=2),
    ),
    "Checkify": made(composer.Checkify, errors=st.sampled_from(["all_checks", ("nan_checks",)])),
    "Checkpoint": made(
        composer.Checkpoint,
        prevent_cse=FLAG | st.just((True, False)),
        policy=WORDS | st.just({"save_only_these_names": ("a", "b")}),
        static_argnums=WHICH,
    ),
    "Collective": made(composer.Collective, {"op": st.sampled_from(["pmean", "psum"]), **OVER})
    | made(
        composer.Collective, {"op": st.just("all_gather"), **OVER}, axis=SMALL, tiled=FLAG
    )
    | made(composer.Collective, {"op": st.just("ppermute"), "perm": st.just(((0, 1),)), **OVER}),
    "Grad": derivative(composer.Grad, allow_int=FLAG),
    "Hessian": derivative(composer.Hessian),
    "Jacfwd": derivative(composer.Jacfwd),
    "Jacrev": derivative(composer.Jacrev, allow_int=FLAG),
    "Jit": made(
        composer.Jit,
        in_shardings=SPECS,
        static_argnums=WHICH,
        static_argnames=ONE_OR_MORE,
        donate_argnums=WHICH,
        keep_unused=FLAG,
        device=SMALL,
        backend=WORDS,
        inline=FLAG,
        compiler_options=st.dictionaries(WORDS, SCALARS, max_size=2),
    ),
    "Jvp": made(
        composer.Jvp,
        {"tangents": st.just({"x": "x_t"}) | st.just({"y": "v", "x": "w"})},
        has_aux=FLAG,
    ),
    "Map": made(composer.Map, xs=WHICH.filter(lambda v: v != ()), batch_size=SIZES),
    "Partial": made(
        composer.Partial,
        {"keywords": st.dictionaries(WORDS, PLAIN, min_size=1, max_size=2)},
        args=st.lists(PLAIN, max_size=2).map(tuple),
    ),
    "Pmap": made(
        composer.Pmap, axis_name=WORDS, in_axes=AXES, out_axes=AXES, axis_size=SIZES,
        devices=st.just((0, 1)), donate_argnums=WHICH,
    )
    | made(
        composer.Pmap, {"split": st.just(True)}, merge=FLAG, weights=WORDS,
        sync=trees(st.none() | st.sampled_from(["pmean", "psum"])), remainder=st.just("drop"),
    ),
    "Reduce": made(
        composer.Reduce,
        {"op": st.sampled_from(["mean", "sum"])},
        axis=st.none() | SMALL | st.just((0, 1)),
        outputs=WHICH,
    ),
    "Repeat": made(composer.Repeat, {"n": SIZES}, carry=WHICH, unroll=SIZES | FLAG),
    "Scan": made(
        composer.Scan, {"length": SIZES}, carry=WHICH, xs=st.none() | WHICH, reverse=FLAG,
        unroll=SIZES | FLAG,
    ),
    "Select": made(composer.Select, {"output": WHICH}) | made(composer.Select, {"drop": WHICH}),
    "ShardMap": made(
        composer.ShardMap,
        {"out_specs": SPECS},
        in_specs=SPECS,
        mesh=st.dictionaries(WORDS, SIZES, max_size=2),
        axis_names=st.just(("a", "b")),
        check_vma=FLAG,
    ),
    "SplitKey": made(composer.SplitKey, {"key": NAMES, "num": SIZES})
    | made(composer.SplitKey, {"key": SMALL, "like": NAMES}, axis=SMALL),
    "StopGradient": made(composer.StopGradient, {"arguments": WHICH}, outputs=WHICH),
    "Then": made(composer.Then, {"function": REFERENCES}, unpack=FLAG),
    "ValueAndGrad": derivative(composer.ValueAndGrad, allow_int=FLAG),
    "Vjp": made(composer.Vjp, {"cotangent": st.just("ct")}, argnums=WHICH, has_aux=FLAG),
    "Vmap": made(
        composer.Vmap, in_axes=AXES, out_axes=AXES, axis_name=WORDS, axis_size=SIZES,
        spmd_axis_name=ONE_OR_MORE,
    )
    | made(composer.Vmap, {"chunk": SIZES}),
}  # fmt: skip


def stacks(**options):
    """Layers of any transforms, some with ids, which differ."""
    layers = st.builds(Layer, st.one_of(*TRANSFORMS.values()), st.none() | WORDS)
    return st.lists(
        layers, unique_by=lambda layer: layer.id or object(), max_size=4, **options
    ).map(tuple)


SHAPES = st.builds(
    Shape,
    st.sampled_from(["f32", "bf16", "key"]),
    st.lists(SIZES | st.just("n"), max_size=3).map(tuple),
)
FILLED = st.builds(Shape, st.just("f32"), st.lists(SIZES, max_size=3).map(tuple))
SHAPE_TREES = trees(SHAPES).filter(lambda tree: any(True for _ in _sources.leaves(tree)))
SEED = st.integers(0, 2**32 - 1)
DTYPE = st.sampled_from(["f32", "float64", "i32"])
COUNTED = st.tuples(REALS, REALS, SIZES)
VALUES = made(_sources.Value, {"value": PLAIN}, shape=SHAPE_TREES)
SOURCES = {
    "shape": made(_sources.ShapeOnly, {"shape": SHAPE_TREES}),
    "value": VALUES,
    "file": made(_sources.File, {"file": st.just("a b.npz")}, key=WORDS, dtype=DTYPE)
    | made(_sources.File, {"file": st.just("x.csv")}, delimiter=st.just(";"), header=FLAG),
    "call": made(
        _sources.Call,
        {"call": REFERENCES},
        arguments=st.dictionaries(NAMES, VALUES | made(_sources.Key, {"key": SEED}), max_size=2),
        shape=SHAPE_TREES,
    ),
    "ref": made(_sources.Ref, {"ref": REFERENCES}),
    "random": made(
        _sources.Random, {"random": st.just("normal"), "seed": SEED, "shape": FILLED}, std=REALS
    ),
    "key": made(_sources.Key, {"key": SEED}, split=SIZES | st.just((2, 3)), impl=st.just("rbg")),
    "zeros": made(_sources.Zeros, {"zeros": FILLED}),
    "ones": made(_sources.Ones, {"ones": FILLED}),
    "full": made(_sources.Full, {"full": FILLED, "value": SMALL | REALS}),
    "eye": made(_sources.Eye, {"eye": SIZES}, dtype=DTYPE),
    "linspace": made(_sources.Linspace, {"linspace": COUNTED}, dtype=DTYPE),
    "logspace": made(_sources.Logspace, {"logspace": COUNTED}, base=SIZES | REALS),
    "geomspace": made(_sources.Geomspace, {"geomspace": st.tuples(SIZES, SIZES, SIZES)}),
    "arange": made(_sources.Arange, {"arange": st.tuples(REALS | SMALL, SMALL)}, dtype=DTYPE),
    "function": made(
        SubPipeline,
        {"function": REFERENCES},
        static=st.just(("n",)),
        returns=st.just(("loss", {"stats": ("n", "mean")})),
        stack=stacks(),
    ),
}
RETURNS = st.sampled_from(
    [None, ("on",), ("loss", "aux"), ("loss", {"stats": ("n", "mean")}), ({"s": {"1": None}},)]
)
LIMITS = st.builds(composer.MaxTraces, SIZES, st.sampled_from(["warn", "error"]))


@st.composite
def pipelines(draw):
    """Pipelines with any of their keys."""
    return Pipeline(
        function=draw(REFERENCES | SOURCES["call"]),
        stack=draw(stacks()),
        name=draw(st.none() | WORDS),
        static=draw(st.lists(WORDS, max_size=3, unique=True).map(tuple)),
        returns=draw(RETURNS),
        sources=draw(st.dictionaries(WORDS, st.one_of(*SOURCES.values()), max_size=4)),
        mesh=draw(st.dictionaries(WORDS, SIZES, max_size=3)),
        plugins=draw(st.lists(WORDS, max_size=2, unique=True).map(tuple)),
        run=draw(made(Run, simulate_devices=st.none() | SIZES, enable_x64=FLAG)),
        write=draw(st.none() | made(Write, {"file": WORDS})),
        max_traces=draw(st.none() | LIMITS),
    )


@settings(max_examples=150)
@given(pipelines())
def test_a_pipeline_is_read_again_as_an_equal_one(pipeline):
    text = pipeline.to_yaml()
    again = read(text)
    assert again == pipeline
    assert again.to_yaml() == text
    assert list(again.mesh) == list(pipeline.mesh)


@pytest.mark.parametrize("name", TRANSFORMS)
@settings(max_examples=15)
@given(data=st.data())
def test_a_layer_of_any_transform_is_read_again_as_an_equal_one(name, data):
    layer = Layer(data.draw(TRANSFORMS[name]), data.draw(st.none() | WORDS))
    assert read(Pipeline("m:f", (layer,)).to_yaml()).stack == (layer,)


@pytest.mark.parametrize("word", SOURCES)
@settings(max_examples=15)
@given(data=st.data())
def test_a_source_of_any_kind_is_read_again_as_an_equal_one(word, data):
    source = data.draw(SOURCES[word])
    assert read(Pipeline("m:f", (), sources={"x": source}).to_yaml()).sources == {"x": source}


def test_every_transform_and_every_kind_of_source_is_tried():
    classes = {n for n in composer.__all__ if hasattr(getattr(composer, n), "build")}
    assert set(TRANSFORMS) == classes - {"Pipeline"}
    assert set(SOURCES) == {*_sources.KINDS, "shape", "function"}


@pytest.mark.parametrize("first", ["shape", "function", "key"])
def test_a_tree_of_shapes_may_begin_with_any_name(first):
    source = _sources.ShapeOnly(shape={first: Shape("f32", (3,))})
    assert read(Pipeline("m:f", (), sources={"x": source}).to_yaml()).sources["x"] == source


NOUGHTS = ("0", "0.0", "-0.0", "false")


@pytest.mark.parametrize("given", ["{keywords: {n: %s}}", "{args: [%s]}"])
def test_layers_with_0_and_0_0_and_false_differ(given):
    start = "composer: 1\nfunction: m:f\nstack:\n  - partial: "
    texts = [f"{start}{given % nought}\n" for nought in NOUGHTS]
    assert len({read(text).stack[0].transform for text in texts}) == len(NOUGHTS)


def test_pipelines_with_0_and_0_0_and_false_as_an_argument_differ():
    texts = [f"composer: 1\nfunction: m:f\nargs: {{x: {v}}}\nstack: []\n" for v in NOUGHTS]
    found = [read(text) for text in texts]
    assert [[a == b for b in found] for a in found] == [[a is b for b in found] for a in found]


def test_a_change_of_the_data_that_was_read_does_not_reach_the_pipeline():
    text = "composer: 1\nfunction: m:f\nreturns: [loss]\nmesh: {data: 4}\nstack: [jit]\n"
    document = parse(text)
    pipeline = pipeline_from(document, default_registry().load)
    document.data["returns"].append("aux")
    document.data["mesh"]["model"] = 2
    assert pipeline == read(text)


def test_a_pipeline_is_written_in_the_order_of_the_language_without_defaults():
    text = (
        "composer: 1\n"
        "name: a\n"
        "function: m:f\n"
        "static: [n]\n"
        "returns: [loss]\n"
        "mesh: {data: 4}\n"
        "plugins: [p]\n"
        "args:\n"
        '  x: "f32[8, 3]"\n'
        "stack:\n"
        "  - vmap: {in_axes: {x: 0}}\n"
        "  - jit: {id: outer}\n"
        "max_traces: 1\n"
        "run: {enable_x64: true}\n"
        "write: {file: a.npz}\n"
    )
    assert read(text).to_yaml() == text


@pytest.mark.parametrize(
    ("transform", "where"),
    [
        (composer.Then(print), "then.function: a value of type builtin_function_or_method"),
        (composer.Jit(device=object()), "jit.device: a value of type object"),
        (composer.Partial(keywords={"x": {1}}), "partial.keywords.x: a value of type set"),
    ],
)
def test_a_python_object_is_not_written(transform, where):
    with pytest.raises(PipelineError) as caught:
        Pipeline("m:f", (Layer(composer.Jit()), Layer(transform))).to_yaml()
    assert str(caught.value) == (
        f"CMP041 stack[1].{where} is not plain data\n"
        "  write: text, numbers, true, false, null, lists, dicts"
    )
