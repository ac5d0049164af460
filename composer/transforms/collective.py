"""`collective`: outputs combined or exchanged between rows or devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final, Literal

from composer.plugin import Context, Page, Transform
from composer.transforms._arguments import Which, several
from composer.transforms._code.paths import changed
from composer.transforms._outputs import find_path

Op = Literal[
    "pmean", "psum", "pmax", "pmin", "all_gather", "psum_scatter", "all_to_all", "ppermute"
]
Pairs = tuple[tuple[int, int], ...]

OPTIONS: Final = {
    "axis": ("all_gather",),
    "scatter_dimension": ("psum_scatter",),
    "split_axis": ("all_to_all",),
    "concat_axis": ("all_to_all",),
    "tiled": ("all_gather", "psum_scatter", "all_to_all"),
    "perm": ("ppermute",),
}
"""Which collectives take which parameter."""

NEEDED: Final = {"all_to_all": ("split_axis", "concat_axis"), "ppermute": ("perm",)}
"""Parameters without a default, as in JAX."""


class Collective(Transform, frozen=True):
    """Outputs combined or exchanged between the rows or devices of a mapped axis.

    Stands inside the vmap, pmap or shard_map that binds `axis_name`: in the file, above
    it. After a gradient it makes the gradients of all devices one: `grad`, then
    `collective: {op: pmean, axis_name: devices}`, then `pmap`. pmean takes floating
    outputs only, since integers would become floating; psum and psum_scatter take
    integers and bools only where `outputs` names them, as `sync` of pmap does.

    Source: `jax.lax.pmean` and the other functions of these names.
    """

    word: ClassVar[str] = "collective"
    shorthand: ClassVar[str | None] = "op"

    op: Annotated[Op, "What to do over the axis: a collective of jax.lax."]
    axis_name: Annotated[str | tuple[str, ...], "The axis, or several, bound further out."]
    outputs: Annotated[Which | None, "Only these outputs; null for all of them."] = None
    axis: Annotated[int, "all_gather: where the gathered axis stands."] = 0
    scatter_dimension: Annotated[int, "psum_scatter: the axis that is split."] = 0
    split_axis: Annotated[int | None, "all_to_all: the axis that is split."] = None
    concat_axis: Annotated[int | None, "all_to_all: where what is received is joined."] = None
    tiled: Annotated[bool, "Join into, or split, an existing axis instead of a new one."] = False
    perm: Annotated[Pairs | None, "ppermute: pairs of source and destination."] = None

    def check(self) -> None:
        """Parameters of this collective only, and all that it needs."""
        plain: dict[str, object] = {"axis": 0, "scatter_dimension": 0, "tiled": False}
        for field, ops in OPTIONS.items():
            if self.op not in ops and getattr(self, field) != plain.get(field):
                raise self.wrong(field, f"does not go with {self.op}; it is for {', '.join(ops)}")
        for field in NEEDED.get(self.op, ()):
            if getattr(self, field) is None:
                example = "[[0, 1], [1, 0]]" if field == "perm" else "0"
                raise self.wrong(field, f"is needed by {self.op}", cure=f"{field}: {example}")
        for side, which in (("source", 0), ("destination", 1)):
            ends = [pair[which] for pair in self.perm or ()]
            twice = sorted({end for end in ends if ends.count(end) > 1})
            if twice:
                raise self.wrong("perm", f"has the {side} {twice[0]} twice")

    def validate(self, ctx: Context) -> None:
        """Names must exist where the outputs are named."""
        for item in several(self.outputs):
            find_path(item, ctx.signature.output, ctx)

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A function that runs the collective of `jax.lax` on the outputs of `fn`."""
        from composer.transforms._collectives import over_outputs, with_lax

        def combined(*args: Any, **kwargs: Any) -> Any:
            return over_outputs(self, fn(*args, **kwargs), ctx, with_lax)

        return ctx.named(combined)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function that runs the collective on the outputs."""
        from composer.transforms._code.sync import leaf_collective, leaf_exchange

        parameters = page.parameters(ctx)
        call = page.calls(page.short(fn, f"local_{page.name}"), parameters)
        if self.op in ("pmean", "psum", "pmax", "pmin"):
            function = leaf_collective(self.op, self.axis_name, page, ctx)
        else:
            function = leaf_exchange(self, page, ctx)
        paths = [find_path(item, ctx.signature.output, ctx) for item in several(self.outputs)]
        body = [f"out = {call}"]
        if not paths and self.outputs is None:
            paths = [()]
        # One after the other, in the order in which they are written.
        alone = len({path[:1] for path in paths}) == len(paths)
        for group in [[path] for path in paths] if alone else [paths]:
            body.append(f"out = {changed(page, 'out', [(path, function) for path in group], ctx)}")
        body.append(body.pop().replace("out = ", "return ", 1) if len(body) > 1 else "return out")
        where = self.axis_name if isinstance(self.axis_name, str) else " and ".join(self.axis_name)
        doc = f"{self.op} over {where}."
        return page.glue(f"{self.op}_{page.name}", parameters, body, doc)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """Every row's output gathered, then plain arithmetic and indexing; inside the same axis."""
        from composer.transforms._collectives import by_gathering, over_outputs

        def combined(*args: Any, **kwargs: Any) -> Any:
            return over_outputs(self, fn(*args, **kwargs), ctx, by_gathering)

        return combined
