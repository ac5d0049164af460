"""One module's source: its functions, its imports, and what dotted names in it mean."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from composer.errors import Place

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, eq=False)
class Module:
    """A parsed module.

    Attributes:
        file: Its path, as it is shown.
        lines: Its source.
        functions: Functions and methods by qualified name (`Class.method`).
        imports: What each imported name means: `{"jnp": "jax.numpy", "pmean": "jax.lax.pmean"}`.
        assigned: What is assigned to names of the module, once each.
        changed: Names of the module that some function of it changes, or assigns anew.
        names: Everything that it defines, in order.
        open: Whether it may define more: by `import *`, or a `__getattr__`.
    """

    file: str
    lines: tuple[str, ...]
    functions: Mapping[str, FunctionNode]
    imports: Mapping[str, str]
    assigned: Mapping[str, ast.expr]
    changed: frozenset[str]
    names: tuple[str, ...]
    open: bool

    def defines(self, name: str) -> bool:
        """Whether a name, or the class before its dot, may be defined in some way."""
        return self.open or name.partition(".")[0] in self.names

    @functools.cached_property
    def constants(self) -> Mapping[str, object]:
        """Names with literal values."""
        items = self.assigned.items()
        return {name: node.value for name, node in items if isinstance(node, ast.Constant)}

    def function_at(self, line: int, name: str) -> str | None:
        """The qualified name of the function whose first line, or first decorator's, this is."""
        for qualified, node in self.functions.items():
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == line and node.name == name:
                return qualified
        return None

    def place(self, node: ast.AST) -> Place:
        """Where a node stands."""
        line = getattr(node, "lineno", 1)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        # ast counts bytes, places count characters.
        column = _characters(text, getattr(node, "col_offset", 0))
        same = getattr(node, "end_lineno", line) == line
        end = _characters(text, getattr(node, "end_col_offset", 0)) if same else len(text.rstrip())
        return Place(self.file, line, column + 1, text, max(1, end - column))

    def meaning(self, node: ast.expr) -> str:
        """A name or dotted name with its import resolved; empty for anything else.

        `jnp.mean` is `jax.numpy.mean`, `pmean` may be `jax.lax.pmean`.
        """
        if isinstance(node, ast.Name):
            return self.imports.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            before = self.meaning(node.value)
            return f"{before}.{node.attr}" if before else ""
        return ""


def _characters(text: str, offset: int) -> int:
    return len(text.encode("utf-8")[:offset].decode("utf-8", "ignore"))


def read_module(path: Path, shown: str | None = None) -> Module | SyntaxError | None:
    """Parse a file; None where it cannot be read, the error where it is no Python.

    Kept until the file changes: a thousand pipelines may name functions of one module.
    """
    try:
        state = path.stat()
    except OSError:
        return None
    return _parsed(path, shown, state.st_mtime_ns, state.st_size)


@functools.lru_cache(maxsize=64)
def _parsed(path: Path, shown: str | None, changed: int, size: int) -> Module | SyntaxError | None:
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except SyntaxError as error:
        return error
    except (OSError, ValueError, RecursionError, MemoryError):
        return None
    return module_of(tree, text, shown or str(path))


def module_of(tree: ast.Module, text: str, shown: str) -> Module:
    """What a parsed text defines."""
    imports = dict(_imports(tree))
    functions = dict(_functions(tree))
    assigned, twice = _assigned(tree)
    classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    names = [
        *(name for name in functions if "." not in name),
        *classes,
        *assigned,
        *twice,
        *imports,
    ]
    opened = "*" in imports or "__getattr__" in functions
    changed = frozenset(_changed(tree)) | frozenset(twice)
    lines = tuple(text.splitlines())
    return Module(
        shown, lines, functions, imports, assigned, changed, tuple(dict.fromkeys(names)), opened
    )


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, FunctionNode]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _functions(node, prefix)


def _imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # `import jax.numpy` binds jax; `import jax.numpy as jnp` binds the module itself.
                top = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (top, top)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                before = node.module or ""
                # What a relative import names is another file of the user's, not looked into.
                whole = f"{before}.{alias.name}" if not node.level else f".{before}.{alias.name}"
                yield alias.asname or alias.name, whole


def _assigned(tree: ast.Module) -> tuple[dict[str, ast.expr], list[str]]:
    """What is assigned to each name at the top, and the names that are assigned twice."""
    found: dict[str, list[ast.expr]] = {}
    for node in _top(tree):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    whole = target if isinstance(target, ast.Name) else None
                    found.setdefault(name.id, []).append(value if whole is not None else target)
    once = {name: values[0] for name, values in found.items() if len(values) == 1}
    return once, [name for name, values in found.items() if len(values) > 1]


def _top(tree: ast.AST) -> Iterator[ast.stmt]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.ExceptHandler):
            yield from _top(node)
        elif isinstance(node, ast.stmt):
            yield node


def _changed(tree: ast.Module) -> Iterator[str]:
    """Names that some function declares global, or that are written into."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
            targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
            for target in targets:
                if isinstance(target, ast.Subscript | ast.Attribute) and isinstance(
                    target.value, ast.Name
                ):
                    yield target.value.id
