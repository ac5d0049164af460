"""`hessian`: second derivatives of a scalar function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from composer.plugin import Context, Output, Signature
from composer.transforms._derivative import Derivative


class Hessian(Derivative, frozen=True):
    """Second derivatives, as `jax.hessian`: `jacfwd(jacrev(f))`.

    Takes the function's arguments; returns an array of shape output + argument +
    argument, nested as the arguments are on both levels, or (Hessian, aux) with
    `has_aux`. Memory grows with the square of the argument's size.

    Source: `jax.hessian`.
    """

    word: ClassVar[str] = "hessian"

    def signature(self, sig: Signature) -> Signature:
        """The same arguments; the output is `hessian`, or (`hessian`, aux)."""
        _, aux = self.split_aux(sig)
        made = Output("hessian")
        return sig.returning(Output.tuple_of(made, aux) if self.has_aux else made)

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`jax.hessian(self.checked(fn, ctx, scalar=False), ...)`."""
        import jax

        return self.reaching(jax.hessian(fn, **self.options(ctx)), ctx)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """Central differences of central differences, in float64."""
        from composer.transforms._differences import jacobian

        nums = ctx.argnums(self.argnums)
        return jacobian(jacobian(fn, nums, self.has_aux), nums, self.has_aux)
