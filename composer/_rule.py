"""Lint rules: what a rule yields, and how it is marked. Imports no JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from composer._change import Edit, Fix
from composer.errors import Place, Severity

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__composer_rule__"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found; the linter adds the code, and the layer's place if it has none.

    Attributes:
        message: What was found and why it is wrong; stands alone.
        severity: error: it fails, or the numbers are wrong; warning: probably not meant;
            info: worth knowing.
        cure: The exact text to write instead.
        notes: Further facts, a line each.
        place: Where, if not at the layer.
        fix: Changes of the file that do what the cure says.
    """

    message: str
    severity: Severity
    cure: str | None = None
    notes: tuple[str, ...] = ()
    place: Place | None = None
    fix: Fix | None = None


def error(
    message: str,
    *,
    cure: str | None = None,
    notes: Iterable[str] = (),
    place: Place | None = None,
    fix: Fix | None = None,
) -> Finding:
    """A finding that fails when it runs, or gives wrong numbers."""
    return Finding(message, "error", cure, tuple(notes), place, fix)


def warning(
    message: str,
    *,
    cure: str | None = None,
    notes: Iterable[str] = (),
    place: Place | None = None,
    fix: Fix | None = None,
) -> Finding:
    """A finding that is probably not what was meant."""
    return Finding(message, "warning", cure, tuple(notes), place, fix)


def info(
    message: str,
    *,
    cure: str | None = None,
    notes: Iterable[str] = (),
    place: Place | None = None,
    fix: Fix | None = None,
) -> Finding:
    """Something worth knowing that is no mistake in itself."""
    return Finding(message, "info", cure, tuple(notes), place, fix)


@dataclass(frozen=True, slots=True)
class Rule:
    """One lint rule.

    Attributes:
        code: `CMP312`, or the name itself for a plugin's rule.
        name: Reads after "allow": `pmean-inside-grad`.
        check: Yields findings: for a stack, or as a method of a transform for a layer.
        page: What it does, why it is bad, an example that fires, what to use instead.
    """

    code: str
    name: str
    check: Callable[..., Iterator[Finding]]
    page: str


def rule(name: str, code: str | None = None, *, page: str | None = None) -> Callable[[F], F]:
    """Mark a generator of findings as a lint rule.

    A method of a transform is called with a view of each such layer: `layer.outside`,
    `layer.inside`, `layer.signature`. A function of a module in `composer.rules` is called
    with the whole stack.

    Args:
        name: Reads after "allow": `offload-without-gradient`.
        code: A stable code; a plugin's rules go by their name.
        page: Its documentation; by default the docstring.
    """

    def mark(function: F) -> F:
        text = inspect.cleandoc(page or function.__doc__ or "")
        setattr(function, _MARK, Rule(code or name, name, function, text))
        return function

    return mark


def rule_of(function: object) -> Rule | None:
    """The rule that a function was marked as."""
    found = getattr(function, _MARK, None)
    return found if isinstance(found, Rule) else None


def rules_of(owner: object) -> list[Rule]:
    """The rules among the members of a class or a module."""
    members = (inspect.getattr_static(owner, name, None) for name in dir(owner))
    return [found for found in map(rule_of, members) if found is not None]


__all__ = [
    "Edit",
    "Finding",
    "Fix",
    "Rule",
    "error",
    "info",
    "rule",
    "rule_of",
    "rules_of",
    "warning",
]
