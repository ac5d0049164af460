"""`map`: one row after the other, in little memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import Context, Page, Transform
from composer.transforms._arguments import Which
from composer.transforms._chosen import Call, check_which, choose, values_of, with_values
from composer.transforms._code.chosen import chosen_names, inner_def, tuple_text


class Map(Transform, frozen=True):
    """One row after the other, in the memory of one row, as `jax.lax.map`.

    The arguments in `xs` gain a first axis, over whose rows the function is called; the
    outputs gain one too. All other arguments are the same for each row. With
    `batch_size` so many rows are done at once, as by vmap, and the rest at the end.

    `vmap` is faster where the memory suffices, and has `chunk` for batches along other
    axes. Collectives cannot see the other rows.

    Source: `jax.lax.map`.
    """

    word: ClassVar[str] = "map"

    xs: Annotated[
        Which | None, "The arguments with rows: names or positions; null for all in the call."
    ] = None
    batch_size: Annotated[int | None, "How many rows at once; null for one, 0 for all of them."] = (
        None
    )

    def check(self) -> None:
        """No argument twice, and no negative size."""
        check_which(self, "xs", self.xs)
        if self.batch_size is not None and self.batch_size < 0:
            raise self.wrong("batch_size", f"is {self.batch_size}; it is at least 0")

    def validate(self, ctx: Context) -> None:
        """The arguments exist."""
        choose(self.xs, ctx, "xs")

    def _choose(self, ctx: Context, call: Call) -> tuple[str | int, ...]:
        if self.xs is None:
            return (*range(len(call[0])), *call[1])
        return choose(self.xs, ctx, "xs")

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`jax.lax.map(fn, xs, batch_size=...)`."""
        from jax import lax

        from composer.transforms._leading import rows_in

        def mapped(*args: Any, **kwargs: Any) -> Any:
            call = args, kwargs
            which = self._choose(ctx, call)
            rows = values_of(which, ctx, call, "xs")
            rows_in(which, rows, ctx)
            inner = with_values(fn, which, ctx, call)

            def one(row: tuple[Any, ...]) -> Any:
                return inner(*row)

            return lax.map(ctx.named(one), rows, batch_size=self.batch_size)

        return ctx.named(mapped)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function that calls `jax.lax.map`."""
        parameters = page.parameters(ctx)
        which = page.arguments(ctx) if self.xs is None else choose(self.xs, ctx, "xs")
        rows = chosen_names(which, ctx, page, "xs")
        call = page.calls(page.short(fn, f"one_{page.name}"), parameters)
        one, row = page.fresh("one"), page.fresh("row")
        size = None if self.batch_size is None else str(self.batch_size)
        made = page.call(f"{page.use('jax', 'lax')}.map", one, tuple_text(rows), batch_size=size)
        body = inner_def(one, [(row, tuple(rows), rows)], call)
        doc = f"`{page.name}` of one row after the other."
        return page.glue(f"map_{page.name}", parameters, [*body, f"return {made}"], doc)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A Python loop over the rows, its results stacked by NumPy."""
        import jax

        from composer.transforms._leading import no_rows, row_of, rows_in
        from composer.transforms._loops import stack_outputs

        def loop(*args: Any, **kwargs: Any) -> Any:
            call = args, kwargs
            which = self._choose(ctx, call)
            rows = values_of(which, ctx, call, "xs")
            inner = with_values(fn, which, ctx, call)
            results = [inner(*row_of(rows, number)) for number in range(rows_in(which, rows, ctx))]
            if results:
                return stack_outputs(results, 0)
            one = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), rows)
            return no_rows(jax.eval_shape(inner, *one))

        return loop
