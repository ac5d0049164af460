"""`scan`: a loop that carries a value from row to row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import ComposeError, Context, Output, Page, Signature, Transform, fail
from composer.transforms._arguments import Which, several
from composer.transforms._chosen import (
    check_which,
    choose,
    pack,
    refuse_twice,
    unpack,
    values_of,
    with_values,
)
from composer.transforms._code.chosen import chosen_names, inner_def, packed_names
from composer.transforms._derivative import named_or


class Scan(Transform, frozen=True):
    """A loop that carries a value from row to row, as `jax.lax.scan`.

    The function is one step: it takes the carry and one row, and returns (carry, y). The
    composed function takes the same arguments: for the carry its initial value, for
    those in `xs` all rows along the first axis. It returns the last carry and the y of
    all rows. All other arguments are the same in each step.

    A list of arguments is one tuple: with `carry: [h, c]` the function returns
    ((h, c), y). The carry keeps its structure, shapes and dtypes.

    Compiled once, whatever the number of rows. `map` is the choice where nothing is
    carried, `repeat` where there are no rows.

    Source: `jax.lax.scan`.
    """

    word: ClassVar[str] = "scan"

    carry: Annotated[Which, "The argument that is carried, or a list of them."] = 0
    xs: Annotated[Which | None, "The argument with the rows, or a list; null for none."] = 1
    length: Annotated[int | None, "The number of steps, where no row tells it."] = None
    reverse: Annotated[bool, "Whether to go from the last row to the first."] = False
    unroll: Annotated[int | bool, "How many steps one turn of the compiled loop does."] = 1

    def check(self) -> None:
        """No argument twice, and a number of steps."""
        check_which(self, "carry", self.carry)
        check_which(self, "xs", self.xs)
        if self.xs is None and self.length is None:
            raise self.wrong(
                "length", "is missing: without xs nothing else tells it", cure="length: 10"
            )
        if self.length is not None and self.length < 0:
            raise self.wrong("length", f"is {self.length}; it is at least 0")
        if self.unroll < 0:
            raise self.wrong("unroll", f"is {self.unroll}; it is at least 0, or true for all")

    def validate(self, ctx: Context) -> None:
        """The arguments exist, and none is both carried and gone through."""
        names = ctx.signature.positional
        if self.xs == 1 and len(names) == 1 and not ctx.signature.open_ended:
            raise fail(
                ComposeError,
                "CMP202",
                f"scan goes through the rows of the second argument, but"
                f" {ctx.signature.title} has one: {names[0]}",
                place=ctx.place,
                cure="scan: {xs: null, length: 10}     # no rows: 10 steps",
            )
        self._choose(ctx)

    def signature(self, sig: Signature) -> Signature:
        """The same arguments; the outputs are `carry` and `ys`, unless they have names."""
        parts = named_or(sig.output.child(0), "carry"), named_or(sig.output.child(1), "ys")
        return sig.returning(Output.tuple_of(*parts))

    def _choose(self, ctx: Context) -> tuple[tuple[str | int, ...], tuple[str | int, ...]]:
        carry = choose(several(self.carry), ctx, "carry")
        xs = choose(self.xs, ctx, "xs")
        refuse_twice(carry + xs, ctx, "carry and xs")
        return carry, xs

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`jax.lax.scan(step, carry, xs, ...)`."""
        from jax import lax

        from composer.transforms._carried import carry_and_output, check_carry
        from composer.transforms._leading import rows_in

        carried, gone_through = self._choose(ctx)

        def scanned(*args: Any, **kwargs: Any) -> Any:
            call = args, kwargs
            init = values_of(carried, ctx, call, "carry")
            rows = values_of(gone_through, ctx, call, "xs")
            rows_in(gone_through, rows, ctx, self.length)
            inner = with_values(fn, carried + gone_through, ctx, call)

            def step(carry: Any, row: Any) -> Any:
                out = inner(*unpack(carry, self.carry), *unpack(row, self.xs))
                after, y = carry_and_output(out, ctx)
                check_carry(carry, after, ctx)
                return after, y

            return lax.scan(
                ctx.named(step),
                pack(init, self.carry),
                None if self.xs is None else pack(rows, self.xs),
                length=self.length,
                reverse=self.reverse,
                unroll=self.unroll,
            )

        return ctx.named(scanned)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function that calls `jax.lax.scan`."""
        carried, gone_through = self._choose(ctx)
        init = chosen_names(carried, ctx, page, "carry")
        rows = chosen_names(gone_through, ctx, page, "xs")
        parameters = page.parameters(ctx)
        fn = page.short(fn, f"one_{page.name}")
        step, body = fn, []
        plain = not isinstance(self.carry, tuple) and not isinstance(self.xs, tuple)
        if not plain or (*init, *rows) != parameters or self.xs is None:
            given: list[tuple[str, Which, list[str]]] = [(page.fresh("carry"), self.carry, init)]
            if self.xs is None:
                given.append(("_", "_", ["_"]))
            else:
                given.append((page.fresh("row"), self.xs, rows))
            step = page.fresh("step")
            body = inner_def(step, given, page.calls(fn, parameters))
        options = {n: page.literal(v, ctx, n) for n, v in self.items() if n not in ("carry", "xs")}
        made = page.call(
            f"{page.use('jax', 'lax')}.scan",
            step,
            packed_names(init, self.carry),
            "None" if self.xs is None else packed_names(rows, self.xs),
            **options,
        )
        doc = f"`{page.name}` from row to row, carrying {' and '.join(init)}."
        return page.glue(f"scan_{page.name}", parameters, [*body, f"return {made}"], doc)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A Python loop over the rows, the ys stacked by NumPy."""
        import jax

        from composer.transforms._leading import no_rows, row_of, rows_in
        from composer.transforms._loops import stack_outputs

        carried, gone_through = self._choose(ctx)

        def loop(*args: Any, **kwargs: Any) -> Any:
            call = args, kwargs
            carry = pack(values_of(carried, ctx, call, "carry"), self.carry)
            rows = values_of(gone_through, ctx, call, "xs")
            count = rows_in(gone_through, rows, ctx, self.length)
            inner = with_values(fn, carried + gone_through, ctx, call)
            ys: dict[int, Any] = {}
            for number in range(count)[:: -1 if self.reverse else 1]:
                carry, ys[number] = inner(*unpack(carry, self.carry), *row_of(rows, number))
            if ys:
                return carry, stack_outputs([ys[number] for number in range(count)], 0)
            one = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), rows)
            return carry, no_rows(jax.eval_shape(inner, *unpack(carry, self.carry), *one)[1])

        return loop
