"""`value_and_grad`: a scalar function's value together with its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import Context, Output, Signature
from composer.transforms._derivative import Derivative


class ValueAndGrad(Derivative, frozen=True):
    """A scalar function's value together with its gradient, as `jax.value_and_grad`.

    Takes the function's arguments; returns (value, gradient), or ((value, aux),
    gradient) with `has_aux`. One evaluation gives both.

    Source: `jax.value_and_grad`.
    """

    word: ClassVar[str] = "value_and_grad"

    allow_int: Annotated[bool, "Whether integer arguments may be differentiated (float0)."] = False

    def signature(self, sig: Signature) -> Signature:
        """The same arguments; the outputs are the value and `grads`."""
        value, aux = self.split_aux(sig)
        first = Output.tuple_of(value, aux) if self.has_aux else value
        return sig.returning(Output.tuple_of(first, self.by_argument(sig, "grads")))

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`jax.value_and_grad(fn, ...)`."""
        import jax

        made = jax.value_and_grad(
            self.checked(fn, ctx, scalar=True), allow_int=self.allow_int, **self.options(ctx)
        )
        return self.reaching(made, ctx)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """The value itself, and central differences in float64."""
        from composer.transforms._differences import gradient

        nums = ctx.argnums(self.argnums)

        def differences(*args: Any, **kwargs: Any) -> Any:
            value, grads, aux = gradient(fn, args, kwargs, nums, self.has_aux)
            return ((value, aux), grads) if self.has_aux else (value, grads)

        return differences
