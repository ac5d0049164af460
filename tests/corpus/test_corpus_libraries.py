"""Stacks with transforms of other libraries, which go through `apply` where they are installed."""

import collections
import importlib.util

import pytest
from corpus import expected
from corpus.mined import entries
from corpus.outcomes import outcome

WITH_LIBRARIES = [entry for entry in entries() if entry.pure and entry.libraries]


def is_installed(library):
    """Whether the distribution of a library can be imported."""
    return importlib.util.find_spec(library.partition(".")[0]) is not None


LISTED = (
    expected.LIBRARY_EXCEPTIONS.keys() | expected.LIBRARY_REFUSED.keys() | expected.NOT_TRIED.keys()
)
TRIED = [
    entry
    for entry in WITH_LIBRARIES
    if not entry.libraries & expected.CLASSES_ONLY.keys()
    and all(is_installed(library) for library in entry.libraries)
]
COMPOSED = [entry for entry in TRIED if entry.number not in LISTED]


@pytest.mark.parametrize("entry", [pytest.param(e, id=str(e.number)) for e in COMPOSED])
def test_a_stack_goes_through_apply_to_the_program_of_the_hand_nested_one(entry):
    found = outcome(entry)
    assert found.kind == "equal", f"{entry}\n{found.detail}"


def test_an_exception_differs_in_the_printed_name_only():
    for entry in TRIED:
        if entry.number in expected.LIBRARY_EXCEPTIONS:
            assert outcome(entry).kind == "differs"
            changed = [line for line in outcome(entry).detail.splitlines() if line[:1] in "-+"][2:]
            assert changed
            assert all("name" in line or "let " in line for line in changed)


def test_a_stack_that_its_library_refuses_is_refused_by_hand_too():
    for entry in TRIED:
        if entry.number in expected.LIBRARY_REFUSED:
            assert outcome(entry).kind == "refused by JAX"
            error = expected.LIBRARY_REFUSED[entry.number]
            assert outcome(entry).detail.startswith(f"{error}: ")


def test_the_counts_by_library():
    found = collections.Counter()
    for entry in WITH_LIBRARIES:
        for library in entry.libraries:
            if library in expected.CLASSES_ONLY:
                found[library, "takes classes"] += 1
            elif entry not in TRIED:
                found[library, "not installed"] += 1
            elif entry.number in expected.NOT_TRIED:
                found[library, "not tried"] += 1
            else:
                found[library, outcome(entry).kind] += 1
    for (library, what), count in sorted(found.items()):
        print(f"{library}: {count} {what}")
    assert len(WITH_LIBRARIES) == 152
    assert sum(count for (library, _), count in found.items() if library == "flax.nnx") == 54
