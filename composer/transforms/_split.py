"""The global batch split over devices: `pmap` with `split: true`. Imports JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

from composer._devices import line_of_devices
from composer.plugin import ComposeError, Context, fail
from composer.transforms._axes import has_null, packed
from composer.transforms._bound_axes import refuse_devices_outside
from composer.transforms._loops import leaf_axes
from composer.transforms._outputs import describe
from composer.transforms._pmap_plain import _numbers, _signed
from composer.transforms._replicated import refuse_own_values
from composer.transforms._rows import Rows, fit_leaf, rows_of_call
from composer.transforms._sync import Plan, plan_sync, sort_leaves, synced_leaf, unsort_leaves

if TYPE_CHECKING:
    from composer.transforms.pmap import Pmap


def build_split(layer: Pmap, fn: Callable[..., Any], ctx: Context) -> Any:
    """A jitted shard_map; without the jit where a layer outside compiles anyway."""
    inner = ctx.signature.without(*ctx.static)

    def split(*args: Any, **kwargs: Any) -> Any:
        refuse_devices_outside(ctx)
        args, kwargs = inner.bind(args, kwargs)
        mesh = line_of_devices(layer.find_devices(ctx), layer.axis)
        axes, behind = layer.axes_of_call(ctx, args, kwargs)
        rows = rows_of_call(layer, ctx, (args, kwargs), (axes, behind), mesh.size)
        return _Call(layer, fn, ctx, rows).run(mesh, args, kwargs)

    named = _signed(ctx.named(ctx.noted(split)), inner)
    if ctx.compiled_outside:
        return named
    donated = _numbers(layer.donate_argnums, "donate_argnums", ctx)
    return jax.jit(named, donate_argnums=donated) if donated else jax.jit(named)


class _Call:
    """One traced call: what is split how, and how the outputs come back."""

    def __init__(self, layer: Pmap, fn: Callable[..., Any], ctx: Context, rows: Rows) -> None:
        self.layer, self.fn, self.ctx, self.rows = layer, fn, ctx, rows
        self.grouped = isinstance(layer.sync, dict | tuple)

    def run(self, mesh: jax.sharding.Mesh, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Fit the rows to the devices, map, and undo what the outputs need undone."""
        leaves, treedef = jax.tree.flatten((args, kwargs))
        fitted = [
            fit_leaf(leaf, axis, self.rows, number)
            for number, (leaf, axis) in enumerate(zip(leaves, self.rows.axes, strict=True))
        ]
        specs = [self._spec(axis) for axis in self.rows.axes]
        fit_args, fit_kwargs = jax.tree.unflatten(treedef, fitted)
        spec_args, spec_kwargs = jax.tree.unflatten(treedef, specs)
        call = (fit_args, fit_kwargs) if kwargs else fit_args

        def block(*args: Any, **kwargs: Any) -> Any:
            return self._block(*args, **kwargs)

        mapped = jax.shard_map(
            self.ctx.named(packed(block) if kwargs else block),
            mesh=mesh,
            in_specs=(spec_args, spec_kwargs) if kwargs else spec_args,
            out_specs=self._out_specs(),
            check_vma=False,
        )
        if self.layer.sync is None and has_null(self.layer.out_axes):
            refuse_own_values(mapped, call, self.ctx)
        return self._finish(mapped(*call))

    def _spec(self, axis: int | None) -> PartitionSpec:
        return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, self.layer.axis)

    def _out_specs(self) -> Any:
        if isinstance(self.layer.sync, str):
            return PartitionSpec()
        spec = jax.tree.map(
            lambda axis: self._spec(axis if axis is None or axis >= 0 else 0),
            self.layer.out_axes,
            is_leaf=lambda node: node is None,
        )
        return (PartitionSpec(), spec, PartitionSpec()) if self.grouped else spec

    def _block(self, *args: Any, **kwargs: Any) -> Any:
        """What one device does: call, collectives, and the device axis put in."""
        out = self.fn(*args, **kwargs)
        leaves, treedef = jax.tree.flatten(out)
        plans = plan_sync(self.layer.sync, out, self.ctx)
        weight = self._weight(args, kwargs)
        done = [
            self._outgoing(leaf, plan, axis, weight)
            for leaf, plan, axis in zip(leaves, plans, self._out_axes(out), strict=True)
        ]
        if self.grouped:
            return sort_leaves(done, treedef, plans)
        return jax.tree.unflatten(treedef, done)

    def _out_axes(self, out: Any) -> list[int | None]:
        # With a sync there is one axis for all that is not synced.
        if self.layer.sync is not None:
            return [self.layer.out_axes] * len(jax.tree.leaves(out))  # type: ignore[list-item]  # checked by the layer
        try:
            return leaf_axes(self.layer.out_axes, out)
        except ValueError:
            raise fail(
                ComposeError,
                "CMP209",
                f"{self.ctx.word}: out_axes do not follow the output, which is {describe(out)}",
                place=self.ctx.place,
                cure="out_axes: 0     # one place in all outputs; a list is for a tuple",
            ) from None

    def _outgoing(self, leaf: Any, plan: Plan, axis: int | None, weight: Any) -> Any:
        leaf = leaf if hasattr(leaf, "dtype") else jnp.asarray(leaf)
        if plan.word is not None:
            return synced_leaf(leaf, plan, self.layer.axis, weight, self.ctx)
        if axis is None:
            return leaf
        if self.layer.merge:
            self.rows.check_merge(leaf, plan.path, axis, self.ctx)
            return leaf if axis >= 0 else jnp.moveaxis(leaf, axis, 0)
        self.rows.check_place(leaf, plan.path, axis, self.ctx)
        return jnp.expand_dims(leaf, max(axis, 0))

    def _weight(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.layer.weights is None:
            return None
        number = self.ctx.argnum(self.layer.weights, "weights")
        mine = args[number] if number < len(args) else kwargs[self.layer.weights]
        return jnp.sum(mine)

    def _finish(self, out: Any) -> Any:
        if isinstance(self.layer.sync, str):
            return out
        if self.grouped:
            synced, rest, layout = out
            return unsort_leaves(
                synced, [self._placed(leaf, self.layer.out_axes) for leaf in rest], layout
            )
        leaves, treedef = jax.tree.flatten(out)
        pairs = zip(leaves, self._out_axes(out), strict=True)
        return jax.tree.unflatten(treedef, [self._placed(leaf, axis) for leaf, axis in pairs])

    def _placed(self, leaf: Any, axis: Any) -> Any:
        """Rows of padding cut off again, and a negative axis moved where it was asked for."""
        if axis is None:
            return leaf
        if self.layer.merge:
            leaf = self.rows.cut_padding(leaf, max(axis, 0))
        return leaf if axis >= 0 else jnp.moveaxis(leaf, 0, axis)
