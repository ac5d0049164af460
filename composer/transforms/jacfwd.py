"""`jacfwd`: the Jacobian, column by column (forward mode)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from composer.plugin import Context, Output, Signature
from composer.transforms._derivative import Derivative


class Jacfwd(Derivative, frozen=True):
    """The Jacobian, column by column (forward mode); the choice for few inputs and many outputs.

    Takes the function's arguments; returns an array of shape output + argument for each
    pair of output and differentiated argument, nested as the outputs are, or
    (Jacobian, aux) with `has_aux`.

    Source: `jax.jacfwd`.
    """

    word: ClassVar[str] = "jacfwd"

    def signature(self, sig: Signature) -> Signature:
        """The same arguments; the output is `jacobian`, or (`jacobian`, aux)."""
        _, aux = self.split_aux(sig)
        made = Output("jacobian")
        return sig.returning(Output.tuple_of(made, aux) if self.has_aux else made)

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`jax.jacfwd(self.checked(fn, ctx, scalar=False), ...)`."""
        import jax

        return self.reaching(jax.jacfwd(fn, **self.options(ctx)), ctx)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """Central differences in float64, one element of the argument at a time."""
        from composer.transforms._differences import jacobian

        return jacobian(fn, ctx.argnums(self.argnums), self.has_aux)
