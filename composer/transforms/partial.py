"""`partial`: bind arguments to fixed values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

from composer.plugin import ComposeError, Context, Page, Signature, Transform, fail


class Partial(Transform, frozen=True):
    """Bind arguments to fixed values, as `functools.partial`.

    The bound arguments are gone from the signature of the layers outside; the others
    keep their order. Values are literals in YAML, anything in Python; they become
    constants of the program.

    Source: `functools.partial`, whose attributes give the parameters their names.
    """

    word: ClassVar[str] = "partial"

    args: Annotated[tuple[object, ...], "Values of the first arguments."] = ()
    keywords: Annotated[dict[str, object], "Values by argument name."] = {}

    def check(self) -> None:
        """Something must be bound."""
        if not self.args and not self.keywords:
            raise self.wrong("keywords", "binds nothing", cure="partial: {keywords: {n: 10}}")

    def validate(self, ctx: Context) -> None:
        """Resolve the names; no argument may be bound twice."""
        for name in self.keywords:
            ctx.resolve(name, "keywords")
        names = ctx.signature.positional
        if len(self.args) > len(names) and not ctx.signature.open_ended:
            ctx.resolve(len(self.args) - 1, "args")
        twice = sorted(set(names[: len(self.args)]) & set(self.keywords))
        if twice:
            raise fail(
                ComposeError,
                "CMP204",
                f"partial: {twice[0]!r} is bound twice, by position and by name",
                place=ctx.place,
                cure="one of the two",
            )

    def binds(self, sig: Signature) -> Mapping[str, object]:
        """The bound arguments by name, as far as names are known."""
        return dict(zip(sig.positional, self.args, strict=False)) | self.keywords

    def signature(self, sig: Signature) -> Signature:
        """The arguments that are left."""
        return sig.without(*self.binds(sig))

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A function of the arguments that are left."""
        bound = {
            name: value
            for name, value in self.binds(ctx.signature).items()
            if name not in ctx.static
        }
        order = ctx.arguments
        unnamed = self.args[len(ctx.signature.positional) :]

        def call(*args: Any, **kwargs: Any) -> Any:
            given = iter(args)
            positional = []
            for name in order:
                if name in bound:
                    positional.append(bound[name])
                else:
                    try:
                        positional.append(next(given))
                    except StopIteration:
                        break
            rest = {
                name: value for name, value in bound.items() if name not in order[: len(positional)]
            }
            return fn(*positional, *unnamed, *given, **rest, **kwargs)

        return ctx.named(call)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function of the arguments that are left."""
        bound = {n: v for n, v in self.binds(ctx.signature).items() if n not in ctx.static}
        unnamed = self.args[len(ctx.signature.positional) :]
        if not bound and not unnamed:
            return fn
        fn = page.short(fn, f"bound_{page.name}")
        extra = [page.literal(value, ctx, "args") for value in unnamed]
        given = [
            page.literal(bound[name], ctx, name) if name in bound else name
            for name in page.arguments(ctx)
        ]
        left = [name for name in page.parameters(ctx) if name not in bound]
        many = ["*args"] if ctx.signature.open_ended else []
        return page.glue(
            f"partial_{page.name}",
            left,
            [f"return {fn}({', '.join([*given, *extra, *many])})"],
            f"`{page.name}` with {' and '.join(bound) or 'its first arguments'} bound.",
        )

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A call by keyword alone."""
        bound = self.binds(ctx.signature)
        left = [name for name in ctx.arguments if name not in bound]

        def call(*args: Any, **kwargs: Any) -> Any:
            return fn(**dict(zip(left, args, strict=False)), **kwargs, **bound)

        return call
