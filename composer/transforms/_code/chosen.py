"""Chosen arguments as Python text: rows, carries and primals, for `composer code`."""

from __future__ import annotations

from collections.abc import Sequence

from composer.plugin import Context, Page, cannot_write
from composer.transforms._arguments import Which


def chosen_names(which: Sequence[str | int], ctx: Context, page: Page, what: str) -> list[str]:
    """The chosen arguments, which must have names that a call gives.

    Raises:
        ComposeError: CMP609.
    """
    known = page.arguments(ctx)
    for item in which:
        if item not in known:
            raise cannot_write(
                f"{ctx.word}: {what} is {item!r}, which is no named argument of the call",
                ctx.place,
                f"a function with named arguments, and a value for each in {what}",
            )
    return [str(item) for item in which]


def tuple_text(items: Sequence[str]) -> str:
    """A tuple display."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def packed_names(names: Sequence[str], written: Which) -> str:
    """One value where one argument is written, a tuple for a list."""
    return tuple_text(names) if isinstance(written, tuple) else names[0]


def of_chosen(fn: str, names: Sequence[str], ctx: Context, page: Page) -> str:
    """The function as one of the chosen arguments alone; the others are closed over."""
    parameters = page.parameters(ctx)
    if tuple(names) == parameters:
        return fn
    return f"lambda {', '.join(names)}: {page.calls(fn, parameters)}"


def inner_def(name: str, given: Sequence[tuple[str, Which, Sequence[str]]], call: str) -> list[str]:
    """A function inside a function, whose arguments are values or tuples of them.

    Args:
        name: What it is called.
        given: For each argument: a name for it, the arguments as written, their names.
        call: What it returns.
    """
    heads, body = [], []
    for wanted, written, names in given:
        if isinstance(written, tuple):
            heads.append(wanted)
            target = tuple_text(names) if len(names) == 1 else ", ".join(names)
            body.append(f"    {target} = {wanted}")
        else:
            heads.append(names[0])
    return ["", f"def {name}({', '.join(heads)}):", *body, f"    return {call}", ""]
