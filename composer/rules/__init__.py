"""Lint rules about whole stacks, one file each; the docstring of the file is the rule's page.

A rule that concerns one transform alone is a method of that transform.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from composer._rule import Rule, rules_of


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule in this package, by code; imports each file once, and no JAX."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names if name[0] != "_"]
    found = [rule for module in modules for rule in rules_of(module)]
    return tuple(sorted(found, key=lambda rule: (rule.code, rule.name)))
