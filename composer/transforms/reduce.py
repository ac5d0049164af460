"""`reduce`: the mean or the sum of outputs over an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from composer.plugin import ComposeError, Context, Page, Transform, fail
from composer.transforms._code.paths import changed, in_leaf_order
from composer.transforms._outputs import Path, find_path, leaves_with_paths

Axis = int | tuple[int, ...] | None
Which = int | str | tuple[int | str, ...]


class Reduce(Transform, frozen=True):
    """The mean or the sum of outputs over an axis, by default the batch axis 0.

    `- reduce: mean` between vmap and pmap turns per-example gradients into the batch's;
    between vmap and grad it makes the scalar that grad needs. The dtype stays that of
    the output: a mean of integers is refused, their sum is not.

    Source: `jax.numpy.mean`, `jax.numpy.sum`.
    """

    word: ClassVar[str] = "reduce"
    shorthand: ClassVar[str | None] = "op"

    op: Annotated[Literal["mean", "sum"], "What to do over the axis."]
    axis: Annotated[Axis, "The axis or axes; null for all of them."] = 0
    outputs: Annotated[Which | None, "Only these outputs; null for all of them."] = None

    def validate(self, ctx: Context) -> None:
        """Names must exist where the outputs are named."""
        for item in self._which():
            find_path(item, ctx.signature.output, ctx)

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A function that reduces the outputs of `fn`."""

        def reduced(*args: Any, **kwargs: Any) -> Any:
            import jax
            import jax.numpy as jnp

            apply = jnp.mean if self.op == "mean" else jnp.sum
            return self._over_leaves(fn(*args, **kwargs), ctx, apply, jax.tree)

        return ctx.named(reduced)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function that maps `jnp.mean` or `jnp.sum` over the outputs."""
        parameters = page.parameters(ctx)
        call = page.calls(page.short(fn, f"each_{page.name}"), parameters)
        jnp = page.use("jax.numpy", alias="jnp")
        axis = "" if self.axis is None else f", axis={page.literal(self.axis, ctx, 'axis')}"
        change = f"lambda leaf: {jnp}.{self.op}(leaf{axis})" if axis else f"{jnp}.{self.op}"
        paths = in_leaf_order(find_path(item, ctx.signature.output, ctx) for item in self._which())
        if paths:
            text = f'''
                def NAME(leaf):
                    """The {self.op} of one output."""
                    return {jnp}.{self.op}(leaf{axis})
            '''
            change = page.helper(f"{self.op}_of_leaf", text)
        done = changed(page, "out", [(path, change) for path in paths or [()]], ctx)
        where = "all axes" if self.axis is None else f"axis {self.axis}"
        return page.glue(
            f"{self.op}_{page.name}",
            parameters,
            [f"out = {call}", f"return {done}"],
            f"The {self.op} over {where} of {'some' if paths else 'all'} outputs.",
        )

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """The same by NumPy in float64."""

        def reduced(*args: Any, **kwargs: Any) -> Any:
            import jax
            import numpy as np

            def apply(leaf: Any, axis: Axis) -> Any:
                kind = np.int64 if np.asarray(leaf).dtype.kind in "biu" else np.float64
                total = np.asarray(leaf).astype(kind).sum(axis=axis)
                return total / (np.size(leaf) / total.size) if self.op == "mean" else total

            return self._over_leaves(fn(*args, **kwargs), ctx, apply, jax.tree)

        return reduced

    def _which(self) -> tuple[int | str, ...]:
        if self.outputs is None:
            return ()
        return self.outputs if isinstance(self.outputs, tuple) else (self.outputs,)

    def _over_leaves(self, out: Any, ctx: Context, apply: Callable[..., Any], tree: Any) -> Any:
        paths = [find_path(item, ctx.signature.output, ctx) for item in self._which()]
        found = list(leaves_with_paths(out))
        for path in paths:
            if not any(_inside(leaf_path, path) for leaf_path, _ in found):
                self._refuse(ctx, f"there is no output {'.'.join(map(str, path))!r}", None)
        reduced = []
        for path, leaf in found:
            chosen = not paths or any(_inside(path, wanted) for wanted in paths)
            if chosen:
                self._check_leaf(path, leaf, ctx)
            reduced.append(apply(leaf, axis=self.axis) if chosen else leaf)
        return tree.unflatten(tree.structure(out), reduced)

    def _check_leaf(self, path: Path, leaf: Any, ctx: Context) -> None:
        import jax.numpy as jnp

        name = f"output {'.'.join(map(str, path))!r}" if path else "the output"
        shown = f"{jnp.result_type(leaf)}{list(jnp.shape(leaf))}"
        rank = len(jnp.shape(leaf))
        for axis in (
            () if self.axis is None else self.axis if isinstance(self.axis, tuple) else (self.axis,)
        ):
            if not -rank <= axis < rank:
                self._refuse(
                    ctx,
                    f"{name} is {shown}, which has no axis {axis}",
                    "reduce inside the layer that adds the axis, or name the `outputs:` with it",
                )
        if self.op == "mean" and not jnp.issubdtype(jnp.result_type(leaf), jnp.inexact):
            self._refuse(
                ctx,
                f"{name} is {shown}; a mean would turn it into a floating number",
                "reduce: {op: sum, outputs: ...}, or name only floating `outputs:`",
            )

    def _refuse(self, ctx: Context, message: str, cure: str | None) -> None:
        raise fail(ComposeError, "CMP209", f"reduce: {message}", place=ctx.place, cure=cure)


def _inside(path: Path, wanted: Path) -> bool:
    return tuple(map(str, path[: len(wanted)])) == tuple(map(str, wanted))
