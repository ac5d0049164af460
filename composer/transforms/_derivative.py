"""What grad, value_and_grad, jacfwd, jacrev and hessian have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from composer.plugin import Context, Output, Page, Signature, Transform
from composer.transforms._chosen import check_which, refuse_twice
from composer.transforms._derivative_checks import check_inputs, check_reached, checked_output

Argnums = int | str | tuple[int | str, ...]


class Derivative(Transform, frozen=True):
    """Abstract: a transform that differentiates some arguments of a function."""

    argnums: Annotated[Argnums, "Which arguments to differentiate: names or positions."] = 0
    has_aux: Annotated[bool, "Whether the function returns (value, auxiliary data)."] = False
    holomorphic: Annotated[bool, "Whether the function is promised to be holomorphic."] = False

    def check(self) -> None:
        """At least one argument, and none twice."""
        check_which(self, "argnums", self.argnums)

    def validate(self, ctx: Context) -> None:
        """Resolve `argnums`."""
        found = ctx.argnums(self.argnums)
        refuse_twice(found if isinstance(found, tuple) else (found,), ctx, "argnums")

    def options(self, ctx: Context) -> dict[str, Any]:
        """The keyword arguments for JAX's function."""
        return {
            "argnums": ctx.argnums(self.argnums),
            "has_aux": self.has_aux,
            "holomorphic": self.holomorphic,
        }

    def reaching(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`fn` called so that every differentiated argument stands at its position."""
        nums = ctx.argnums(self.argnums)
        upto = 1 + max(nums if isinstance(nums, tuple) else (nums,), default=-1)
        inner = ctx.signature.without(*ctx.static)

        def differentiated(*args: Any, **kwargs: Any) -> Any:
            if len(args) < upto:
                args, kwargs = inner.fill(args, kwargs, upto)
                check_reached(args, upto, ctx)
            if not getattr(self, "allow_int", False):
                check_inputs(args, nums, ctx)
            return fn(*args, **kwargs)

        return ctx.named(differentiated)

    def checked(self, fn: Callable[..., Any], ctx: Context, *, scalar: bool) -> Callable[..., Any]:
        """`fn` whose output is checked while JAX traces: (value, aux), or one scalar."""

        def value(*args: Any, **kwargs: Any) -> Any:
            out = fn(*args, **kwargs)
            checked_output(out, ctx, has_aux=self.has_aux, scalar=scalar)
            return out

        return ctx.named(value)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """JAX's function of the same name, defaults left out."""
        given = {name: value for name, value in self.items() if name != "argnums"}
        options = {name: page.literal(value, ctx, name) for name, value in given.items()}
        nums = ctx.argnums(self.argnums)
        shown = None if nums == 0 else page.literal(nums, ctx, "argnums")
        return page.call(f"{page.use('jax')}.{self.word}", fn, argnums=shown, **options)

    def by_argument(self, sig: Signature, name: str) -> Output:
        """The output that holds derivatives: one, or one for each of a tuple of arguments."""
        if not isinstance(self.argnums, tuple):
            return Output(name)
        return Output.tuple_of(*(Output(_argument(sig, item)) for item in self.argnums), name=name)

    def split_aux(self, sig: Signature) -> tuple[Output, Output]:
        """Names of the function's value and of its auxiliary data."""
        if not self.has_aux:
            return named_or(sig.output, "value"), Output()
        return named_or(sig.output.child(0), "value"), named_or(sig.output.child(1), "aux")


def named_or(output: Output, name: str) -> Output:
    """The output, named so if it has no name."""
    return output if output.name is not None else Output(name, output.parts)


def _argument(sig: Signature, item: int | str) -> str | None:
    if isinstance(item, str):
        return item
    names = sig.positional
    return names[item] if -len(names) <= item < len(names) else None
