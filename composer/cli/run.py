"""`composer run FILE`: the main job, with a table of what came out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from composer.cli._overlays import OverlayCommand, Overlays, overlay_options
from composer.cli._report import as_data, report
from composer.cli._stdout import stdout_aside
from composer.cli._tables import print_table
from composer.errors import ComposerError

if TYPE_CHECKING:
    from composer._run.outputs import Row
    from composer._run.runner import RunResult


@click.command("run", cls=OverlayCommand)
@click.argument("file", metavar="FILE")
@overlay_options
@click.option("--devices", type=click.IntRange(1, 512), metavar="N", help="Simulate N CPU devices.")
@click.option("--x64/--no-x64", default=None, help="Use 64-bit numbers, or do not.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
@click.option(
    "--out",
    "outdir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where manifests go, instead of runs/ in the project.",
)
@click.option("--allow-outside", is_flag=True, help="Let the file's paths lie outside the project.")
@click.option(
    "-p", "plugins", multiple=True, metavar="PLUGIN", help="Load a plugin besides the file's."
)
@click.option("--traceback", "full", is_flag=True, help="Show every frame of an error.")
@click.pass_context
def command(
    ctx: click.Context,
    file: str,
    overlays: Overlays,
    devices: int | None,
    x64: bool | None,
    as_json: bool,
    outdir: Path | None,
    allow_outside: bool,
    plugins: tuple[str, ...],
    full: bool,
) -> None:
    """Run a pipeline: compose, read the arguments, call once, show the outputs.

    Imports the function that FILE names, as running a script would. Leaves a manifest
    of what was run under runs/ in the project.
    """

    def run() -> RunResult:
        # Only here: the number of devices is set before JAX is imported by anyone.
        from composer._run.runner import run_pipeline

        return run_pipeline(
            overlays.load(file, plugins=plugins),
            devices=devices,
            x64=x64,
            outdir=outdir,
            allow_outside=allow_outside,
            command=[ctx.find_root().info_name or "composer", *sys.argv[1:]],
        )

    if as_json:
        with stdout_aside() as out:
            try:
                result = run()
                json.dump(_document(result), out, indent=2, ensure_ascii=False)
                code = 0
            except Exception as error:  # the user's function may raise anything
                json.dump(as_data(error), out, indent=2, ensure_ascii=False)
                code = report(error, full=full)
            out.write("\n")
        ctx.exit(code)
    try:
        result = run()
    except Exception as error:  # the user's function may raise anything
        if isinstance(error, ComposerError | BrokenPipeError) and not full:
            raise
        ctx.exit(report(error, full=full))
    _print(result)


def _document(result: RunResult) -> dict[str, object]:
    manifest = str(result.manifest) if result.manifest is not None else None
    return {**result.facts, "manifest": manifest}


def _print(result: RunResult) -> None:
    head = ("output", "shape", "mean", "norm")
    print_table(head, map(_cells, result.rows), frozenset(head[2:]))
    for row in result.rows:
        if row.nans or row.infs:
            click.secho(
                f"NOT FINITE: {row.name} holds {row.nans} nan and {row.infs} inf",
                bold=True,
            )
    click.echo()
    click.echo(_times(result))
    if result.written is not None:
        click.echo(f"written   {result.written}")
    if result.manifest is not None:
        click.echo(f"manifest  {result.manifest}")


def _cells(row: Row) -> tuple[str, str, str, str]:
    return (row.name, row.shape, _number(row.mean), _number(row.norm))


def _number(value: complex | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _times(result: RunResult) -> str:
    devices = result.facts["devices"]
    assert isinstance(devices, list)
    where = f"{len(devices)} device{'' if len(devices) == 1 else 's'}"
    if result.seconds.compile is None:
        return f"traced, compiled and ran in {_time(result.seconds.run)}, {where} present"
    compiled = f"compiled in {_time(result.seconds.compile)}"
    return f"{compiled}, ran in {_time(result.seconds.run)}, {where} present"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
