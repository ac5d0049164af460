"""From `module:function`, or from a callable, to the facts of its source."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from composer._source.model import Facts
from composer._source.names import Module, read_module
from composer._source.read import facts_in
from composer.errors import nearest

_HOPS: Final = 4
"""How often `from other import function` is followed."""
# Their functions are compiled or wrapped in ways that their source does not tell.
_OPAQUE: Final = frozenset({"jax", "jaxlib", "numpy", "scipy"})


@dataclass(frozen=True, slots=True)
class NotFound:
    """A function that certainly does not exist where the reference says."""

    message: str
    notes: tuple[str, ...] = ()
    cure: str | None = None


def find_facts(reference: str, folder: Path | None) -> Facts | NotFound | None:
    """The facts about what a reference names.

    Args:
        reference: `module:function`, `package.module:Class.method` or `file.py:function`.
        folder: The pipeline's folder, looked in first; then the Python path.

    Returns:
        The facts; NotFound if there is no such module or name; None where the source does
        not say, as for names that a module computes.
    """
    where, colon, name = reference.partition(":")
    if not colon or not name:
        return None
    if where.partition(".")[0] in _OPAQUE and not where.endswith(".py"):
        return None
    path = _file(where, folder)
    if isinstance(path, NotFound) or path is None:
        return path
    return _in_file(path, name, reference, folder, _HOPS)


def _in_file(
    path: Path, name: str, reference: str, folder: Path | None, hops: int
) -> Facts | NotFound | None:
    module = read_module(path, _shown(path))
    if isinstance(module, SyntaxError):
        text = f"{reference}: {_shown(path)} is not valid Python: {module.msg}"
        return NotFound(text, (f"at line {module.lineno}",) if module.lineno else ())
    if module is None:
        return None
    if name in module.functions:
        return facts_in(module, name)
    if name in module.imports:
        target, _, last = module.imports[name].rpartition(".")
        if not target or hops == 0 or target.partition(".")[0] in _OPAQUE:
            return None
        other = _file(target, folder)
        return (
            _in_file(other, last, reference, folder, hops - 1) if isinstance(other, Path) else None
        )
    if module.defines(name):
        return None
    known = [word for word in module.names if not word.startswith("_")]
    close = nearest(name, known)
    cure = f"{reference.partition(':')[0]}:{close}" if close else None
    shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    return NotFound(
        f"{reference}: {_shown(path)} defines no {name!r}",
        (f"it defines: {shown or 'nothing'}",),
        cure,
    )


def _shown(path: Path) -> str:
    """The path as a person would type it: relative to here where it lies below."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def _file(where: str, folder: Path | None) -> Path | NotFound | None:
    """The source file of a module, found without importing it or its packages."""
    if where.endswith(".py"):
        path = (folder or Path()) / where
        return (
            path
            if path.is_file()
            else NotFound(f"there is no file {where}", (f"looked in: {folder or '.'}",))
        )
    parts = where.split(".")
    for start in [*([folder] if folder is not None else []), *_path()]:
        found = _below(start, parts)
        if found is not None:
            return found
    return _by_finders(parts, where, folder)


def _below(start: Path, parts: Sequence[str]) -> Path | None:
    base = start.joinpath(*parts)
    for path in (base.with_name(base.name + ".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _path() -> list[Path]:
    return [Path(entry) for entry in sys.path if entry]


def _by_finders(parts: Sequence[str], where: str, folder: Path | None) -> Path | NotFound | None:
    """Editable installs and the like: their finders know top-level names."""
    try:
        spec = importlib.util.find_spec(parts[0])
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None:
        looked = (
            f"looked in: {folder} and the Python path" if folder else "looked on the Python path"
        )
        return NotFound(f"there is no module {where!r}", (looked,))
    for place in spec.submodule_search_locations or ():
        found = _below(Path(place), parts[1:]) if len(parts) > 1 else None
        if found is not None:
            return found
    if len(parts) == 1 and spec.origin and spec.origin.endswith(".py"):
        return Path(spec.origin)
    return None


def facts_of_callable(function: Callable[..., object]) -> Facts | None:
    """The facts about a function that is at hand; None where its source is not."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None or not code.co_filename.endswith(".py"):
        return None
    module = read_module(Path(code.co_filename), _shown(Path(code.co_filename)))
    if not isinstance(module, Module):
        return None
    name = module.function_at(code.co_firstlineno, code.co_name)
    return facts_in(module, name) if name is not None else None
