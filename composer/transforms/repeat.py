"""`repeat`: a function applied n times to its own output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import Context, Page, Transform
from composer.transforms._arguments import Which, several
from composer.transforms._chosen import check_which, choose, pack, unpack, values_of, with_values
from composer.transforms._code.chosen import chosen_names, inner_def, packed_names


class Repeat(Transform, frozen=True):
    """A function applied n times to its own output, by `jax.lax.fori_loop`.

    `- repeat: 1000` stands for a Python loop of a thousand steps, but is compiled as
    one step. The output goes in again as the argument `carry`, by default the first; all
    other arguments are the same in each step. The output must have the structure, shape
    and dtype of that argument. A list of arguments is one tuple: with `carry: [x, v]`
    the function returns (x, v). n = 0 returns the argument as it is.

    Can be differentiated in both modes, since n is known: in reverse mode every step's
    values are kept (`checkpoint` inside keeps less). `scan` is the choice where each
    step has rows of its own, or gives an output of its own.

    Source: `jax.lax.fori_loop` from 0 to n.
    """

    word: ClassVar[str] = "repeat"
    shorthand: ClassVar[str | None] = "n"

    n: Annotated[int, "How often the function is applied."]
    carry: Annotated[Which, "The argument that the output becomes, or a list of them."] = 0
    unroll: Annotated[
        int | bool | None, "How many steps one turn of the compiled loop does; null for JAX's."
    ] = None

    def check(self) -> None:
        """A number of times."""
        check_which(self, "carry", self.carry)
        if self.n < 0:
            raise self.wrong("n", f"is {self.n}; it is at least 0")
        if self.unroll is not None and self.unroll < 0:
            raise self.wrong("unroll", f"is {self.unroll}; it is at least 0, or true for all")

    def validate(self, ctx: Context) -> None:
        """The argument exists."""
        choose(several(self.carry), ctx, "carry")

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`jax.lax.fori_loop(0, n, step, value)`."""
        from jax import lax

        from composer.transforms._carried import check_carry

        which = choose(several(self.carry), ctx, "carry")

        def repeated(*args: Any, **kwargs: Any) -> Any:
            call = args, kwargs
            inner = with_values(fn, which, ctx, call)

            def step(number: Any, carry: Any) -> Any:
                after = inner(*unpack(carry, self.carry))
                check_carry(carry, after, ctx, self._carry_name(which))
                return after

            init = pack(values_of(which, ctx, call, "carry"), self.carry)
            return lax.fori_loop(0, self.n, ctx.named(step), init, unroll=self.unroll)

        return ctx.named(repeated)

    def _carry_name(self, which: tuple[str | int, ...]) -> str:
        return f"{which[0]}" if isinstance(which[0], str) and len(which) == 1 else "the carry"

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function that calls `jax.lax.fori_loop`."""
        parameters = page.parameters(ctx)
        names = chosen_names(choose(several(self.carry), ctx, "carry"), ctx, page, "carry")
        call = page.calls(page.short(fn, f"one_{page.name}"), parameters)
        step, carry = page.fresh("step"), page.fresh("carry")
        body = inner_def(step, [("_", "_", ["_"]), (carry, self.carry, names)], call)
        unroll = None if self.unroll is None else page.literal(self.unroll, ctx, "unroll")
        loop = f"{page.use('jax', 'lax')}.fori_loop"
        init = packed_names(names, self.carry)
        made = page.call(loop, "0", str(self.n), step, init, unroll=unroll)
        doc = f"`{page.name}` applied {self.n} times to its own output."
        return page.glue(f"repeat_{page.name}", parameters, [*body, f"return {made}"], doc)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A Python loop."""
        which = choose(several(self.carry), ctx, "carry")

        def loop(*args: Any, **kwargs: Any) -> Any:
            call = args, kwargs
            value = pack(values_of(which, ctx, call, "carry"), self.carry)
            inner = with_values(fn, which, ctx, call)
            for _ in range(self.n):
                value = inner(*unpack(value, self.carry))
            return value

        return loop
