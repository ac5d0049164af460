"""Every rule's page: its first example fires the rule, the second one is silent."""

import ast
from pathlib import Path

import pytest
from lint.pages import examples

from composer._registry import default_registry
from composer._rule import rules_of
from composer.errors import CODES
from composer.rules import all_rules
from composer.transforms import CATALOGUE


def _of_transforms():
    classes = {default_registry().load(word) for word in CATALOGUE}
    return [rule for cls in sorted(classes, key=lambda c: c.word) for rule in rules_of(cls)]


RULES = [*all_rules(), *_of_transforms()]


def params():
    return [pytest.param(rule, id=f"{rule.code}-{rule.name}") for rule in RULES]


@pytest.mark.parametrize("rule", params())
def test_the_first_example_fires_and_the_second_is_silent(rule, project):
    found = examples(rule.page)
    assert len(found) >= 2, f"{rule.name}: a page has an example that fires and one that does not"
    bad, *good = found
    said = project.lint(bad.pipeline, bad.source)
    assert rule.code in {item.code for item in said}, [item.render() for item in said]
    for example in good:
        said = project.lint(example.pipeline, example.source)
        wrong = [
            item.render() for item in said if item.severity == "error" or item.code == rule.code
        ]
        assert wrong == []


@pytest.mark.parametrize("rule", params())
def test_a_page_says_what_it_does_why_it_is_bad_and_what_to_use(rule):
    first, *_ = rule.page.splitlines()
    assert first == f"{rule.name} ({rule.code})"
    for heading in ("What it does", "Why is this bad?", "Example", "Use instead"):
        assert f"## {heading}\n" in rule.page, heading
    assert max(map(len, rule.page.splitlines())) <= 80


def test_codes_and_names_are_unique_and_codes_are_listed():
    codes, names = [r.code for r in RULES], [r.name for r in RULES]
    assert len(set(names)) == len(names)
    assert len(set(codes)) == len(codes)
    assert set(codes) <= set(CODES)


def test_each_rule_has_a_file_of_its_own_with_its_name():
    folder = Path(__file__).parents[2] / "composer" / "rules"
    for path in folder.glob("[a-z]*.py"):
        tree = ast.parse(path.read_text())
        names = [
            d.args[0].value
            for n in tree.body
            if isinstance(n, ast.FunctionDef)
            for d in n.decorator_list
            if isinstance(d, ast.Call) and isinstance(d.args[0], ast.Constant)
        ]
        assert names == [path.stem.replace("_", "-")], path
