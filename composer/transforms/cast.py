"""`cast`: other dtypes for arguments and outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer._dtypes import LONG_NAMES, likely_dtype, short_name
from composer.plugin import Context, Output, Page, Transform
from composer.transforms._arguments import change_arguments, find_argument

ByName = str | dict[str, object] | None
Tree = str | dict[str, object] | tuple[object, ...] | None


class Cast(Transform, frozen=True):
    """Give arguments and outputs other dtypes, for mixed precision.

    One dtype for all of them, or a tree by name, key or position; null leaves alone, and
    so does a part that is not mentioned (`_` stands for the rest). Dtypes by either name:
    `bf16` or `bfloat16`. A floating dtype changes floating leaves only: integers, bools
    and keys stay. Between integer dtypes only an entry that names the leaf itself casts.
    Gradients taken outside have the dtype of the arguments before the cast. An argument
    that the call leaves to its default is not cast.

    Source: `jax.Array.astype`; reading `arguments`, `outputs` as the policies of mixed
    precision do (Micikevicius et al. 2018): compute in bf16, keep parameters in f32.
    """

    word: ClassVar[str] = "cast"

    arguments: Annotated[
        ByName, "The dtype of all arguments, or of some by name: {params: bf16}."
    ] = None
    outputs: Annotated[Tree, "The dtype of all outputs, or of some: {loss: f32}."] = None

    def check(self) -> None:
        """Every entry is a dtype, and there is one."""
        if self.arguments is None and self.outputs is None:
            raise self.wrong(
                "arguments",
                "and outputs: at least one of them says what to cast",
                cure="cast: {arguments: {params: bf16}, outputs: f32}",
            )
        self._check_dtypes("arguments", self.arguments, rest=True)
        self._check_dtypes("outputs", self.outputs, rest=True)

    def _check_dtypes(self, field: str, value: object, *, rest: bool) -> None:
        if isinstance(value, dict):
            for name, item in value.items():
                self._check_dtypes(field, item, rest=name == "_")
            return
        if isinstance(value, tuple):
            for item in value:
                self._check_dtypes(field, item, rest=False)
            return
        if value is None:
            return
        short = short_name(value) if isinstance(value, str) else None
        if short is None:
            close = likely_dtype(str(value))
            raise self.wrong(
                field,
                f"holds {value!r}, which is no dtype: {', '.join(LONG_NAMES)}",
                cure=f"{field}: {close}" if close else None,
            )
        if short in ("bool", "key"):
            raise self.wrong(field, f"holds {value!r}, to which nothing is cast")
        if rest and short[0] in "iu":
            raise self.wrong(
                field,
                f"holds {value!r} for more than one leaf; integers are cast where they are named",
                cure=f"{field}: {{NAME: {value}}}",
            )

    def validate(self, ctx: Context) -> None:
        """Names of arguments and outputs must exist."""
        from composer.transforms._sync import flatten_sync

        if isinstance(self.arguments, dict):
            for name in self.arguments:
                if name != "_":
                    find_argument(name, ctx, "arguments")
        list(flatten_sync(self.outputs, ctx.signature.output, ctx))

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A function that casts, calls `fn`, and casts."""
        from composer.transforms._casts import with_jax

        return ctx.named(self._around(fn, ctx, with_jax))

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function that casts, calls `fn`, and casts."""
        from composer.transforms._code.cast import cast_text

        parameters = page.parameters(ctx)
        call = page.calls(page.short(fn, f"plain_{page.name}"), parameters)
        body = [
            f"{name} = {cast_text(str(name), spec, Output(), ctx, page)}"
            for name, spec in self._by_name(ctx, ctx.arguments, _keywords(ctx, page))
        ]
        outputs = {"_": self.outputs} if isinstance(self.outputs, str) else self.outputs
        if outputs is None:
            body.append(f"return {call}")
        else:
            body.append(f"out = {call}")
            body.append(f"return {cast_text('out', outputs, ctx.signature.output, ctx, page)}")
        return page.glue(f"cast_{page.name}", parameters, body, "Other dtypes inside.")

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """The same by NumPy, on the host."""
        from composer.transforms._casts import with_numpy

        return self._around(fn, ctx, with_numpy)

    def _around(
        self, fn: Callable[..., Any], ctx: Context, convert: Callable[[Any, str], Any]
    ) -> Callable[..., Any]:
        from composer.transforms._casts import cast_tree

        def argument(name: str | int, spec: object) -> Callable[[Any], Any]:
            return lambda value: cast_tree(value, spec, convert, ctx, str(name))

        outputs = {"_": self.outputs} if isinstance(self.outputs, str) else self.outputs

        def cast(*args: Any, **kwargs: Any) -> Any:
            changes = {
                name: argument(name, spec) for name, spec in self._by_name(ctx, args, kwargs)
            }
            args, kwargs = change_arguments(args, kwargs, ctx, changes)
            return cast_tree(fn(*args, **kwargs), outputs, convert, ctx)

        return cast

    def _by_name(
        self, ctx: Context, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[tuple[str | int, object]]:
        """What each argument of a call is cast to; a bare dtype, or `_`, for the rest."""
        given: list[str | int] = [*ctx.arguments[: len(args)], *kwargs]
        given += range(len(ctx.arguments), len(args))
        if isinstance(self.arguments, dict):
            rest = self.arguments.get("_")
            entries = {name: self.arguments.get(str(name), {"_": rest}) for name in given}
        else:
            entries = {name: {"_": self.arguments} for name in given}
        return [(name, spec) for name, spec in entries.items() if spec not in (None, {"_": None})]


def _keywords(ctx: Context, page: Page) -> dict[str, Any]:
    """Arguments of the written function that have no position here."""
    return {name: None for name in page.arguments(ctx) if name not in ctx.arguments}
