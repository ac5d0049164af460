"""The list of real mistakes: each is found on the right layer, and its cure gives the right value.

The ids are those of the list that the project collects: V vmap, G derivatives, J jit, P
devices, numbers for mistakes that people make with a stack.
"""

import jax
import numpy as np
import pytest
from lint.mistakes import compiling, derivatives, devices, fixed, mapping

import composer

ALL = (*mapping.ROWS, *derivatives.ROWS, *compiling.ROWS, *devices.ROWS)
# The rows of the shapes level wait for it: `lint` reads a stack and does not trace it yet.
ROWS = tuple(row for row in ALL if row.level == "static")


def rows(keep=lambda row: True):
    return [pytest.param(row, id=row.id.replace(" ", "_")) for row in ROWS if keep(row)]


def finding(project, row):
    found = [d for d in project.lint(row.wrong, row.source) if d.code == row.code]
    assert found, [d.render() for d in project.lint(row.wrong, row.source)]
    return found[0]


def cured(project, row):
    text = row.right if row.right is not None else project.fixed(row.wrong, finding(project, row))
    return text, row.right_source or row.source


def numbers(out):
    leaves = jax.tree.leaves(out)
    return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in leaves])


def is_right(out, value):
    if callable(value):
        value(out)
        return
    wanted = np.asarray(value, np.float64)
    got = numbers(out)
    assert got.shape == wanted.ravel().shape
    np.testing.assert_allclose(got, wanted.ravel(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("row", rows())
def test_the_mistake_is_found_on_its_line_with_a_cure(row, project):
    found = finding(project, row)
    assert found.place is not None
    assert row.at in found.place.text, found.render()
    assert found.cure, found.render()
    for text in row.says:
        assert text in found.cure, found.render()


@pytest.mark.parametrize("row", rows())
def test_the_cure_is_silent_and_gives_the_right_value(row, project):
    text, source = cured(project, row)
    left = [d for d in project.lint(text, source) if d.code == row.code]
    assert left == [], [d.render() for d in left]
    if row.value is not None:
        is_right(project.run(text, source), row.value)


@pytest.mark.parametrize("row", rows(lambda row: row.runs))
def test_without_the_cure_the_value_is_silently_wrong(row, project):
    out = project.run(row.wrong, row.source)
    with pytest.raises(AssertionError):
        is_right(out, row.value)


@pytest.mark.parametrize("row", rows())
def test_the_static_level_needs_no_jax_and_finds_the_same_from_python(row, project):
    path = project.write(row.wrong, row.source)
    codes = {item.code for item in composer.lint(composer.load(path))}
    assert row.code in codes


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row.id.replace(" ", "_")) for row in fixed.ROWS]
)
def test_what_is_fixed_or_cured_by_composer_stays_silent(row, project):
    said = project.lint(row.wrong, row.source)
    assert [item.render() for item in said if item.severity != "info"] == []
    is_right(project.run(row.wrong, row.source), row.value)
