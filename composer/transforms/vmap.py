"""`vmap`: a function of one example becomes a function of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import Context, Transform
from composer.transforms._axes import (
    Axes,
    as_tuple,
    axes_for_call,
    check_axes,
    has_null,
    packed,
    something_mapped,
)
from composer.transforms._mapped_checks import check_mapped

AxisName = str | tuple[str, ...]


class Vmap(Transform, frozen=True):
    """A function of one example becomes a function of a batch, as `jax.vmap`.

    Each mapped argument gains an axis, the outputs gain one at `out_axes`. Axes go by
    position or by argument name; in a mapping by name an unlisted argument is not
    mapped. Inside one argument's tree JAX's prefix rule holds. Keyword arguments are
    bound to their positions first, so none is mapped by accident.

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

    def check(self) -> None:
        """Axes are whole numbers or null."""
        check_axes(self, "in_axes", self.in_axes)
        check_axes(self, "out_axes", self.out_axes)

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
                something_mapped([*as_tuple(axes, len(args)), *behind.values()], ctx)
            check_mapped(ctx, args, kwargs, axes, behind)
            if kwargs:
                target, values, in_axes = packed(fn), (args, kwargs), (axes, behind)
            else:
                target, values, in_axes = fn, args, axes
            try:
                return jax.vmap(target, in_axes=in_axes, **options)(*values)
            except ValueError:
                if has_null(self.out_axes):
                    refuse_varying(target, values, in_axes, self.out_axes, ctx)
                raise

        return ctx.named(mapped)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A Python loop over the rows, its results stacked by NumPy."""
        from composer.transforms._loops import loop_over_rows

        def loop(*args: Any, **kwargs: Any) -> Any:
            axes, behind = axes_for_call(self.in_axes, ctx, args, kwargs)
            rows = (as_tuple(axes, len(args)), behind)
            return loop_over_rows(fn, args, kwargs, rows, self.out_axes, self.axis_size)

        return loop
