"""`checkify`: errors as an output, where compiled code cannot raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final

from composer.plugin import Context, Output, Page, Signature, Transform, nearest
from composer.transforms._arguments import several

SETS: Final = (
    "user_checks",
    "nan_checks",
    "index_checks",
    "div_checks",
    "float_checks",
    "automatic_checks",
    "all_checks",
)


class Checkify(Transform, frozen=True):
    """Errors as an output, where compiled code cannot raise, as `checkify.checkify`.

    Takes the function's arguments; returns (error, output). The error holds the first
    failed check, or none: `error.get()` is its text or None, `error.throw()` raises it.
    Raising is left to the caller, outside jit: compiled code cannot.

    `errors` are the checks that are made: `user_checks` are those that the function
    makes by `checkify.check`, the others are added to every operation: `nan_checks`,
    `div_checks` (both: `float_checks`), `index_checks` (all three: `automatic_checks`);
    `all_checks`. A list is their union; an empty one leaves every check out.

    Inside vmap the error is one a row and tells the row; outside vmap it is one for the
    whole batch, the first one found.

    Source: `jax.experimental.checkify.checkify`.
    """

    word: ClassVar[str] = "checkify"
    shorthand: ClassVar[str | None] = "errors"

    errors: Annotated[
        str | tuple[str, ...], "The checks that are made: the name of a set, or a list of them."
    ] = "user_checks"

    def check(self) -> None:
        """Names of sets that checkify has."""
        for name in several(self.errors):
            if name not in SETS:
                close = nearest(str(name), SETS)
                raise self.wrong(
                    "errors",
                    f"holds {name!r}; it is one of {', '.join(SETS)}, or a list of these",
                    cure=f"errors: {close}" if close else None,
                )

    def signature(self, sig: Signature) -> Signature:
        """The same arguments; the outputs are `error` and the function's own."""
        return sig.returning(Output.tuple_of(Output("error"), sig.output))

    def name_after(self, name: str) -> str:
        """JAX names the checked function itself."""
        return "checked_fun"

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`checkify.checkify(fn, errors)`."""
        from jax.experimental import checkify

        from composer.transforms._raised import on_device

        sets = [getattr(checkify, str(name)) for name in several(self.errors)]
        made = checkify.checkify(fn, errors=frozenset().union(*sets))

        def checked(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = on_device((args, kwargs))
            return made(*args, **kwargs)

        return ctx.named(checked)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """`checkify.checkify(fn, errors)`."""
        module = page.use("jax.experimental", "checkify")
        sets = [f"{module}.{name}" for name in several(self.errors)]
        errors = " | ".join(sets) if sets else "frozenset()"
        given = None if self.errors == "user_checks" else errors
        return page.call(f"{module}.checkify", fn, errors=given)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A call that is not compiled, in which the checks raise."""
        from composer.transforms._raised import raised_or_value

        return raised_or_value(fn, frozenset(map(str, several(self.errors))))
