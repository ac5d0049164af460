"""`grad`: the gradient of a scalar function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import Context, Output, Signature
from composer.transforms._derivative import Derivative


class Grad(Derivative, frozen=True):
    """The gradient of a scalar function, as `jax.grad`.

    Takes the function's arguments; returns the gradient with the shape and dtype of
    the differentiated argument (a tuple of them for a tuple of arguments), or
    (gradient, aux) with `has_aux`. The function's output must be one floating scalar.

    Source: `jax.grad`.
    """

    word: ClassVar[str] = "grad"

    allow_int: Annotated[bool, "Whether integer arguments may be differentiated (float0)."] = False

    def signature(self, sig: Signature) -> Signature:
        """The same arguments; the output is `grads`, or (`grads`, aux)."""
        grads = self.by_argument(sig, "grads")
        _, aux = self.split_aux(sig)
        return sig.returning(Output.tuple_of(grads, aux) if self.has_aux else grads)

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`jax.grad(fn, ...)`."""
        import jax

        made = jax.grad(
            self.checked(fn, ctx, scalar=True), allow_int=self.allow_int, **self.options(ctx)
        )
        return self.reaching(made, ctx)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """Central differences in float64."""
        from composer.transforms._differences import gradient

        nums = ctx.argnums(self.argnums)

        def differences(*args: Any, **kwargs: Any) -> Any:
            _, grads, aux = gradient(fn, args, kwargs, nums, self.has_aux)
            return (grads, aux) if self.has_aux else grads

        return differences
