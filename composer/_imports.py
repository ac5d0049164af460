"""Imports of the module that `composer code` writes, and what imports can find."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from composer._layout import WIDTH, lay_out


def import_lines(imports: Mapping[tuple[str, str | None], str]) -> str:
    """All import statements, in groups and order as isort has them.

    Args:
        imports: Local names by module and name; the name is None for whole modules.
    """
    groups: dict[int, list[tuple[tuple[object, ...], str]]] = {0: [], 1: [], 2: []}
    together: dict[str, list[str]] = {}
    for (module, name), local in imports.items():
        if name is None:
            shown = f"import {module}" + ("" if module == local else f" as {local}")
            groups[group(module)].append(((0, module), shown))
        elif name == local:
            together.setdefault(module, []).append(name)
        else:
            shown = lay_out(f"from {module} import {name} as {local}")
            groups[group(module)].append(((1, module, 1, name), shown))
    for module, names in together.items():
        shown = _from_import(module, sorted(names, key=_name_order))
        groups[group(module)].append(((1, module, 0), shown))
    texts = ["\n".join(text for _, text in sorted(lines)) for lines in groups.values()]
    return "\n\n".join(text for text in texts if text)


def is_spec(value: object) -> bool:
    """Whether a value is JAX's PartitionSpec, whose class has gone by two names."""
    cls = type(value)
    return cls.__name__ in ("PartitionSpec", "P") and cls.__module__.startswith("jax")


def group(module: str) -> int:
    """isort's group: 0 the standard library, 1 JAX and its kin, 2 the user's own."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return 0
    return 1 if top in ("jax", "jaxlib", "numpy", "optax") else 2


def _name_order(name: str) -> tuple[int, str]:
    """isort's: CONSTANTS, then Classes, then functions."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name


def _from_import(module: str, names: Sequence[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


def quoted(text: str) -> str:
    """A string in the quotes that formatters prefer."""
    shown = repr(text)
    return f'"{shown[1:-1]}"' if shown[0] == "'" and '"' not in text else shown


_PUBLIC: Final = ("jax", "jax.numpy", "jax.lax", "jax.nn", "jax.scipy.special", "jax.random")


def importable(value: object) -> str | None:
    """`module:name`, if that is where Python finds exactly this object."""
    # JAX says where a function is written, which is private, not where it is offered.
    for public in _PUBLIC:
        shown = getattr(value, "__name__", "")
        if shown and getattr(sys.modules.get(public), shown, None) is value:
            return f"{public}:{shown}"
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is value and found is not None else None


def kind(value: object) -> str:
    """What a value is, for messages."""
    if getattr(value, "__name__", "") == "<lambda>":
        return "a lambda"
    name = type(value).__name__
    vowel = name[:1].lower() in "aeiou" or name == "ndarray"
    return f"{'an' if vowel else 'a'} {name}"
