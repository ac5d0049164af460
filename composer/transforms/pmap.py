"""`pmap`: the same function on every device, each with its part of the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from composer.plugin import Context, Diagnostic, Page, ParameterError, Transform
from composer.transforms._axes import Axes, axes_for_call, check_axes, something_mapped
from composer.transforms._derivative import Argnums
from composer.transforms._sync import check_sync, flatten_sync

if TYPE_CHECKING:
    import jax


class Pmap(Transform, frozen=True):
    """The same function on every device, each with its part of the batch.

    By default JAX's own `jax.pmap`: the leading axis of every mapped argument is the
    device axis. With `split: true` the arguments are the global batch: each mapped axis
    is split over the devices (32 rows on 4 devices: 8 each), and outputs come back with
    the device axis first, or joined into the batch axis again with `merge: true`.
    `sync` runs a collective on the outputs inside; synced outputs come back once, not
    stacked. `remainder: pad` repeats the last row with weight 0 and needs `weights`:
    then pmean means psum(w * v) / psum(w).

    Source: `jax.pmap`; `split` builds on `jax.jit(jax.shard_map(..., check_vma=False))`.
    """

    word: ClassVar[str] = "pmap"

    axis_name: Annotated[str | None, "A name for collectives inside."] = None
    in_axes: Annotated[Axes, "The mapped axis of each argument: a number, a list, or by name."] = 0
    out_axes: Annotated[Axes, "Where the device axis stands in the outputs; null: once."] = 0
    static_broadcasted_argnums: Annotated[Argnums, "Arguments that are constants."] = ()
    devices: Annotated[object, "The devices, by id (or as objects in Python)."] = None
    backend: Annotated[str | None, "The backend whose devices are used, such as cpu."] = None
    axis_size: Annotated[int | None, "The number of devices, where not all are meant."] = None
    donate_argnums: Annotated[Argnums, "Arguments whose memory the call may reuse."] = ()
    split: Annotated[bool, "Whether arguments are the global batch, to be split here."] = False
    merge: Annotated[bool, "Join the device axis back into the batch axis."] = False
    sync: Annotated[
        object, "pmean, psum, pmax, pmin, same, device0, null, or a tree of these by output."
    ] = None
    remainder: Annotated[
        Literal["error", "pad", "drop"], "What to do with rows that do not divide."
    ] = "error"
    weights: Annotated[str | None, "The argument that holds the weight of each row."] = None

    def check(self) -> None:
        """Axes, sync words, and options that need each other."""
        check_axes(self, "in_axes", self.in_axes)
        check_axes(self, "out_axes", self.out_axes)
        check_sync(self, self.sync)
        if self.axis_size is not None and self.axis_size < 1:
            raise self.wrong("axis_size", f"is {self.axis_size}; it is at least 1")
        for field, default in (("merge", False), ("remainder", "error"), ("weights", None)):
            if not self.split and getattr(self, field) != default:
                raise self._excluded(field, "needs split: true", "split: true")
        if self.split and self.static_broadcasted_argnums != ():
            raise self._excluded(
                "static_broadcasted_argnums",
                "is for pmap without split",
                "static: [NAME]     # at the top level of the pipeline, or compose(static=...)",
            )
        if self.remainder == "pad" and self.weights is None:
            raise self._excluded(
                "remainder",
                "pad needs weights: the argument that says how much each row counts",
                "weights: NAME     # an argument with one weight a row, 1 where all count",
            )
        if self.sync is not None and isinstance(self.out_axes, dict | tuple):
            raise self._excluded("out_axes", "is one number where sync is given", "out_axes: 0")

    def _excluded(self, field: str, message: str, cure: str) -> ParameterError:
        text = f"pmap: {field} {message}"
        return ParameterError(field, Diagnostic("CMP307", text, None, (), cure))

    def validate(self, ctx: Context) -> None:
        """Resolve argument and output names."""
        if isinstance(self.in_axes, dict):
            ctx.by_argument(self.in_axes, "in_axes")
            something_mapped(self.in_axes.values(), ctx)
        elif isinstance(self.in_axes, tuple):
            ctx.by_position(self.in_axes, "in_axes", 0)
        for what in ("donate_argnums", "static_broadcasted_argnums"):
            value = getattr(self, what)
            for item in value if isinstance(value, tuple) else (value,):
                name = ctx.resolve(item, what)
                if name not in ctx.static:
                    ctx.argnum(item, what)
        if self.weights is not None:
            ctx.argnum(self.weights, "weights")
        list(flatten_sync(self.sync, ctx.signature.output, ctx))

    def binds_axes(self) -> tuple[str, ...]:
        """The axis name, if there is one."""
        return () if self.axis_name is None else (self.axis_name,)

    def compiles(self) -> bool:
        """Always: JAX's pmap, or a jitted shard_map."""
        return True

    def build(self, fn: Callable[..., Any], ctx: Context) -> Any:
        """`jax.pmap(fn, ...)`, or with `split` a jitted shard_map over the devices."""
        if self.split:
            from composer.transforms._split import build_split

            return build_split(self, fn, ctx)
        from composer.transforms._pmap_plain import build_plain

        return build_plain(self, fn, ctx)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """`jax.pmap(fn, ...)`, or a jitted shard_map with all that `split` does written out."""
        if self.split:
            from composer.transforms._code.split import split_code

            return split_code(self, fn, ctx, page)
        from composer.transforms._code.pmap import plain_code

        return plain_code(self, fn, ctx, page)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`vmap` with an axis name on one device, then the sync by NumPy."""
        from composer.transforms._pmap_reference import build_reference

        return build_reference(self, fn, ctx)

    @property
    def axis(self) -> str:
        """The name that collectives use; one of ours where the user needs none."""
        return self.axis_name or "devices"

    def find_devices(self, ctx: Context) -> Sequence[jax.Device]:
        """The devices to map over.

        Raises:
            SetupError: CMP090, fewer devices than `axis_size`, or no device of an id.
        """
        from composer._devices import devices_by_id, first_devices

        if self.devices is not None:
            return devices_by_id(self.devices, ctx.word, ctx.place)
        import jax

        have = jax.devices(self.backend)
        if self.axis_size is None:
            return have
        return first_devices(self.axis_size, ctx.word, ctx.place, have)

    def axes_of_call(
        self, ctx: Context, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """One entry of axes for each positional and each keyword argument of a call.

        Raises:
            ComposeError: CMP206, nothing is mapped; CMP209, a list that does not fit.
        """
        axes, behind = axes_for_call(self.in_axes, ctx, args, kwargs)
        each = axes if isinstance(axes, tuple) else (axes,) * len(args)
        constant = self.constants(ctx)
        whole = tuple(None if i in constant else entry for i, entry in enumerate(each))
        something_mapped([*whole, *behind.values()], ctx, written=self.in_axes)
        return whole, behind

    def constants(self, ctx: Context) -> frozenset[int]:
        """Positions of the arguments that are constants by `static_broadcasted_argnums`."""
        value = self.static_broadcasted_argnums
        found = [
            ctx.resolve(item, "static_broadcasted_argnums")
            for item in (value if isinstance(value, tuple) else (value,))
        ]
        return frozenset(
            name if isinstance(name, int) else ctx.arguments.index(name)
            for name in found
            if name not in ctx.static
        )
