"""`shard_map`: the same function on every part of arguments laid out over a mesh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import ComposeError, Context, Page, Transform, fail
from composer.transforms._axes import packed
from composer.transforms._code.shardings import mesh_name
from composer.transforms._specs import (
    axis_names,
    check_specs,
    is_one_spec,
    output_specs,
    spec_tree,
    to_spec,
)


class ShardMap(Transform, frozen=True):
    """The same function on every part of arguments laid out over a mesh, as `jax.shard_map`.

    A spec is a list with a mesh axis (or null) for each dimension: `[data]` splits
    dimension 0. Specs go by position or by argument name; in a mapping by name an
    unlisted argument is whole on every device. The mesh is the pipeline's `mesh:`.
    Without a jit outside, the layer is jitted here: eager shard_map takes a second a call.
    `check_vma` is True as in JAX; gradients of replicated arguments inside are then
    already summed over the devices.

    Source: `jax.shard_map`.
    """

    word: ClassVar[str] = "shard_map"

    out_specs: Annotated[object, "How the outputs are put together: one spec, a list, or by name."]
    in_specs: Annotated[object, "How the arguments are split: one spec, a list, or by name."] = None
    mesh: Annotated[object, "Another mesh than the pipeline's: sizes by axis name."] = None
    axis_names: Annotated[
        str | tuple[str, ...], "Mesh axes that are manual; none: all of them."
    ] = ()
    check_vma: Annotated[bool, "Whether JAX proves that unsplit outputs are replicated."] = True

    def check(self) -> None:
        """Specs are lists of axis names."""
        check_specs(self, "in_specs", self.in_specs)
        check_specs(self, "out_specs", self.out_specs)
        if isinstance(self.mesh, dict):
            for name, size in self.mesh.items():
                if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                    raise self.wrong("mesh", f"has axis {name!r} of size {size!r}")

    def stack_key(self) -> object:
        """The order of the mesh's axes counts too: it says which device stands where."""
        return (super().stack_key(), tuple(self.mesh) if isinstance(self.mesh, dict) else None)

    def validate(self, ctx: Context) -> None:
        """Resolve argument names and mesh axes."""
        if isinstance(self.in_specs, dict):
            ctx.by_argument(self.in_specs, "in_specs")
        used = axis_names((self.in_specs, self.out_specs, self.axis_names))
        self._where(ctx).check_mesh_axes(used)

    def binds_axes(self) -> tuple[str, ...]:
        """The axes that specs or `axis_names` mention, or that its own mesh has."""
        own = tuple(self.mesh) if isinstance(self.mesh, dict) else ()
        used = axis_names((self.in_specs, self.out_specs, self.axis_names))
        return tuple(dict.fromkeys((*own, *sorted(used))))

    def compiles(self) -> bool:
        """Always: without a jit outside, it is jitted here."""
        return True

    def build(self, fn: Callable[..., Any], ctx: Context) -> Any:
        """`jax.shard_map(fn, ...)`, jitted unless a layer outside compiles."""
        import jax

        from composer.transforms._bound_axes import refuse_devices_outside
        from composer.transforms._spec_fit import check_fit, given_with_specs

        inner = ctx.signature.without(*ctx.static)
        where = self._where(ctx)

        def sharded(*args: Any, **kwargs: Any) -> Any:
            refuse_devices_outside(ctx)
            args, kwargs = inner.bind(args, kwargs)
            specs, behind = self.specs_of_call(ctx, args, kwargs)
            mesh = where.device_mesh()
            check_fit(given_with_specs(ctx, args, kwargs, specs, behind), mesh.shape, ctx)
            options: dict[str, Any] = {
                "mesh": mesh,
                "out_specs": output_specs(self.out_specs, ctx.signature.output),
                "check_vma": self.check_vma,
            }
            if self.axis_names:
                several = (
                    self.axis_names if isinstance(self.axis_names, tuple) else (self.axis_names,)
                )
                options["axis_names"] = set(several)
            if not kwargs:
                if specs is not None:
                    options["in_specs"] = specs
                return jax.shard_map(fn, **options)(*args)
            both = (specs if isinstance(specs, tuple) else (specs,) * len(args), behind)
            return jax.shard_map(packed(fn), in_specs=both, **options)(args, kwargs)

        noted = ctx.named(ctx.noted(sharded))
        signature = inner.to_inspect()
        if signature is not None:
            noted.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect
        if ctx.compiled_outside:
            return noted
        jitted = jax.jit(noted, inline=_while_tracing())
        return jitted if ctx.outermost else ctx.named(_eager_only(jitted, noted))

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """`jax.shard_map(fn, ...)`, jitted unless a layer outside compiles."""
        placed, behind = page.split_arguments(ctx)
        count = len(placed)
        if ctx.signature.open_ended and isinstance(self.in_specs, tuple):
            count = max(count, len(self.in_specs) - len(ctx.static))
        unmapped = dict.fromkeys(sorted(behind))
        if self.in_specs is None:
            specs = None
        else:
            first, later = self.specs_of_call(ctx, (None,) * count, unmapped)
            specs = (*first, *later.values())
        where = self._where(ctx)
        several = self.axis_names if isinstance(self.axis_names, tuple) else (self.axis_names,)
        names = page.literal(frozenset(several), ctx, "axis_names") if self.axis_names else None
        jax = page.use("jax")
        made = page.call(
            f"{jax}.shard_map",
            fn,
            mesh=mesh_name(where, page),
            in_specs=None if specs is None else page.literal(specs, ctx, "in_specs"),
            out_specs=page.literal(
                output_specs(self.out_specs, ctx.signature.output), ctx, "out_specs"
            ),
            axis_names=names,
            check_vma=None if self.check_vma else "False",
        )
        if ctx.compiled_outside:
            return made
        inline = "True" if _while_tracing() is True else f"{jax}.Inline.JAX_EARLY"
        return f"{jax}.jit({page.short(made, f'sharded_{page.name}')}, inline={inline})"

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """Blocks cut by NumPy, `vmap` with the axis names on one device, put together again."""
        from composer.transforms._shard_reference import build_reference

        return build_reference(self, fn, self._where(ctx))

    def specs_of_call(
        self, ctx: Context, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Specs of this call's positional arguments, and those of its keyword arguments.

        Raises:
            ComposeError: CMP209, fewer or more specs than arguments.
        """
        empty = to_spec(())
        value = self.in_specs
        if isinstance(value, dict):
            by_name = {name: spec_tree(spec) for name, spec in value.items()}
            found = tuple(by_name.get(name, empty) for name in ctx.arguments[: len(args)])
            more = (empty,) * (len(args) - len(found))
            return (*found, *more), {name: by_name.get(name, empty) for name in kwargs}
        if is_one_spec(value):
            spec = to_spec(value)  # type: ignore[arg-type]  # a tuple, seen above
            return (spec,) * len(args), dict.fromkeys(kwargs, spec)
        if isinstance(value, tuple):
            whole = ctx.by_position(value, "in_specs", len(args))
            full = dict(zip(ctx.signature.positional, value, strict=False))
            return tuple(spec_tree(item) for item in whole), {
                name: spec_tree(full.get(name, ())) for name in kwargs
            }
        if value is None and kwargs:
            raise fail(
                ComposeError,
                "CMP204",
                "shard_map: without in_specs, arguments must be passed by position",
                place=ctx.place,
                cure="in_specs: {x: [data]}",
            )
        return value, dict.fromkeys(kwargs, value)

    def _where(self, ctx: Context) -> Context:
        if self.mesh is None:
            return ctx
        from dataclasses import replace

        mesh: Any = self.mesh
        return replace(ctx, mesh=mesh)


def _eager_only(jitted: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """Jitted for arrays; as it is where a layer outside traces it, whose program it then joins."""
    import jax

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves = jax.tree.leaves((args, kwargs))
        traced = any(isinstance(leaf, jax.core.Tracer) for leaf in leaves)
        return (plain if traced else jitted)(*args, **kwargs)

    return call


def _while_tracing() -> Any:
    """`inline` for a jit that leaves no trace of its own in a program around it.

    jax 0.12 says by an enum when to inline, and takes True for later than tracing.
    """
    import jax

    policies = getattr(jax, "Inline", None)
    return True if policies is None else policies.JAX_EARLY
