"""`apply`: any decorator, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from composer.plugin import ComposeError, Context, Output, Page, Signature, Transform, fail
from composer.transforms._callables import check_callable, named_callables


class Apply(Transform, frozen=True):
    """Any decorator as `module:callable`, before somebody writes a plugin for it.

    `how` says what the callable takes:

    - `decorator`: `callable(fn, *args, **keywords)` is the wrapped function, as
      `equinox:filter_jit` and `jax.numpy:vectorize`;
    - `factory`: `callable(*args, **keywords)(fn)` is, as `functools:lru_cache`;
    - `call`: `callable(fn, *args, *arguments, **keywords)` is the result of a call, as
      `jax:linearize` and `jax:vjp`; what is passed by keyword only is closed over.

    Nothing is known of what comes out. The names of the arguments stay those of the
    layer below unless `arguments` says otherwise; static arguments are closed over.

    Source: `functools.partial`, whose attributes give args and keywords their names.
    """

    word: ClassVar[str] = "apply"
    shorthand: ClassVar[str | None] = "function"

    function: Annotated[object, "What to apply: module:callable."]
    args: Annotated[tuple[object, ...], "Its further arguments, after the function."] = ()
    keywords: Annotated[dict[str, object], "Its keyword arguments."] = {}
    how: Annotated[
        Literal["decorator", "factory", "call"], "Whether it takes the function, and when."
    ] = "decorator"
    arguments: Annotated[
        tuple[str, ...] | None, "Names of the arguments afterwards, where they differ."
    ] = None
    equals: Annotated[
        object, "A slow callable that stands in its place when the layer is verified."
    ] = None

    def check(self) -> None:
        """References, or something that can be called; names that are names."""
        check_callable(self, "function", self.function)
        if self.equals is not None:
            check_callable(self, "equals", self.equals)
        names = self.arguments or ()
        for name in names:
            if not name.isidentifier():
                raise self.wrong("arguments", f"holds {name!r}, which is no name")
            if names.count(name) > 1:
                raise self.wrong("arguments", f"has {name!r} twice")

    def references(self) -> Mapping[str, str]:
        """The callables, where they are named by text."""
        return named_callables(function=self.function, equals=self.equals)

    def signature(self, sig: Signature) -> Signature:
        """The same arguments, or those named; nothing is known of the outputs."""
        if self.arguments is None:
            return sig.returning(Output())
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return Signature(
            tuple(inspect.Parameter(name, kind) for name in self.arguments), title=sig.title
        )

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """What the callable makes of `fn`."""
        return self._applied(self.function, "function", fn, ctx)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """The callable applied, as `how` says."""
        target = page.callable(self.function, ctx, "function")
        args = [page.literal(value, ctx, "args") for value in self.args]
        named = {key: page.literal(value, ctx, key) for key, value in self.keywords.items()}
        parameters = page.parameters(page.outside(self.signature(ctx.signature), ctx))
        if self.how == "call":
            placed, behind = page.split_arguments(ctx)
            fn = page.short(fn, f"inner_{page.name}")
            many = ["*args"] if ctx.signature.open_ended else []
            if behind:
                left = [*placed, *many]
                fn = f"lambda {', '.join(left)}: {page.calls(fn, page.parameters(ctx))}"
            given = [*args, *(n for n in parameters if n not in behind)]
            body = [f"return {page.call(target, fn, *given, **named)}"]
            return page.glue(f"apply_{page.name}", parameters, body)
        made = page.call(target, fn, *args, **named)
        if self.how == "factory":
            made = f"{page.call(target, *args, **named)}({fn})"
        if not ctx.compiled_outside:
            return made
        # Nobody knows under which name the callable hands its function on.
        applied = page.short(made, f"applied_{page.name}")
        return page.glue(
            f"apply_{page.name}", parameters, [f"return {page.calls(applied, parameters)}"]
        )

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """What `equals` makes of `fn`.

        Raises:
            ComposeError: CMP608, there is no `equals`.
        """
        if self.equals is None:
            raise fail(
                ComposeError,
                "CMP608",
                f"apply: nothing is known of {_shown(self.function)}, so there is nothing slow"
                " and obviously right to compare it with",
                place=ctx.place,
                cure="equals: module:callable     # taken in its place, the same way",
            )
        return self._applied(self.equals, "equals", fn, ctx)

    def _applied(
        self, ref: object, field: str, fn: Callable[..., Any], ctx: Context
    ) -> Callable[..., Any]:
        target = ctx.find(ref, field)
        if self.how == "call":
            return self._at_the_call(target, fn, ctx)
        if self.how == "decorator":
            return self._made(ref, lambda: target(fn, *self.args, **self.keywords), ctx)
        decorator = self._made(ref, lambda: target(*self.args, **self.keywords), ctx)
        return self._made(ref, lambda: decorator(fn), ctx)

    def _at_the_call(
        self, target: Callable[..., Any], fn: Callable[..., Any], ctx: Context
    ) -> Callable[..., Any]:
        outer = self.signature(ctx.signature).without(*ctx.static)

        def called(*args: Any, **kwargs: Any) -> Any:
            # Behind an omitted default an argument comes by keyword: give it its position.
            upto = max(
                (outer.positional.index(n) + 1 for n in kwargs if n in outer.positional), default=0
            )
            args, kwargs = outer.fill(args, kwargs, upto)
            return target(_closed(fn, kwargs, ctx), *self.args, *args, **self.keywords)

        return ctx.named(called)

    def _made(self, ref: object, make: Callable[[], Any], ctx: Context) -> Callable[..., Any]:
        """What a callable of someone else's returns, if that is a function.

        Raises:
            ComposeError: CMP204, it fails, or returns what cannot be called.
        """
        try:
            made = make()
        except Exception as error:
            raise self._failed(
                f"{_shown(ref)} raised {type(error).__name__}: {error}", ctx
            ) from error
        if not callable(made):
            raise self._failed(
                f"{_shown(ref)} gave a {type(made).__name__}, which cannot be called", ctx
            )
        found: Callable[..., Any] = made
        return found

    def _failed(self, message: str, ctx: Context) -> Exception:
        forms = {
            "decorator": "how: decorator     # callable(fn, *args, **keywords) is a function",
            "factory": "how: factory     # callable(*args, **keywords)(fn) is a function",
            "call": "how: call     # callable(fn, *args, *arguments, **keywords) is the result",
        }
        others = "\n".join(text for how, text in forms.items() if how != self.how)
        return fail(
            ComposeError,
            "CMP204",
            f"apply: {message}",
            place=ctx.place,
            notes=[f"it was taken as a {self.how}"],
            cure=others,
        )


def _closed(fn: Callable[..., Any], kwargs: Mapping[str, Any], ctx: Context) -> Callable[..., Any]:
    """`fn` of its positional arguments alone."""
    if not kwargs:
        return fn

    def closed(*args: Any) -> Any:
        return fn(*args, **kwargs)

    return ctx.named(closed)


def _shown(ref: object) -> str:
    return ref if isinstance(ref, str) else str(getattr(ref, "__name__", type(ref).__name__))
