"""The commands `composer` and `jax-composer`: parsing and printing, each loaded on use.

Exit codes: 0 fine; 1 findings, or the user's function failed; 2 bad usage or a pipeline
that cannot be read; 3 something about this machine; 130, 141 and 143 after Ctrl-C, a
closed pipe and SIGTERM.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import FrameType, MappingProxyType
from typing import Final, NoReturn

import click

from composer import __version__
from composer.errors import ComposerError, nearest

COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "run": "Run a pipeline: compose, read the arguments, call once, show the outputs.",
        "show": "Print a pipeline with its profiles and edits applied, and who wrote what.",
        "code": "Print a pipeline as plain JAX, which needs no composer.",
        "lint": "Find mistakes in pipelines without running them.",
        "rules": "List the lint rules, or show one's page.",
        "transforms": "List the transforms, or show one's page.",
        "doctor": "Say what this machine offers JAX, what does not fit, and the cure.",
    }
)
"""Each command, in `composer.cli.WORD`, with its line in the list of commands."""


_STOPPED: Final = (128 + signal.SIGINT, 128 + signal.SIGTERM)


class LazyGroup(click.Group):
    """A group that imports a command when it is used, and not to list it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a word; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"composer.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest command for an unknown word."""
        if args and args[0] not in COMMANDS:
            close = nearest(args[0], COMMANDS)
            hint = f" Did you mean {close}?" if close else f" Commands: {', '.join(COMMANDS)}."
            ctx.fail(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """As click does, but a closed pipe is no failure: click would exit with 1."""
        try:
            result = super().invoke(ctx)
            # None: the process was started without an output.
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            # Python flushes once more when it ends, and would complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(128 + signal.SIGPIPE)
        return result

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from COMMANDS."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="jax-composer")
def cli() -> None:
    """Compose JAX transforms from pipeline files, check them, and run them."""


def main() -> NoReturn:
    """The command line's entry point; ends the process."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        code: str | int | None = run_command(sys.argv[1:])
    except SystemExit as end:
        code = end.code
    if isinstance(code, int) and code in _STOPPED:
        _leave_now(code)
    sys.exit(code)


def _leave_now(code: int) -> NoReturn:
    """End without waiting: Python would wait for what JAX is still computing.

    All that was open is closed by now, since the exception came up to here.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command line, and say what it would exit with."""
    try:
        code = cli.main(list(arguments), prog_name=_called(), standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return 128 + signal.SIGINT
    except ComposerError as error:
        from composer.cli._report import report

        return report(error)
    return code if isinstance(code, int) else 0


def _called() -> str:
    """The name that the user typed: `composer` or `jax-composer`."""
    name = os.path.basename(sys.argv[0])
    return name if name == "jax-composer" else "composer"


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    """Leave through Python, so that unfinished files are removed."""
    raise SystemExit(128 + number)
