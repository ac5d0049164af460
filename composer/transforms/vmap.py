"""`vmap`: a function of one example becomes a function of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import Context, Page, Transform
from composer.transforms._axes import (
    Axes,
    as_tuple,
    axes_for_call,
    check_axes,
    has_null,
    packed,
    something_mapped,
)
from composer.transforms._code.axes import argument_axes, axes_text, fitted_axes
from composer.transforms._code.chunks import chunked_code
from composer.transforms._mapped_checks import check_mapped

AxisName = str | tuple[str, ...]


class Vmap(Transform, frozen=True):
    """A function of one example becomes a function of a batch, as `jax.vmap`.

    Each mapped argument gains an axis, the outputs gain one at `out_axes`. Axes go by
    position or by argument name; in a mapping by name an unlisted argument is not
    mapped. Inside one argument's tree JAX's prefix rule holds. Keyword arguments are
    bound to their positions first, so none is mapped by accident.

    With `chunk: N` the rows are done N at a time, one chunk after the other (and the
    rest at the end): the same results in the memory of N rows, as
    `jax.lax.map(..., batch_size=N)`. Collectives inside need all rows at once, so
    `axis_name` and `chunk` exclude each other.

    Source: `jax.vmap`.
    """

    word: ClassVar[str] = "vmap"

    in_axes: Annotated[Axes, "The mapped axis of each argument: a number, a list, or by name."] = 0
    out_axes: Annotated[Axes, "Where the mapped axis stands in the outputs."] = 0
    axis_name: Annotated[str | None, "A name for collectives inside."] = None
    axis_size: Annotated[int | None, "The batch size, where no argument tells it."] = None
    spmd_axis_name: Annotated[
        AxisName | None, "Mesh axes that the mapped axis of constraints inside is split over."
    ] = None
    chunk: Annotated[int | None, "How many rows at once; null for all of them."] = None

    def check(self) -> None:
        """Axes are whole numbers or null; a chunk stands alone."""
        check_axes(self, "in_axes", self.in_axes)
        check_axes(self, "out_axes", self.out_axes)
        if self.chunk is None:
            return
        if self.chunk < 1:
            raise self.wrong("chunk", f"is {self.chunk}; it is at least 1")
        if self.axis_name is not None:
            raise self.wrong(
                "chunk",
                "and axis_name exclude each other: a collective would see the rows of one"
                " chunk only",
                cure="axis_name without chunk; or `- reduce: mean` outside, for a mean of all rows",
            )
        if self.spmd_axis_name is not None:
            raise self.wrong(
                "chunk",
                "and spmd_axis_name exclude each other: rows that are done one chunk after"
                " the other cannot be split over devices",
                cure="one of the two",
            )

    def validate(self, ctx: Context) -> None:
        """Resolve the names in `in_axes`."""
        if isinstance(self.in_axes, dict):
            ctx.by_argument(self.in_axes, "in_axes")
            if self.axis_size is None:
                something_mapped(self.in_axes.values(), ctx)
        elif isinstance(self.in_axes, tuple):
            ctx.by_position(self.in_axes, "in_axes", 0)

    def binds_axes(self) -> tuple[str, ...]:
        """The axis name, if there is one."""
        return () if self.axis_name is None else (self.axis_name,)

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`jax.vmap(fn, ...)`, with the axes of the arguments that a call really has."""
        import jax

        from composer.transforms._chunks import check_axis_size, in_chunks
        from composer.transforms._varying import refuse_varying

        options: dict[str, Any] = {
            "out_axes": self.out_axes,
            "axis_name": self.axis_name,
            "axis_size": self.axis_size,
            "spmd_axis_name": self.spmd_axis_name,
        }

        def mapped(*args: Any, **kwargs: Any) -> Any:
            axes, behind = axes_for_call(self.in_axes, ctx, args, kwargs)
            if self.axis_size is None:
                mapped_axes = [*as_tuple(axes, len(args)), *behind.values()]
                something_mapped(mapped_axes, ctx, written=self.in_axes)
            sizes = check_mapped(ctx, args, kwargs, axes, behind)
            if kwargs:
                target, values, in_axes = packed(fn), (args, kwargs), (axes, behind)
            else:
                target, values, in_axes = fn, args, axes
            try:
                if self.chunk is not None:
                    check_axis_size(sizes, self.axis_size, ctx)
                    return in_chunks(target, values, in_axes, options, self.chunk, ctx)
                return jax.vmap(target, in_axes=in_axes, **options)(*values)
            except ValueError:
                if has_null(self.out_axes):
                    refuse_varying(target, values, in_axes, self.out_axes, ctx)
                raise

        return ctx.named(mapped)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """`jax.vmap(fn, ...)` with the axes by position."""
        axes = argument_axes(self.in_axes, ctx, page)
        if self.chunk is not None:
            return chunked_code(self, fn, axes, ctx, page)
        fitted = fitted_axes(axes, ctx, page)
        shown = axes_text(axes, ctx, page) if fitted is None else "in_axes"
        if fitted is not None:
            fn = page.short(fn, f"one_{page.name}")
        options = {
            name: page.literal(value, ctx, name)
            for name, value in self.items()
            if name in ("out_axes", "axis_name", "axis_size", "spmd_axis_name")
        }
        made = page.call(f"{page.use('jax')}.vmap", fn, in_axes=shown, **options)
        if fitted is None:
            return made
        parameters = page.parameters(ctx)
        body = [f"in_axes = {fitted}", f"mapped = {made}"]
        body.append(f"return {page.calls('mapped', parameters)}")
        return page.glue(f"vmap_{page.name}", parameters, body)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A Python loop over the rows, its results stacked by NumPy."""
        from composer.transforms._loops import loop_over_rows

        def loop(*args: Any, **kwargs: Any) -> Any:
            axes, behind = axes_for_call(self.in_axes, ctx, args, kwargs)
            rows = (as_tuple(axes, len(args)), behind)
            return loop_over_rows(fn, args, kwargs, rows, self.out_axes, self.axis_size)

        return loop
