"""`composer show FILE`: the pipeline as it is with all overlays, and who wrote what."""

from __future__ import annotations

import json

import click

from composer.cli._overlays import OverlayCommand, Overlays, overlay_options
from composer.cli._report import as_data, report
from composer.errors import ComposerError


@click.command("show", cls=OverlayCommand)
@click.argument("file", metavar="FILE")
@overlay_options
@click.option("--origin", is_flag=True, help="Say where each value comes from, also of FILE's own.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: data and origins.")
@click.option(
    "-p", "plugins", multiple=True, metavar="PLUGIN", help="Load a plugin besides the file's."
)
@click.pass_context
def command(
    ctx: click.Context,
    file: str,
    overlays: Overlays,
    origin: bool,
    as_json: bool,
    plugins: tuple[str, ...],
) -> None:
    """Print a pipeline with everything that is laid over it applied.

    First what FILE extends, then the profiles, then the edits in the order in which they
    stand. A layer is its word, its id, or its position: stack[0] is the innermost. A
    comment stands beside what FILE does not say itself. Imports neither the function that
    FILE names nor JAX.
    """
    from composer._load import KEYS
    from composer._overlay.annotate import annotated, origins_data

    try:
        _, resolved = overlays.load_resolved(file, plugins=plugins)
    except ComposerError as error:
        if as_json:
            _print(as_data(error))
            ctx.exit(report(error))
        raise
    if as_json:
        _print({"pipeline": resolved.document.data, "origins": origins_data(resolved)})
    else:
        click.echo(annotated(resolved, KEYS, every=origin), nl=False)


def _print(document: dict[str, object]) -> None:
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))
