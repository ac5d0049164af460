"""`composer lint FILE...`: what is wrong with pipelines, found before they run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from composer.errors import ComposerError, Diagnostic, Severity, printable

SEVERITIES: Final[tuple[Severity, ...]] = ("info", "warning", "error")


@click.command("lint")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "concise", "json", "github"]),
    default="text",
    show_default=True,
    help="How findings are printed.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info"]),
    default="warning",
    show_default=True,
    help="From which severity on the exit code is 1.",
)
@click.option(
    "--select", multiple=True, metavar="RULE", help="Only these: code, beginning of one, or name."
)
@click.option("--ignore", multiple=True, metavar="RULE", help="All but these, given alike.")
@click.option(
    "-p", "plugins", multiple=True, metavar="PLUGIN", help="Load a plugin besides the file's."
)
@click.option("-q", "--quiet", is_flag=True, help="Print findings only, no count.")
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[str, ...],
    form: str,
    fail_on: Severity,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    plugins: tuple[str, ...],
    quiet: bool,
) -> None:
    """Find mistakes in pipelines without running them.

    A folder stands for every .yaml and .yml file in it. Reads the file, the source of the
    function that it names, and the rules of the transforms; runs none of your code and
    does not import JAX. A line that ends in "# composer: ignore[CODE] reason" is meant
    as it is. Exit code: 0 nothing found, 1 findings, 2 a file that cannot be
    read.
    """
    wanted, unwanted = _codes(select), _codes(ignore)
    paths = _files(files)
    found: list[Diagnostic] = []
    unreadable = False
    for path in paths:
        said, readable = _lint(path, plugins)
        found += said
        unreadable |= not readable
    found = [
        item for item in found if (not select or item.code in wanted) and item.code not in unwanted
    ]
    if form == "json":
        click.echo(json.dumps({"diagnostics": [_as_data(item) for item in found]}, indent=2))
    else:
        for item in found:
            click.echo(_PRINTED[form](item))
        if not quiet and form != "github":
            _summary(found, len(paths))
    at_least = SEVERITIES.index(fail_on)
    failed = any(SEVERITIES.index(item.severity) >= at_least for item in found)
    ctx.exit(2 if unreadable else int(failed))


def _codes(given: Sequence[str]) -> frozenset[str]:
    """What `--select` or `--ignore` stands for; several may stand behind one, with commas.

    Raises:
        click.UsageError: One of them is no rule.
    """
    if not given:
        return frozenset()
    from composer.cli.rules import codes_meant, nearest_rule

    found: frozenset[str] = frozenset()
    for word in (part.strip() for text in given for part in text.split(",")):
        codes = codes_meant(word)
        if not codes:
            raise click.UsageError(f"There is no rule {word!r}.{nearest_rule(word)}")
        found |= codes
    return found


def _files(given: Sequence[str]) -> list[Path]:
    """The files, each once; those of a folder by name, without what is hidden."""
    paths: dict[Path, None] = {}
    for text in given:
        path = Path(text)
        if not path.is_dir():
            paths[path] = None
            continue
        inside = sorted(
            p
            for p in path.rglob("*")
            if p.suffix in (".yaml", ".yml")
            and p.is_file()
            and not any(part.startswith(".") for part in p.relative_to(path).parts)
        )
        if not inside:
            raise click.UsageError(f"There is no .yaml or .yml file in {text!r}.")
        paths |= dict.fromkeys(inside)
    return list(paths)


def _lint(path: Path, plugins: tuple[str, ...]) -> tuple[Sequence[Diagnostic], bool]:
    """The findings of a file, and whether it could be read."""
    from composer._api import lint, load
    from composer._lint import as_diagnostics

    try:
        pipeline = load(path, plugins=plugins)
    except ComposerError as error:
        return as_diagnostics(error), error.exit_code != 2
    return lint(pipeline), True


def _as_data(item: Diagnostic) -> dict[str, object]:
    data = asdict(item)
    del data["fix"]
    return data


def _one_line(item: Diagnostic) -> str:
    place = "" if item.place is None else f"{item.place}: "
    return f"{place}{item.code} {item.severity}: {printable(item.message)}"


def _github(item: Diagnostic) -> str:
    """A workflow command, which GitHub shows as an annotation beside the line."""
    level = "notice" if item.severity == "info" else item.severity
    at = {"title": item.code}
    if item.place is not None and item.place.file is not None:
        place = item.place
        at |= {"file": item.place.file, "line": str(place.line), "col": str(place.column)}
    fields = ",".join(
        f"{key}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in at.items()
    )
    cure = "" if item.cure is None else f"\nwrite: {item.cure}"
    return f"::{level} {fields}::{_escaped(item.message + cure)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


_PRINTED: Final[Mapping[str, Callable[[Diagnostic], str]]] = MappingProxyType(
    {"text": lambda item: item.render() + "\n", "concise": _one_line, "github": _github}
)


def _summary(found: Sequence[Diagnostic], files: int) -> None:
    counts = Counter(item.severity for item in found)
    read = f"{files} file{'s' * (files != 1)}"
    if not found:
        click.echo(f"no findings in {read}")
        return
    said = [
        f"{counts[level]} {level}{'s' * (counts[level] != 1 and level != 'info')}"
        for level in reversed(SEVERITIES)
        if counts[level]
    ]
    click.echo(f"{', '.join(said)} in {read}")
    click.echo(f"more:  composer rules {found[0].code}")
