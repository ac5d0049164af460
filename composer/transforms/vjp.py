"""`vjp`: what a cotangent of the output makes of the arguments (reverse mode)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import Context, Output, Page, Signature, Transform
from composer.transforms._arguments import Which
from composer.transforms._chosen import Call, check_which, choose, pack, values_of, with_values
from composer.transforms._code.chosen import chosen_names, of_chosen
from composer.transforms._derivative import named_or
from composer.transforms._derivative_checks import checked_output
from composer.transforms._introduced import check_name, refuse_clash, take_added, with_arguments


class Vjp(Transform, frozen=True):
    """The gradient of the output weighted with a cotangent, as `jax.vjp` (reverse mode).

    Adds one argument, behind the others: the cotangent, with the tree, shapes and dtypes
    of the output; where an argument has a default it is passed by keyword. Returns the
    gradient of `argnums`: as it is for one argument, a tuple for a list of them, and by
    default, as in JAX, a tuple for all arguments that are given by position. Integers
    have a gradient of dtype float0.

    With `value: true` the function's value comes too, at no cost: (value, grads). With
    `has_aux` the results are those of `grad` and `value_and_grad`: (grads, aux), or
    ((value, aux), grads).

    Choose it for outputs that are no scalar; `grad` is it with cotangent 1.

    Source: `jax.vjp`, called at once with the cotangent.
    """

    word: ClassVar[str] = "vjp"
    shorthand: ClassVar[str | None] = "cotangent"

    cotangent: Annotated[str, "The name of the added argument: a tree like the output."]
    argnums: Annotated[
        Which | None, "Which arguments: names or positions; null for all by position."
    ] = None
    has_aux: Annotated[bool, "Whether the function returns (value, auxiliary data)."] = False
    value: Annotated[bool, "Whether the function's value is returned with the gradient."] = False

    def check(self) -> None:
        """The cotangent has a name, and no argument is listed twice."""
        check_name(self, "cotangent", self.cotangent)
        check_which(self, "argnums", self.argnums)

    def validate(self, ctx: Context) -> None:
        """The arguments exist, and the added one does not."""
        choose(self.argnums, ctx, "argnums")
        refuse_clash(self.cotangent, ctx, f"cotangent: {self.cotangent}_bar")

    def signature(self, sig: Signature) -> Signature:
        """The cotangent behind the other arguments; `grads`, with value and aux as asked."""
        grads = Output("grads")
        if isinstance(self.argnums, tuple):
            parts = [Output(_name(item, sig)) for item in self.argnums]
            grads = Output.tuple_of(*parts, name="grads")
        value = named_or(sig.output.child(0) if self.has_aux else sig.output, "value")
        aux = named_or(sig.output.child(1), "aux")
        made = self._results(value, grads, aux, Output.tuple_of)
        return with_arguments(sig, (self.cotangent,)).returning(made)

    def _results(self, value: Any, grads: Any, aux: Any, pair: Callable[..., Any]) -> Any:
        """What comes out, nested as in `grad` and `value_and_grad`."""
        if self.value:
            return pair(pair(value, aux) if self.has_aux else value, grads)
        return pair(grads, aux) if self.has_aux else grads

    def _choose(self, ctx: Context, call: Call) -> tuple[str | int, ...]:
        if self.argnums is None:
            return tuple(range(len(call[0])))
        return choose(self.argnums, ctx, "argnums")

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`jax.vjp(fn, ...)`, and its second result called with the cotangent."""
        import jax

        from composer.transforms._tangents import check_cotangent

        def checked(*args: Any, **kwargs: Any) -> Any:
            out = fn(*args, **kwargs)
            checked_output(out, ctx, has_aux=self.has_aux, scalar=False)
            return out

        def pulled(*args: Any, **kwargs: Any) -> Any:
            (cotangent,), call = take_added((self.cotangent,), ctx, (args, kwargs), "cotangent")
            which = self._choose(ctx, call)
            primals = values_of(which, ctx, call, "argnums")
            inner = with_values(checked, which, ctx, call)
            # JAX's types know has_aux only as a literal.
            options: dict[str, Any] = {"has_aux": self.has_aux}
            value, pull, *aux = jax.vjp(inner, *primals, **options)
            check_cotangent(cotangent, self.cotangent, value, ctx)
            grads = pack(pull(cotangent), () if self.argnums is None else self.argnums)
            return self._results(value, grads, aux[0] if aux else None, _pair)

        return ctx.named(pulled)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function that calls `jax.vjp`, and its second result with the cotangent."""
        placed, _ = page.split_arguments(ctx)
        which = placed if self.argnums is None else choose(self.argnums, ctx, "argnums")
        names = chosen_names(which, ctx, page, "argnums")
        made = page.call(
            f"{page.use('jax')}.vjp",
            of_chosen(page.short(fn, f"primal_{page.name}"), names, ctx, page),
            *names,
            has_aux="True" if self.has_aux else None,
        )
        grads = f"pull({self.cotangent})"
        if self.argnums is not None and not isinstance(self.argnums, tuple):
            grads = f"{grads}[0]"
        value = "value" if self.value else "_"
        result = self._results("value", grads, "aux", lambda *two: ", ".join(two))
        if self.value and self.has_aux:
            result = f"(value, aux), {grads}"
        body = [f"{value}, pull{', aux' * self.has_aux} = {made}", f"return {result}"]
        doc = f"The gradient of the output weighted with {self.cotangent}."
        outside = page.parameters(page.outside(self.signature(ctx.signature), ctx))
        return page.glue(f"vjp_{page.name}", outside, body, doc)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """Central differences in float64 of the sum of cotangent times output."""
        from composer.transforms._differences import value_only, weighted_gradient

        def differences(*args: Any, **kwargs: Any) -> Any:
            (cotangent,), call = take_added((self.cotangent,), ctx, (args, kwargs), "cotangent")
            which = self._choose(ctx, call)
            primals = values_of(which, ctx, call, "argnums")
            out = with_values(fn, which, ctx, call)(*primals)
            value, aux = out if self.has_aux else (out, None)

            def at(wide: Call) -> Callable[..., Any]:
                return with_values(value_only(fn, self.has_aux), which, ctx, wide)

            found = weighted_gradient(at, call, primals, cotangent)
            grads = pack(found, () if self.argnums is None else self.argnums)
            return self._results(value, grads, aux, _pair)

        return differences


def _pair(first: Any, second: Any) -> Any:
    return first, second


def _name(item: int | str, sig: Signature) -> str | None:
    if isinstance(item, str):
        return item
    names = sig.positional
    return names[item] if -len(names) <= item < len(names) else None
