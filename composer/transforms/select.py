"""`select`: hand on some outputs and drop the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import ComposeError, Context, Output, Page, Signature, Transform
from composer.transforms._code.paths import part_at
from composer.transforms._outputs import find_path, pick, tree_without

Which = int | str | tuple[int | str, ...]

WITHOUT = '''
    def NAME(tree, *paths):
        """Outputs without some; a tuple with one part left becomes that part."""
        sequence = isinstance(tree, list | tuple)
        parts = dict(enumerate(tree)) if sequence else dict(tree)
        below = {}
        for key, *rest in paths:
            key = key % len(tree) if sequence else key
            below.setdefault(key, []).append(rest)
        for key, inside in below.items():
            if [] in inside:
                del parts[key]
            else:
                parts[key] = NAME(parts[key], *inside)
        if not sequence:
            return parts
        kept = tuple(parts.values())
        return kept[0] if len(kept) == 1 else kept
'''


class Select(Transform, frozen=True):
    """Hand on some outputs and drop the rest.

    Outputs go by position, by key, or by the names of `returns:`; a dot goes inside
    (`aux.loss`, `1.0`). One output comes out as it is, a list of them as a tuple in the
    order of the list.

    Source: plain indexing of what the function returns.
    """

    word: ClassVar[str] = "select"
    shorthand: ClassVar[str | None] = "output"

    output: Annotated[Which | None, "The output to keep, or a list of them."] = None
    drop: Annotated[Which | None, "The outputs to leave out; the others stay as they are."] = None

    def check(self) -> None:
        """Exactly one of the two."""
        if (self.output is None) == (self.drop is None):
            raise self.wrong(
                "output", "and drop: write exactly one of the two", cure="select: loss"
            )

    def signature(self, sig: Signature) -> Signature:
        """The same arguments; names of the outputs that are left."""
        try:
            if self.drop is not None:
                return sig.returning(_names_without(sig.output, self.drop))
            if isinstance(self.output, tuple):
                kept = [sig.output.at(find_path(item, sig.output, None)) for item in self.output]
                return sig.returning(Output.tuple_of(*kept))
            return sig.returning(sig.output.at(find_path(self.output, sig.output, None)))
        except ComposeError:
            return sig.returning(Output())

    def validate(self, ctx: Context) -> None:
        """Names must exist where the outputs are named."""
        for item in _several(self.output if self.drop is None else self.drop):
            find_path(item, ctx.signature.output, ctx)

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A function that calls `fn` and hands on what was selected."""
        known = ctx.signature.output

        def selected(*args: Any, **kwargs: Any) -> Any:
            out = fn(*args, **kwargs)
            if self.drop is not None:
                paths = [find_path(item, known, ctx) for item in _several(self.drop)]
                return tree_without(out, paths, ctx)
            if isinstance(self.output, tuple):
                return tuple(pick(out, find_path(item, known, ctx), ctx) for item in self.output)
            return pick(out, find_path(self.output, known, ctx), ctx)

        return ctx.named(selected)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function that indexes what `fn` returns."""
        known, parameters = ctx.signature.output, page.parameters(ctx)
        call = page.calls(page.short(fn, f"whole_{page.name}"), parameters)
        paths = [
            find_path(item, known, ctx)
            for item in _several(self.output if self.drop is None else self.drop)
        ]
        if self.drop is not None:
            shown = [page.literal(path, ctx, "drop") for path in paths]
            body = [f"return {page.helper('without', WITHOUT)}({call}, {', '.join(shown)})"]
            doc = "Some outputs left out."
        elif isinstance(self.output, tuple):
            parts = [part_at(page, "out", path, ctx) for path in paths]
            body = [f"out = {call}", f"return {', '.join(parts)}{',' * (len(parts) == 1)}"]
            doc = "Some of the outputs."
        else:
            body = [f"return {part_at(page, call, paths[0], ctx)}"]
            doc = "One of the outputs."
        return page.glue(f"select_{page.name}", parameters, body, doc)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """The leaves of the whole output, filtered by their paths."""
        import jax

        built = self.build(lambda out: out, ctx)

        def filtered(*args: Any, **kwargs: Any) -> Any:
            out = fn(*args, **kwargs)
            leaves, treedef = jax.tree.flatten(out)
            chosen = built(jax.tree.unflatten(treedef, list(range(len(leaves)))))
            return jax.tree.map(lambda number: leaves[number], chosen)

        return filtered


def _several(value: Which | None) -> tuple[int | str, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _names_without(output: Output, drop: Which) -> Output:
    """Names after dropping: positions move up, and a tuple with one part left becomes it."""
    gone = {find_path(item, output, None) for item in _several(drop)}
    kept = [(key, part) for key, part in output.parts or () if (key,) not in gone]
    if not kept or any(len(path) > 1 for path in gone):
        return Output()
    if isinstance(kept[0][0], int):
        parts = [part for _, part in kept]
        return parts[0] if len(parts) == 1 else Output.tuple_of(*parts, name=output.name)
    return Output(output.name, tuple(kept))
