"""`then`: a function on the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

from composer.plugin import ComposeError, Context, Output, Page, Signature, Transform, fail
from composer.transforms._callables import check_callable, named_callables
from composer.transforms._outputs import describe


class Then(Transform, frozen=True):
    """A function on the outputs: what it returns comes out instead.

    The function is `module:function` (looked up beside the pipeline first), in Python
    the function itself. It gets the whole output as its one argument; with `unpack` the
    parts of a tuple as several. Layers outside see `then(f(x))`: a grad outside
    differentiates both, a vmap outside maps both.

    Source: function composition, `g(f(x))`.
    """

    word: ClassVar[str] = "then"
    shorthand: ClassVar[str | None] = "function"

    function: Annotated[object, "The function: module:function."]
    unpack: Annotated[bool, "Whether the parts of a tuple are several arguments."] = False

    def check(self) -> None:
        """A reference, or something that can be called."""
        check_callable(self, "function", self.function)

    def references(self) -> Mapping[str, str]:
        """The function, where it is named by text."""
        return named_callables(function=self.function)

    def signature(self, sig: Signature) -> Signature:
        """The same arguments; nothing is known of what the function returns."""
        return sig.returning(Output())

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A function that calls `fn`, then the function on what it returned."""
        behind = ctx.find(self.function, "function")

        def then(*args: Any, **kwargs: Any) -> Any:
            out = fn(*args, **kwargs)
            if not self.unpack:
                return behind(out)
            if not isinstance(out, tuple | list):
                raise self._no_tuple(out, ctx)
            return behind(*out)

        return ctx.named(then)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function that calls the two, one after the other."""
        behind = page.callable(self.function, ctx, "function")
        parameters = page.parameters(ctx)
        call = page.calls(page.short(fn, f"first_{page.name}"), parameters)
        star = "*" if self.unpack else ""
        doc = f"`{behind}` of what `{page.name}` returns."
        return page.glue(f"then_{page.name}", parameters, [f"return {behind}({star}{call})"], doc)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """The two calls, one after the other."""
        behind = ctx.find(self.function, "function")

        def two_calls(*args: Any, **kwargs: Any) -> Any:
            between = fn(*args, **kwargs)
            return behind(*between) if self.unpack else behind(between)

        return two_calls

    def _no_tuple(self, out: Any, ctx: Context) -> Exception:
        return fail(
            ComposeError,
            "CMP208",
            "then: unpack makes arguments of the parts of a tuple, but the output is"
            f" {describe(out)}",
            place=ctx.place,
            cure="unpack: false",
        )
