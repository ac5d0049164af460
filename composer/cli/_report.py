"""Errors as a person sees them: ours as diagnostics, the user's with the user's frames."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from dataclasses import asdict
from types import TracebackType
from typing import Final, TypeGuard

import click

from composer.errors import ComposerError, printable

_OURS: Final = ("composer", "jax", "jaxlib", "numpy", "safetensors", "click", "pluggy")
_LIBRARY: Final = os.path.dirname(os.__file__) + os.sep
_INSTALLED: Final = ("site-packages", "dist-packages")


def report(error: BaseException, *, full: bool = False) -> int:
    """Print an error on stderr, and return the exit code that it stands for.

    Args:
        error: Ours, or whatever the user's code raised.
        full: Show all frames, JAX's and composer's too.
    """
    if full:
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    elif isinstance(error, ComposerError):
        click.echo(str(error), err=True)
        if _tells_more(error.__cause__):
            click.echo("", err=True)
            _show(error.__cause__)
    else:
        _show(error)
    sys.stderr.flush()
    return error.exit_code if isinstance(error, ComposerError) else 1


def _tells_more(cause: BaseException | None) -> TypeGuard[BaseException]:
    """Whether a cause shows the user's own code, or a line of it; its text was said already."""
    if cause is None or isinstance(cause, ComposerError):
        return False
    return isinstance(cause, SyntaxError) or any(_frames(e.__traceback__) for e in _chain(cause))


def as_data(error: BaseException) -> dict[str, object]:
    """The error for `--json`."""
    if isinstance(error, ComposerError):
        return {"diagnostics": [asdict(item) for item in error.diagnostics]}
    return {"error": {"type": type(error).__name__, "message": str(error)}}


def _show(error: BaseException) -> None:
    """The user's own frames of an exception and of those that led to it."""
    shown = False
    for link in _chain(error):
        frames = _frames(link.__traceback__)
        if frames:
            shown = True
            _echo(["Traceback in your code, the last call last:\n", *traceback.format_list(frames)])
        if frames or link is error:
            _echo(_said(link))
    if not shown and error.__traceback__ is not None and not isinstance(error, SyntaxError):
        last = traceback.extract_tb(error.__traceback__)[-1]
        _echo([f"  raised in {last.filename}:{last.lineno}, outside your code"])
    click.echo("  more:  --traceback shows every frame", err=True)


def _echo(texts: list[str]) -> None:
    for line in "".join(texts).splitlines():
        click.echo(printable(line.expandtabs()), err=True)


def _chain(error: BaseException) -> list[BaseException]:
    """The exception behind those that caused it."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.insert(0, link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return links


def _said(error: BaseException) -> list[str]:
    """Type, text and notes, without JAX's note on how it hides its own frames."""
    notes = getattr(error, "__notes__", [])
    kept = [note for note in notes if "JAX_TRACEBACK_FILTERING" not in str(note)]
    alone = traceback.TracebackException(type(error), error, None)
    alone.__notes__ = kept
    return list(alone.format_exception_only())


def _frames(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    """Frames of files that are not composer's, JAX's, NumPy's or Python's own."""
    found = traceback.extract_tb(trace)
    folders = _our_folders()
    return [
        frame
        for frame in found
        if not frame.filename.startswith(("<frozen", *folders)) and not _is_pythons(frame.filename)
    ]


def _is_pythons(filename: str) -> bool:
    """Whether a file is of the standard library, in whose folder packages may lie too."""
    inside = filename.removeprefix(_LIBRARY)
    return inside != filename and not inside.startswith(_INSTALLED)


def _our_folders() -> tuple[str, ...]:
    """Where the packages lie whose frames tell a user nothing."""
    found = []
    for name in _OURS:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            whole = spec.submodule_search_locations is not None
            found.append(os.path.dirname(spec.origin) + os.sep if whole else spec.origin)
    return tuple(found)
