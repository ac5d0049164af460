"""The module of plain JAX that `composer code` writes: imports, definitions, names."""

from __future__ import annotations

import builtins
import contextlib
import keyword
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from composer._imports import group, import_lines, importable, is_spec, kind, quoted
from composer._layout import WIDTH, comment, docstring, indented, joined, lay_out, relaid
from composer.errors import ComposeError, Place, fail

if TYPE_CHECKING:
    from composer._context import Context
    from composer._signature import Signature

_PLAIN: Final = (type(None), bool, int, bytes)


class Page:
    """What the layers of one pipeline write, each in its turn.

    A layer's `code` gets an expression for the function below it, which is called with
    every argument by position, in the order of `arguments(ctx)`. It returns another
    expression, and writes what that one needs: `use` imports, `assign` and `glue` make
    names, `helper` adds a function that knows nothing of the pipeline.

    Attributes:
        function: The expression of the user's function.
        base: Names of the arguments that the user's function takes by position.
        named: Whether the user's function has a `__name__` of its own.
        name: What JAX calls the function in its programs.
        printed: What it calls it behind the layer that writes: checkify gives another name.
        omitted: Arguments that are always left to their defaults.
        extra: Names that go into `**kwargs`.
        needs: Files that must be found by the imports.
    """

    def __init__(self, taken: Iterator[str] | Sequence[str], name: str = "f") -> None:
        self.function, self.name, self.printed, self.named = name, name, name, True
        self.base: tuple[str, ...] = ()
        self.omitted: frozenset[str] = frozenset()
        self.extra: tuple[str, ...] = ()
        self.needs: list[str] = []
        self._taken = {*keyword.kwlist, *dir(builtins), *taken}
        self._imports: dict[tuple[str, str | None], str] = {}
        self._helpers: dict[str, str] = {}
        self._top: list[tuple[str, bool]] = []
        self._scopes: list[list[tuple[str, bool]]] = [self._top]
        self._comments: list[str] = []
        self._current = False

    # Imports and names

    def use(self, module: str, name: str | None = None, alias: str | None = None) -> str:
        """Import a module, or a name from it; the word that it has in the text.

        >>> page = Page(["x"])
        >>> page.use("jax"), page.use("jax.sharding", "PartitionSpec", "P")
        ('jax', 'P')
        """
        if (module, name) not in self._imports:
            wanted = alias or name or module
            self._imports[module, name] = wanted if "." in wanted else self.fresh(wanted)
        return self._imports[module, name]

    def fresh(self, wanted: str) -> str:
        """A name like the wanted one that nothing else has."""
        wanted = re.sub(r"\W+", "_", wanted).strip("_") or "f"
        wanted = f"_{wanted}" if wanted[0].isdigit() else wanted
        found, number = wanted, 2
        while found in self._taken:
            found, number = f"{wanted}_{number}", number + 1
        self._taken.add(found)
        return found

    def has(self, name: str) -> bool:
        """Whether the name stands for something already."""
        return name in self._taken

    def user_modules(self) -> list[str]:
        """Modules beside the standard library, JAX and NumPy that are imported."""
        return sorted({module for module, _ in self._imports if group(module) == 2})

    def reference(self, ref: str) -> str:
        """Import what `module:name` or `file.py:name` names; the expression for it."""
        module, _, name = ref.partition(":")
        first, _, rest = name.partition(".")
        if module.endswith(".py"):
            self.needs.append(module)
            module = re.split(r"[/\\]", module)[-1].removesuffix(".py")
        return f"{self.use(module, first)}{'.' + rest if rest else ''}"

    # Values

    def literal(self, value: object, ctx: Context, field: str) -> str:
        """A parameter's value as Python.

        Raises:
            ComposeError: CMP609, there is no text from which Python makes the value.
        """
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, _PLAIN) and type(value) in _PLAIN:
            return repr(value)
        if isinstance(value, float | complex) and type(value) in (float, complex):
            text = repr(value)
            return text if "n" not in text else f'{type(value).__name__}("{text}")'
        if is_spec(value):
            spec = self.use("jax.sharding", "PartitionSpec", "P")
            items = [self.literal(item, ctx, field) for item in value]  # type: ignore[attr-defined]  # JAX's class
            return f"{spec}({', '.join(items)})"
        if isinstance(value, tuple):
            items = [self.literal(item, ctx, field) for item in value]
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if type(value) in (list, set, frozenset) and value:
            items = [self.literal(item, ctx, field) for item in value]  # type: ignore[attr-defined]  # seen above
            return f"[{', '.join(items)}]" if isinstance(value, list) else f"{{{', '.join(items)}}}"
        if isinstance(value, Mapping):
            pairs = [
                f"{self.literal(key, ctx, field)}: {self.literal(item, ctx, field)}"
                for key, item in value.items()
            ]
            return f"{{{', '.join(pairs)}}}"
        return self.callable(value, ctx, field)

    def callable(self, value: object, ctx: Context, field: str) -> str:
        """A function that a parameter names by text or holds: imported.

        Raises:
            ComposeError: CMP609, no import finds it.
        """
        if isinstance(value, str):
            return self.reference(value)
        found = importable(value)
        if found is None:
            raise cannot_write(
                f"{ctx.word}: {field} holds {kind(value)}, which no text stands for",
                ctx.place,
                "a function at the top of a module, or plain numbers and words",
            )
        return self.reference(found)

    # Statements

    def layer(self, text: str) -> None:
        """Remember a comment for the next thing that is written."""
        self._comments.append(text)
        self._current = True

    def assign(self, wanted: str, expression: str, *, top: bool = False) -> str:
        """`name = expression`; the name. `top`: in the module, not in the open function."""
        name = self.fresh(wanted)
        self.write(f"{name} = {expression}", top=top)
        return name

    def write(self, statement: str, *, top: bool = False) -> None:
        """One statement on lines of its own, with the comments that wait for it."""
        # A helper that a layer needs may come before the layer's own comment.
        waiting = [] if top else self._flush()
        text = lay_out(statement, width=WIDTH if top else self._width)
        (self._top if top else self._scopes[-1]).append(("\n".join([*waiting, text]), False))

    def short(self, fn: str, wanted: str, *, whole: bool = False) -> str:
        """The expression, if it is a name; else a name that stands for it.

        The comment of the layer that is being written is kept for what it writes itself,
        unless the expression is the `whole` of what it does.
        """
        if fn.replace(".", "_").isidentifier():
            return fn
        keep = self._current and not whole
        mine = [self._comments.pop()] if keep and self._comments else []
        name = self.assign(wanted, fn)
        self._comments += mine
        self._current = bool(mine)
        return name

    def call(self, function: str, *positional: str, **options: str | None) -> str:
        """A call; options that are None are left out.

        >>> Page([]).call("jax.grad", "loss", argnums=None, has_aux="True")
        'jax.grad(loss, has_aux=True)'
        """
        given = [f"{name}={text}" for name, text in options.items() if text is not None]
        return f"{function}({', '.join([*positional, *given])})"

    def helper(self, wanted: str, text: str) -> str:
        """A function of the module that is written once; its name.

        Args:
            wanted: A name for it.
            text: The whole definition, with `NAME` where its name stands.
        """
        if text not in self._helpers:
            self._helpers[text] = self.fresh(wanted)
            made = textwrap.dedent(text).strip("\n").rstrip().replace("NAME", self._helpers[text])
            self._top.append((relaid(made), True))
        return self._helpers[text]

    def glue(
        self,
        wanted: str,
        parameters: Sequence[str],
        body: Sequence[str],
        doc: str | None = None,
        *,
        nested: str = "",
    ) -> str:
        """A function that JAX prints under the name of the user's function; its name.

        Args:
            wanted: A name for it.
            parameters: As they stand in the `def`; `x`, `*args`, `*`.
            body: Statements, each of which is laid out; indented ones are left alone.
            doc: What it does.
            nested: Text of definitions inside, before the statements.
        """
        name = self.fresh(wanted)
        own = self.named and self.printed == self.name
        same = own and tuple(parameters) == self.base
        lines = [*self._flush()]
        if same:
            lines.append(f"@{self.use('functools')}.wraps({self.function})")
        lines.append(lay_out(f"def {name}({', '.join(parameters)}):", width=self._width))
        if doc:
            lines.append(docstring(doc, width=self._width))
        if nested:
            lines += [""] * bool(doc) + [indented(nested.rstrip("\n")), ""]
        lines += self._body(body)
        self._scopes[-1].append(("\n".join(lines), True))
        if not same:
            shown = f"{self.function}.__name__" if own else quoted(self.printed)
            self.write(f"{name}.__name__ = {shown}")
        return name

    def define(self, name: str, parameters: Sequence[str], body: Sequence[str], doc: str) -> None:
        """A plain function of the module, under exactly this name."""
        head = lay_out(f"def {name}({', '.join(parameters)}):")
        text = "\n".join([*self._flush(), head, docstring(doc), *self._body(body)])
        self._scopes[-1].append((text, True))

    @property
    def _width(self) -> int:
        """What an open function leaves of a line."""
        return WIDTH - 4 * (len(self._scopes) - 1)

    def _body(self, statements: Sequence[str]) -> list[str]:
        found = []
        for line in statements:
            at = line[: len(line) - len(line.lstrip())]
            found.append(lay_out(line.lstrip(), f"    {at}" if line else "", self._width))
        return found

    @contextlib.contextmanager
    def scope(self) -> Iterator[Callable[[], str]]:
        """While this lasts, statements are collected; then the callable gives their text."""
        blocks: list[tuple[str, bool]] = []
        self._scopes.append(blocks)
        try:
            yield lambda: joined(blocks, 1)
        finally:
            self._scopes.remove(blocks)

    def _flush(self) -> list[str]:
        self._current = False
        waiting, self._comments = [comment(text, self._width) for text in self._comments], []
        return waiting

    # Arguments

    def arguments(self, ctx: Context) -> tuple[str, ...]:
        """Names of the arguments of the function below the layer, all by position.

        First those that composer passes by position, then those that it passes by
        keyword, in the order in which JAX flattens them.
        """
        placed, behind = self.split_arguments(ctx)
        return (*placed, *sorted(behind))

    def split_arguments(self, ctx: Context) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names passed by position, and by keyword: keyword-only, or behind an omitted one."""
        placed: list[str] = []
        behind: list[str] = []
        for name in ctx.signature.positional:
            if name in self.omitted:
                behind.append(name)
            elif name not in ctx.static:
                (behind if behind else placed).append(name)
        behind += [n for n in ctx.signature.keyword_only if n not in ctx.static]
        rest = [name for name in behind if name not in self.omitted]
        return tuple(placed), (*rest, *self.extra)

    def outside(self, signature: Signature, ctx: Context) -> Context:
        """The same place with the arguments of the layer itself, where it changes them."""
        return replace(ctx, signature=signature)

    def parameters(self, ctx: Context) -> tuple[str, ...]:
        """The same with `*args` where the function takes any number of them."""
        many = ("*args",) if ctx.signature.open_ended else ()
        return (*self.arguments(ctx), *many)

    def calls(self, fn: str, parameters: Sequence[str]) -> str:
        """A call of a function with these parameters, by position."""
        return f"{fn}({', '.join(name for name in parameters if name != '*')})"

    # Devices

    def mesh(self, axes: Mapping[str, int], devices: str | None = None) -> str:
        """The name of a mesh with Auto axes; one for each different mesh."""
        jax, np = self.use("jax"), self.use("numpy", alias="np")
        count = 1
        for size in axes.values():
            count *= size
        of = devices or f"{jax}.devices()[:{count}]"
        shape = ", ".join(map(str, axes.values()))
        grid = f"{np}.array({of}).reshape({shape})"
        return self.mesh_of(grid, tuple(axes))

    def mesh_of(self, devices: str, names: tuple[str, ...]) -> str:
        """The name of a mesh over an expression of devices."""
        auto = f"{self.use('jax.sharding', 'AxisType')}.Auto"
        kinds = f"({', '.join([auto] * len(names))}{',' if len(names) == 1 else ''})"
        shown = ", ".join(map(quoted, names))
        made = self.call(
            self.use("jax.sharding", "Mesh"),
            devices,
            f"({shown}{',' if len(names) == 1 else ''})",
            axis_types=kinds,
        )
        return self._once("mesh", made)

    def sharding(self, mesh: str, spec: str, wanted: str) -> str:
        """The name of a `NamedSharding`; one for each different sharding."""
        named = self.use("jax.sharding", "NamedSharding")
        return self._once(wanted, f"{named}({mesh}, {spec})")

    def _once(self, wanted: str, expression: str) -> str:
        if expression not in self._helpers:
            self._helpers[expression] = self.assign(wanted, expression, top=True)
        return self._helpers[expression]

    # The whole

    def text(self, head: str, setup: Sequence[str] = ()) -> str:
        """The module.

        Args:
            head: The module's docstring.
            setup: Statements before JAX is imported.
        """
        blocks = [(f"{docstring(head, '')}", False)]
        if setup:
            blocks += [("\nimport os", False), ("\n" + "\n".join(setup), False)]
        imports = import_lines(self._imports)
        blocks += [("\n" + imports, False)] if imports else []
        first, *others = self._top
        whole = joined(blocks, 2) + "\n" * (2 if first[1] else 1)
        return whole + joined([first, *others], 2)


def cannot_write(message: str, place: Place | None, cure: str) -> Exception:
    """The error for what has no plain text, to be raised by the caller."""
    return fail(ComposeError, "CMP609", message, place=place, cure=cure)
