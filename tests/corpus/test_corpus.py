"""Stacks that people write: composed, they are the program that JAX makes of them by hand.

942 stacks mined from public code, with their keyword arguments. Each pure one is nested
by hand in plain JAX (`handnest.py`, which imports nothing of composer) and composed by
way of a pipeline's text, around the same function; the jaxprs are compared as text.
"""

import ast
import collections
from pathlib import Path

import pytest
from corpus import calls, composed, expected, handnest
from corpus.filling import Filled
from corpus.mined import entries
from corpus.outcomes import outcome
from corpus.plan import plan
from corpus.slots import Plan

PURE = [entry for entry in entries() if entry.pure]
OF_JAX = [entry for entry in PURE if not entry.libraries]
COMPOSED = [
    entry for entry in OF_JAX if entry.number not in expected.EXCEPTIONS | expected.REFUSED_BY_JAX
]


def numbered(chosen):
    return [pytest.param(entry, id=str(entry.number)) for entry in chosen]


@pytest.mark.parametrize("entry", numbered(COMPOSED))
def test_a_stack_composes_to_the_program_of_the_hand_nested_one(entry):
    found = outcome(entry)
    assert found.kind == "equal", f"{entry}\n{found.detail}"


@pytest.mark.parametrize("number", expected.EXCEPTIONS)
def test_an_exception_is_still_one(number):
    [entry] = [entry for entry in OF_JAX if entry.number == number]
    assert outcome(entry).kind in ("differs", "not composed")


@pytest.mark.parametrize(("number", "error"), expected.REFUSED_BY_JAX.items())
def test_a_stack_that_is_no_stack_is_refused_by_jax_itself(number, error):
    [entry] = [entry for entry in OF_JAX if entry.number == number]
    assert outcome(entry).kind == "refused by JAX"
    assert outcome(entry).detail.startswith(f"{error}: ")


def test_at_least_97_percent_of_the_pure_stacks_of_jax_compose_to_the_same_program():
    kinds = collections.Counter(outcome(entry).kind for entry in OF_JAX)
    text = sum(outcome(entry).as_text for entry in OF_JAX)
    print(f"mined: {len(entries())}, pure: {len(PURE)}, of JAX's own transforms: {len(OF_JAX)}")
    print(f"{dict(kinds)}, {text} of them by way of a pipeline's text")
    assert (len(entries()), len(PURE), len(OF_JAX)) == (942, 865, 713)
    assert kinds["equal"] >= 0.97 * len(OF_JAX)
    assert kinds["refused by JAX"] == len(expected.REFUSED_BY_JAX)
    assert text >= 0.85 * kinds["equal"]


@pytest.mark.parametrize("entry", numbered(COMPOSED))
def test_every_recorded_argument_is_in_the_stack_that_is_tried(entry):
    layers = [layer for layer in plan(entry).layers if layer.transform != "method"]
    for step, layer in zip(entry.steps, layers, strict=True):
        assert layer.transform == step.transform
        recorded = dict(step.kwargs)
        recorded.pop("applied", None)
        if step.transform == "partial":
            keywords = ["extra" if name == "**" else name for name in _names(recorded.get("kw"))]
            assert len(layer["args"]) == recorded.get("n_args", 0)
            assert sorted(layer["keywords"]) == sorted(keywords)
        else:
            assert recorded.keys() <= layer.kwargs.keys()
            kept = {name: value for name, value in recorded.items() if _is_known(value)}
            assert kept == {name: _listed(layer[name]) for name in kept}


def _names(value):
    return [value] if isinstance(value, str) else value or []


def _is_known(value):
    """Whether nothing in it is a placeholder."""
    return "<" not in str(value)


def _listed(value):
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def test_a_stack_with_one_layer_left_out_makes_another_program():
    """The comparison can fail: it tells each of the layers of every stack."""
    unseen = []
    for entry in COMPOSED[::4]:
        made = plan(entry)
        with calls.as_mined(made):
            by_hand = calls.program(handnest.nested(made), made)
            for number in range(len(made.layers)):
                if _program_without(made, number) == by_hand:
                    unseen.append((entry.number, made.layers[number].transform))
    assert unseen == []


def _program_without(made: Plan, number: int) -> str | None:
    """The program without one layer; None where that is no stack."""
    rest = Plan(**{
        **vars(made),
        "layers": made.layers[:number] + made.layers[number + 1 :],
        "live": made.live[:number] + made.live[number + 1 :],
    })  # fmt: skip
    try:
        return calls.program(composed.built(rest), made)
    except Exception:
        return None


def test_another_option_makes_another_program():
    """So the comparison can fail in the options too."""
    [entry] = [entry for entry in OF_JAX if entry.number == 120]
    made = plan(entry)
    assert str(entry) == "jit | vmap in_axes=[None, 0] | jit"
    other = (made.layers[0], Filled("vmap", {"in_axes": (0, 0)}), made.layers[2])
    by_hand = calls.program(handnest.nested(made), made)
    changed = Plan(**{**vars(made), "layers": other})
    assert calls.program(composed.built(made), made) == by_hand
    with pytest.raises(Exception, match="the mapped axes have different sizes"):
        calls.program(composed.built(changed), made)


def test_what_a_stack_looks_like_as_text():
    [entry] = [entry for entry in OF_JAX if entry.number == 1519]
    stack = str(entry)
    assert stack.endswith("axis_name='batch' donate_argnums=[1, 2] static_broadcasted_argnums=[0]")
    [entry] = [entry for entry in OF_JAX if entry.number == 3199]
    assert composed.pipeline_text(plan(entry)) == (
        "composer: 1\n"
        "function: f\n"
        "stack:\n"
        "  - grad\n"
        "  - grad\n"
        "  - vmap: {in_axes: [0, null, null, null]}\n"
        "  - vmap: {in_axes: [null, 0, 0, 0]}\n"
        "  - jit\n"
    )


@pytest.mark.parametrize(
    "module",
    [
        "mined",
        "filling",
        "arity",
        "arguments",
        "body",
        "outputs",
        "slots",
        "plan",
        "handnest",
        "calls",
        "decorators",
        "expected",
    ],
)
def test_what_nests_by_hand_imports_nothing_of_composer(module):
    tree = ast.parse((Path(__file__).parent / f"{module}.py").read_text())
    imported = {
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or "", *(alias.name for alias in node.names)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert not [name for name in imported if "compose" in name or "outcomes" in name]
