"""What holds for every stack: edits undo each other, and change nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from composer import Drop, InsertAfter, InsertBefore, Set
from composer._load import KEYS
from composer._overlay.edits import Edit
from composer._overlay.resolve import resolve
from composer._yaml import Document, dump, parse
from composer.transforms import CATALOGUE

WORDS = st.sampled_from(["grad", "vmap", "jit", "hessian", "checkpoint", "select"])
LAYERS = st.one_of(
    WORDS,
    st.builds(
        lambda word, values: {word: values},
        WORDS,
        st.dictionaries(
            st.sampled_from(["in_axes", "id", "argnums", "policy"]),
            st.one_of(st.integers(0, 3), st.sampled_from(["x", "y", "p.q"]), st.none()),
            min_size=1,
        ),
    ),
)
STACKS = st.lists(LAYERS, min_size=1, max_size=6)


def resolved(text: str, *edits: Edit) -> Document:
    return resolve(parse(text), path=None, keys=KEYS, targets=CATALOGUE, edits=edits).document


def stack_of(text: str, *edits: Edit) -> list[object]:
    data = resolved(text, *edits).data
    assert isinstance(data, dict)
    return data["stack"]


def text_with(stack: list[object]) -> str:
    return dump({"composer": 1, "function": "m:f", "stack": stack})


@given(STACKS)
def test_no_overlay_is_the_identity(stack: list[object]) -> None:
    text = text_with(stack)
    document = parse(text)
    assert resolved(text) == document
    overlaid = resolved(text + "profiles: {unused: {name: a}}\n")
    assert overlaid.data == document.data
    assert {path: (p.line, p.column) for path, p in overlaid.places.items()} == {
        path: (p.line, p.column) for path, p in document.places.items()
    }
    assert {path: (p.line, p.column) for path, p in overlaid.keys.items()} == {
        path: (p.line, p.column) for path, p in document.keys.items()
    }


@given(STACKS, st.data())
def test_dropping_a_layer_and_inserting_it_again_is_the_identity(
    stack: list[object], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(stack) - 1))
    text, layer = text_with(stack), stack[at]
    drop = Drop(f"stack[{at}]")
    if at > 0:
        assert stack_of(text, drop, InsertAfter(f"stack[{at - 1}]", layer)) == stack
    if at < len(stack) - 1:
        assert stack_of(text, drop, InsertBefore(f"stack[{at}]", layer)) == stack
    assert stack_of(text, InsertAfter(f"stack[{at}]", layer), drop) == stack
    assert stack_of(text, InsertBefore(f"stack[{at}]", layer), Drop(f"stack[{at}]")) == stack


@given(STACKS, st.data())
def test_a_value_that_was_set_stands_there_and_nothing_else_has_changed(
    stack: list[object], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(stack) - 1))
    value = data.draw(st.one_of(st.integers(0, 9), st.text(max_size=5), st.none()))
    found = stack_of(text_with(stack), Set(f"stack[{at}].chosen", value))
    [(_, values)] = found[at].items()
    assert values.pop("chosen") == value
    before = {} if isinstance(stack[at], str) else next(iter(stack[at].values()))
    assert values == before
    assert [*found[:at], *found[at + 1 :]] == [*stack[:at], *stack[at + 1 :]]
