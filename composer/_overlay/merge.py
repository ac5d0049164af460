"""A mapping laid over another one."""

from __future__ import annotations

from typing import Final

from composer._overlay.address import World
from composer._overlay.nodes import Node
from composer._yaml import Path
from composer.errors import Diagnostic, nearest

_WHOLE: Final = ("function", "returns")
_WHOLE_BY_NAME: Final = ("args", "profiles")


def merge(
    base: Node, over: Node, world: World, problems: list[Diagnostic], path: Path = ()
) -> Node:
    """Lay a mapping over another one, key by key.

    What is one thing is replaced as one: a list, a scalar, the function, the names of the
    outputs, the source of one argument, one profile. Null removes what is inherited, as it
    means "not given" at the root of a pipeline.

    Args:
        base: What is inherited.
        over: What is laid over it.
        world: What is known about names.
        problems: Takes CMP058, a null that removes nothing, and CMP053, a part of a source.
        path: Where both stand.
    """
    if not isinstance(base.value, dict) or not isinstance(over.value, dict) or _is_whole(path):
        _check_source(base, over, path, problems)
        return over
    parts = dict(base.value)
    for key, part in over.value.items():
        if part.value is None:
            if key in parts:
                del parts[key]
            elif key not in world.elsewhere:
                problems.append(_nothing(base, part, (*path, key)))
        elif key in parts:
            parts[key] = merge(parts[key], part, world, problems, (*path, key))
        else:
            parts[key] = part
    return Node(parts, base.place, base.key, base.origin)


def _is_whole(path: Path) -> bool:
    return path[:1] in [(key,) for key in _WHOLE] or (len(path) == 2 and path[0] in _WHOLE_BY_NAME)


def _check_source(base: Node, over: Node, path: Path, problems: list[Diagnostic]) -> None:
    """Say what to do for a source of which only some keys are written."""
    if path[:1] != ("args",) or not base.mapping or not over.mapping:
        return
    first, *others = base.mapping
    key, part = next(iter(over.mapping.items()))
    if key in others:
        message = f"{_dotted(path)}: a source is replaced as a whole, and {key} alone is none"
        notes = (f"inherited: {{{first}: ...}} at {base.place}",)
        cure = f"set: {{{_dotted((*path, key))}: ...}}"
        problems.append(Diagnostic("CMP053", message, part.where, notes, cure))


def _nothing(base: Node, part: Node, path: Path) -> Diagnostic:
    """A null for a key that is not inherited."""
    message = f"{_dotted(path)}: null removes what is inherited, and there is no {path[-1]}"
    close = nearest(str(path[-1]), map(str, base.mapping))
    listed = ", ".join(map(str, base.mapping)) or "nothing"
    cure = f"{close}: null" if close else f"the text without {path[-1]}:"
    if path[0] == "args" and not close:
        cure += f", or {path[-1]}: {{value: null}} for an argument that is null"
    return Diagnostic("CMP058", message, part.where, (f"inherited: {listed}",), cure)


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))
