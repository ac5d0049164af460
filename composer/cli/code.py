"""`composer code FILE`: the plain JAX of a pipeline."""

from __future__ import annotations

from pathlib import Path

import click

from composer.cli._overlays import OverlayCommand, Overlays, overlay_options
from composer.errors import ComposeError, fail


@click.command("code", cls=OverlayCommand)
@click.argument("file", metavar="FILE")
@overlay_options
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write there, not to stdout."
)
@click.option(
    "--function", metavar="NAME", help="What the callable is called; else after the pipeline."
)
@click.option(
    "-p", "plugins", multiple=True, metavar="PLUGIN", help="Load a plugin besides the file's."
)
def command(
    file: str,
    overlays: Overlays,
    out: Path | None,
    function: str | None,
    plugins: tuple[str, ...],
) -> None:
    """Print a pipeline as plain JAX: formatted, importable, without composer.

    Imports the function that FILE names, to read its arguments. What is printed has the
    jaxpr of the composed callable.
    """
    if function is not None and not function.isidentifier():
        raise click.BadParameter(f"{function!r} is no name", param_hint="--function")
    from composer._api import code

    text = code(overlays.load(file, plugins=plugins), function=function)
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise fail(ComposeError, "CMP070", f"{out} cannot be written: {error.strerror}") from None
