"""No mined stack that composes and runs has an error-level finding; the counts are printed."""

import collections

import pytest
from corpus import composed, expected
from corpus.mined import entries
from corpus.outcomes import outcome
from corpus.plan import plan
from corpus.slots import Plan

import composer

OF_JAX = [
    entry
    for entry in entries()
    if entry.pure
    and not entry.libraries
    and entry.number not in expected.EXCEPTIONS | expected.REFUSED_BY_JAX
]


def _linted(made: Plan):
    if composed.has_text(made):
        text = composed.pipeline_text(made)
        return composer.lint(composer.loads(text, functions={composed.FUNCTION: made.function}))
    return composer.lint(composed.stack_in_python(made), made.function)


def test_no_error_level_finding_on_a_stack_that_composes_and_runs(capsys):
    count, wrong, said = 0, [], collections.Counter()
    for entry in OF_JAX:
        made = plan(entry)
        if not isinstance(made, Plan) or outcome(entry).kind != "equal":
            continue
        count += 1
        for item in _linted(made):
            said[item.severity, item.code] += 1
            if item.severity == "error":
                wrong.append((entry.number, item.render()))
    with capsys.disabled():
        print(f"\n{count} stacks of the corpus linted: {dict(sorted(said.items()))}")
    assert count == 705
    assert wrong == []


@pytest.mark.parametrize("order", ["grad outside vmap", "axis unbound"])
def test_a_wrong_stack_of_the_same_kind_is_an_error(order):
    text = {
        "grad outside vmap": "stack: [vmap, grad]",
        "axis unbound": "stack: [{collective: {op: pmean, axis_name: batch}}, jit]",
    }[order]
    pipeline = composer.loads(f"composer: 1\nfunction: f\n{text}", functions={"f": square})
    assert "error" in {item.severity for item in composer.lint(pipeline)}


def square(x):
    return x * x
