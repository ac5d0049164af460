"""`jvp`: the derivative along a direction (forward mode)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import Context, Output, Page, Signature, Transform
from composer.transforms._chosen import Call, choose, values_of, with_values
from composer.transforms._code.chosen import chosen_names, of_chosen, tuple_text
from composer.transforms._derivative import named_or
from composer.transforms._derivative_checks import checked_output
from composer.transforms._introduced import (
    check_name,
    parameter_order,
    refuse_clash,
    take_added,
    with_arguments,
)


class Jvp(Transform, frozen=True):
    """The value and its derivative along a direction, as `jax.jvp` (forward mode).

    `tangents: {w: v}` adds an argument `v`, the tangent of the argument `w`: same tree,
    shapes and dtypes. The added arguments stand behind the others, in the order of the
    arguments that they belong to; where an argument has a default they are passed by
    keyword. An argument that is not listed is held fixed. Returns (value, tangent), or
    (value, tangent, aux) with `has_aux`.

    Choose it for one direction: its cost is about that of two calls, whatever the size
    of the argument. `vjp` is the choice for the gradient of few outputs, `jacfwd` for
    all directions at once.

    Source: `jax.jvp`.
    """

    word: ClassVar[str] = "jvp"

    tangents: Annotated[
        dict[str, str], "The added argument for the tangent of each argument, by name: {w: v}."
    ]
    has_aux: Annotated[bool, "Whether the function returns (value, auxiliary data)."] = False

    def check(self) -> None:
        """Each tangent has a name of its own."""
        if not self.tangents:
            raise self.wrong("tangents", "names no argument", cure="tangents: {x: x_tangent}")
        names = list(self.tangents.values())
        for name in names:
            check_name(self, "tangents", name)
            if names.count(name) > 1:
                raise self.wrong("tangents", f"gives the name {name!r} to two arguments")

    def validate(self, ctx: Context) -> None:
        """The arguments exist, and the added ones do not."""
        choose(tuple(self.tangents), ctx, "tangents")
        for name, added in self.tangents.items():
            refuse_clash(added, ctx, f"tangents: {{{name}: {name}_tangent}}")

    def signature(self, sig: Signature) -> Signature:
        """The tangents behind the other arguments; (value, `tangent`), and aux."""
        output = sig.output.child(0) if self.has_aux else sig.output
        parts = [named_or(output, "value"), Output("tangent")]
        if self.has_aux:
            parts.append(named_or(sig.output.child(1), "aux"))
        return with_arguments(sig, self._names(sig)).returning(Output.tuple_of(*parts))

    def _order(self, sig: Signature) -> list[str]:
        # Not that of the mapping: two layers that differ in it only are the same layer.
        return parameter_order(list(self.tangents), sig)

    def _names(self, sig: Signature) -> tuple[str, ...]:
        return tuple(self.tangents[name] for name in self._order(sig))

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`jax.jvp(fn, primals, tangents)` over the listed arguments."""
        import jax

        from composer.transforms._tangents import check_tangent

        which = choose(tuple(self._order(ctx.signature)), ctx, "tangents")
        names = self._names(ctx.signature)

        def pushed(*args: Any, **kwargs: Any) -> Any:
            tangents, call = take_added(names, ctx, (args, kwargs), "tangent")
            primals = values_of(which, ctx, call, "tangents")
            rows = zip(tangents, names, primals, which, strict=True)
            for tangent, name, primal, argument in rows:
                check_tangent(tangent, name, primal, str(argument), ctx)
            inner = with_values(self._checked(fn, ctx), which, ctx, call)
            return jax.jvp(inner, primals, tangents, has_aux=self.has_aux)

        return ctx.named(pushed)

    def _checked(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        def value(*args: Any, **kwargs: Any) -> Any:
            out = fn(*args, **kwargs)
            checked_output(out, ctx, has_aux=self.has_aux, scalar=False)
            return out

        return value

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function that calls `jax.jvp`."""
        names = chosen_names(self._order(ctx.signature), ctx, page, "tangents")
        added = self._names(ctx.signature)
        made = page.call(
            f"{page.use('jax')}.jvp",
            of_chosen(page.short(fn, f"primal_{page.name}"), names, ctx, page),
            tuple_text(names),
            tuple_text(added),
            has_aux="True" if self.has_aux else None,
        )
        doc = f"The value, and its derivative along {' and '.join(added)}."
        outside = page.parameters(page.outside(self.signature(ctx.signature), ctx))
        return page.glue(f"jvp_{page.name}", outside, [f"return {made}"], doc)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """Central differences along the tangents, in float64."""
        from composer.transforms._differences import directional, value_only

        which = choose(tuple(self._order(ctx.signature)), ctx, "tangents")
        names = self._names(ctx.signature)

        def differences(*args: Any, **kwargs: Any) -> Any:
            tangents, call = take_added(names, ctx, (args, kwargs), "tangent")
            primals = values_of(which, ctx, call, "tangents")
            out = with_values(fn, which, ctx, call)(*primals)

            def at(wide: Call) -> Callable[..., Any]:
                return with_values(value_only(fn, self.has_aux), which, ctx, wide)

            tangent = directional(at, call, primals, tangents)
            return (out[0], tangent, out[1]) if self.has_aux else (out, tangent)

        return differences
