"""`composer doctor`: what this machine offers, what does not fit, and the cure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TextIO

import click

from composer import _doctor
from composer.errors import Diagnostic, printable


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--explain",
    "source",
    type=click.File("r", encoding="utf-8", errors="replace"),
    metavar="FILE",
    help="Explain the error message or install command in FILE; - reads standard input.",
)
@click.pass_context
def command(ctx: click.Context, as_json: bool, source: TextIO | None) -> None:
    """Say what this machine offers JAX, what does not fit, and the cure.

    Exits with 3 if something is broken, else with 0. With --explain also with 1,
    if nothing in the text is known.
    """
    if source is not None:
        _explain(ctx, source.read(), as_json)
        return
    facts = _doctor.inspect_machine()
    findings = _doctor.diagnose(facts)
    if as_json:
        _print_json({"facts": asdict(facts), "diagnostics": _plain(findings)})
    else:
        _print_table(facts)
        _print_findings(findings)
        if not findings:
            click.echo("\nnothing is wrong")
    ctx.exit(_exit_code(findings))


def _explain(ctx: click.Context, text: str, as_json: bool) -> None:
    findings = _doctor.explain(text)
    if as_json:
        _print_json({"known": bool(findings), "diagnostics": _plain(findings)})
    elif findings:
        click.echo("\n\n".join(finding.render() for finding in findings))
    else:
        click.echo("nothing in this text is known to composer doctor", err=True)
        click.echo("  more:  composer doctor  (without --explain) looks at the machine", err=True)
    ctx.exit(_exit_code(findings) if findings else 1)


def _exit_code(findings: Sequence[Diagnostic]) -> int:
    return 3 if any(finding.severity == "error" for finding in findings) else 0


def _plain(findings: Sequence[Diagnostic]) -> list[dict[str, object]]:
    return [asdict(finding) for finding in findings]


def _print_json(document: dict[str, object]) -> None:
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _print_findings(findings: Sequence[Diagnostic]) -> None:
    for finding in findings:
        click.echo(f"\n{finding.render()}")


def _print_table(facts: _doctor.Facts) -> None:
    # Only here: importing rich takes longer than everything else this command imports.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(facts):
        table.add_row(name, Text(printable(value)))
    Console().print(table)


def _rows(facts: _doctor.Facts) -> Iterator[tuple[str, str]]:
    """Name and value of each row; several values of one name are several rows."""
    yield "Python", ".".join(str(part) for part in facts.python)
    yield "platform", facts.platform
    for name in ("jax-composer", "jax", "jaxlib"):
        yield name, facts.packages.get(name, "not installed")
    for name in sorted(set(facts.packages) - {"jax-composer", "jax", "jaxlib"}):
        yield name, facts.packages[name]
    yield from _several("GPUs", facts.gpus)
    if facts.driver is not None:
        yield "driver", facts.driver
    yield from _several("devices", facts.devices or ("none: JAX does not start",))
    plugins = [f"{plugin.name} from {plugin.distribution}" for plugin in facts.plugins]
    yield from _several("plugins", plugins or ("none",))
    others = list(facts.others)
    if facts.command is not None:
        others.append(facts.command.path)
    yield from _several("other composer", others or ("none",))
    for name, value in facts.env.items():
        yield name, value


def _several(name: str, values: Sequence[str]) -> Iterator[tuple[str, str]]:
    for index, value in enumerate(values):
        yield ("" if index else name), value
