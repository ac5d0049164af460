"""The options that lay something over a pipeline, shared by every command that reads one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from composer._overlay.resolve import Resolved
    from composer._pipeline import Pipeline

R = TypeVar("R")

_ORDER: Final = "composer.cli.overlays"
_EDITS: Final = ("--set", "--drop", "--insert-before", "--insert-after")


@dataclass(frozen=True, slots=True)
class Overlays:
    """What the command line lays over a pipeline.

    Attributes:
        profiles: Names, in order.
        edits: Each option with what is written behind it, in order.
    """

    profiles: tuple[str, ...]
    edits: tuple[tuple[str, str], ...]

    def load(self, file: str, *, plugins: tuple[str, ...] = ()) -> Pipeline:
        """As `composer.load`, with these overlays."""
        return self.load_resolved(file, plugins=plugins)[0]

    def load_resolved(
        self, file: str, *, plugins: tuple[str, ...] = ()
    ) -> tuple[Pipeline, Resolved]:
        """As `load`, and who wrote each value."""
        from composer._api import load_resolved
        from composer._overlay.spelled import parse_edit

        edits = [parse_edit(option, text) for option, text in self.edits]
        return load_resolved(file, plugins=plugins, profiles=self.profiles, edits=edits)


class OverlayCommand(click.Command):
    """A command that knows in which order its options stand, also those of different names.

    click hands over the values of each option by themselves.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, and remember the order."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta[_ORDER] = [item.opts[0] for item in order if item.opts[0] in _EDITS]
        return super().parse_args(ctx, args)


def overlay_options(function: Callable[..., R]) -> Callable[..., R]:
    """Give a command the overlay options, and its function an argument `overlays`.

    The command is made with `cls=OverlayCommand`.
    """

    @click.option("--profile", "profiles", multiple=True, metavar="NAME", help="Apply a profile.")
    @click.option(
        "--set",
        "set_",
        multiple=True,
        metavar="ADDRESS=VALUE",
        help="Set a value: stack.vmap.in_axes.x=1, run.simulate_devices=2.",
    )
    @click.option("--drop", multiple=True, metavar="LAYER", help="Remove a layer.")
    @click.option(
        "--insert-before",
        multiple=True,
        metavar="LAYER=NEW",
        help="Insert a layer inside another one.",
    )
    @click.option(
        "--insert-after",
        multiple=True,
        metavar="LAYER=NEW",
        help="Insert a layer outside another one: grad='{stop_gradient: params}'.",
    )
    @functools.wraps(function)
    def command(
        *args: Any,
        profiles: tuple[str, ...],
        set_: tuple[str, ...],
        drop: tuple[str, ...],
        insert_before: tuple[str, ...],
        insert_after: tuple[str, ...],
        **kwargs: Any,
    ) -> R:
        texts = map(iter, (set_, drop, insert_before, insert_after))
        given = dict(zip(_EDITS, texts, strict=True))
        order = click.get_current_context().meta[_ORDER]
        edits = tuple((option, next(given[option])) for option in order)
        return function(*args, overlays=Overlays(profiles, edits), **kwargs)

    return command
