"""Tables that fit a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from composer.errors import printable


def print_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], right: frozenset[str] = frozenset()
) -> None:
    """Print a table on stdout; text too long for its column goes on below.

    Args:
        head: The columns' titles.
        rows: As many texts each.
        right: Titles of the columns whose texts end flush: numbers.
    """
    # Only here: importing rich takes longer than everything else a listing imports.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in head:
        table.add_column(
            title, justify="right" if title in right else "left", overflow="fold",
            no_wrap=title in right,
        )  # fmt: skip
    for row in rows:
        table.add_row(*(Text(printable(text)) for text in row))
    console = Console()
    # Without a terminal, rich asks COLUMNS and whatever else it finds: 80 is the promise.
    console.width = console.width if console.is_terminal else 80
    # Through click: rich itself would end the process when the pipe is closed.
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())
