"""`jacrev`: the Jacobian, row by row (reverse mode)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import Context, Output, Signature
from composer.transforms._derivative import Derivative


class Jacrev(Derivative, frozen=True):
    """The Jacobian, row by row (reverse mode); the choice for many inputs and few outputs.

    Takes the function's arguments; returns an array of shape output + argument for each
    pair of output and differentiated argument, nested as the outputs are, or
    (Jacobian, aux) with `has_aux`.

    Source: `jax.jacrev`.
    """

    word: ClassVar[str] = "jacrev"
    aliases: ClassVar[tuple[str, ...]] = ("jacobian",)

    allow_int: Annotated[bool, "Whether integer arguments may be differentiated (float0)."] = False

    def signature(self, sig: Signature) -> Signature:
        """The same arguments; the output is `jacobian`, or (`jacobian`, aux)."""
        _, aux = self.split_aux(sig)
        made = Output("jacobian")
        return sig.returning(Output.tuple_of(made, aux) if self.has_aux else made)

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`jax.jacrev(self.checked(fn, ctx, scalar=False), ...)`."""
        import jax

        return self.reaching(jax.jacrev(fn, allow_int=self.allow_int, **self.options(ctx)), ctx)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """Central differences in float64, one element of the argument at a time."""
        from composer.transforms._differences import jacobian

        return jacobian(fn, ctx.argnums(self.argnums), self.has_aux)
