"""`composer rules [CODE]`: which lint rules exist, and one's page."""

from __future__ import annotations

import json
from typing import Final

import click

from composer._registry import default_registry
from composer._rule import Rule, rules_of
from composer.cli._tables import print_table
from composer.errors import CODES, ComposerError, nearest, printable
from composer.rules import all_rules

_FIRST: Final = "## What it does\n"


@click.command("rules")
@click.argument("code", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(code: str | None, as_json: bool) -> None:
    """List the lint rules, or show the page of one, by its code or its name."""
    known = every_rule()
    if code is None:
        if as_json:
            rows = [{"code": r.code, "name": r.name, "summary": _first(r)} for r in known]
            click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
            return
        print_table(("code", "name", "what it finds"), [(r.code, r.name, _first(r)) for r in known])
        click.echo("\nmore:  composer rules CODE")
        return
    pages = [rule for rule in known if code in (rule.code, rule.name)]
    if pages:
        for rule in pages:
            _show(rule, as_json)
    elif code in CODES:
        _say(as_json, code=code, summary=CODES[code])
    else:
        raise click.UsageError(f"There is no rule {code!r}.{nearest_rule(code)}")


def every_rule() -> list[Rule]:
    """The rules about stacks and those of each transform; a broken plugin hides none."""
    found = {rule.code: rule for rule in all_rules()}
    registry = default_registry()
    for word in registry.words():
        try:
            own = rules_of(registry.load(word))
        except ComposerError:
            continue
        found |= {rule.code: rule for rule in own}
    return [found[code] for code in sorted(found)]


def codes_meant(word: str) -> frozenset[str]:
    """The codes that a code, the beginning of some, or a rule's name stands for; maybe none.

    >>> sorted(codes_meant("pmean-inside-grad"))
    ['CMP312']
    """
    begun = {code for code in CODES if word.startswith("CMP") and code.startswith(word)}
    named = {rule.code for rule in every_rule() if word in (rule.code, rule.name)}
    return frozenset(begun | named)


def nearest_rule(word: str) -> str:
    """A hint at what was meant by a code or a name that does not exist."""
    close = nearest(word, [*CODES, *(rule.name for rule in every_rule())])
    return f" Did you mean {close}?" if close else " The list: composer rules."


def _first(rule: Rule) -> str:
    """What the rule does, in its page's first words."""
    _, _, below = rule.page.partition(_FIRST)
    return (below or rule.page).strip().split("\n\n", 1)[0].replace("\n", " ")


def _show(rule: Rule, as_json: bool) -> None:
    """The page, below code and name, which are printed here."""
    title, _, rest = rule.page.partition("\n\n")
    page = rest if title == f"{rule.name} ({rule.code})" else rule.page
    _say(as_json, code=rule.code, name=rule.name, page=page)


def _say(as_json: bool, *, code: str, name: str = "", summary: str = "", page: str = "") -> None:
    if as_json:
        data = {"code": code, "name": name, "page": page or summary}
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    click.secho(f"{code} {name}".strip(), bold=True)
    click.echo()
    for line in (page or summary).splitlines():
        click.echo(printable(line))
