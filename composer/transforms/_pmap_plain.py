"""JAX's own pmap, with keyword arguments bound and outputs synced. Imports JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

from composer._signature import Signature
from composer.plugin import ComposeError, Context, fail
from composer.transforms._axes import has_null, packed
from composer.transforms._bound_axes import refuse_devices_outside
from composer.transforms._mapped_checks import check_mapped
from composer.transforms._replicated import refuse_own_values
from composer.transforms._sync import plan_sync, sort_leaves, synced_leaf, unsort_leaves

if TYPE_CHECKING:
    from composer.transforms.pmap import Pmap


def build_plain(layer: Pmap, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
    """A callable over `jax.pmap`, with its `lower`.

    It is not JAX's object itself: that one maps keyword arguments on axis 0, whatever
    in_axes says. One pmap is kept for each number and naming of the arguments.
    """
    inner = ctx.signature.without(*ctx.static)
    body, out_axes = _with_sync(layer, fn, ctx)
    made: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def prepared(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        refuse_devices_outside(ctx)
        args, kwargs = inner.bind(args, kwargs)
        axes, behind = layer.axes_of_call(ctx, args, kwargs)
        sizes = check_mapped(ctx, args, kwargs, axes, behind)
        _check_devices(layer, ctx, sizes)
        key = _key(axes, behind)
        if key not in made:
            target = packed(body) if kwargs else body
            fresh = jax.pmap(
                ctx.named(target) if kwargs else target,
                in_axes=(axes, behind) if kwargs else axes,
                out_axes=out_axes,
                **_options(layer, ctx, packed_call=bool(kwargs)),
            )
            # make_jaxpr takes no values of JAX's own static arguments.
            if (
                layer.sync is None
                and has_null(layer.out_axes)
                and layer.static_broadcasted_argnums == ()
            ):
                refuse_own_values(fresh, (args, kwargs) if kwargs else args, ctx)
            made[key] = fresh
        return made[key], (args, kwargs) if kwargs else args

    def finish(out: Any) -> Any:
        return unsort_leaves(*out) if isinstance(layer.sync, dict | tuple) else out

    def mapped(*args: Any, **kwargs: Any) -> Any:
        target, call = prepared(args, kwargs)
        return finish(target(*call))

    def lower(*args: Any, **kwargs: Any) -> Any:
        target, call = prepared(args, kwargs)
        return target.lower(*call)

    noted = ctx.noted(mapped)
    noted.lower = lower  # type: ignore[attr-defined]  # a function may carry attributes
    return _signed(ctx.named(noted), inner)


def _check_devices(layer: Pmap, ctx: Context, sizes: dict[str, int]) -> None:
    """Refuse more entries on the device axis than there are devices, and none.

    Raises:
        ComposeError: CMP301.
    """
    have = len(layer.find_devices(ctx))
    for name, size in sizes.items():
        if size == 0:
            raise fail(
                ComposeError,
                "CMP301",
                f"{ctx.word}: {name} has size 0, so no device has anything to do",
                place=ctx.place,
                cure="at least one entry on the mapped axis",
            )
        if size > have:
            raise fail(
                ComposeError,
                "CMP301",
                f"{ctx.word}: {name} has size {size}, but there {'is' if have == 1 else 'are'}"
                f" {have} device{'s' if have != 1 else ''}: the mapped axis is the device axis",
                place=ctx.place,
                cure="split: true     # splits a batch over the devices",
            )


def _signed(fn: Callable[..., Any], sig: Signature) -> Callable[..., Any]:
    signature = sig.to_inspect()
    if signature is not None:
        fn.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect
    return fn


def _key(axes: tuple[Any, ...], behind: dict[str, Any]) -> tuple[Any, ...]:
    leaves, treedef = jax.tree.flatten((axes, behind), is_leaf=lambda node: node is None)
    return (treedef, *leaves)


def _options(layer: Pmap, ctx: Context, *, packed_call: bool) -> dict[str, Any]:
    options: dict[str, Any] = {
        "axis_name": layer.axis_name if layer.sync is None else layer.axis,
        "backend": layer.backend,
        "axis_size": layer.axis_size,
    }
    if layer.devices is not None:
        options["devices"] = list(layer.find_devices(ctx))
    if not packed_call:
        options["donate_argnums"] = _numbers(layer.donate_argnums, "donate_argnums", ctx)
        options["static_broadcasted_argnums"] = _numbers(
            layer.static_broadcasted_argnums, "static_broadcasted_argnums", ctx
        )
    return options


def _numbers(value: Any, what: str, ctx: Context) -> tuple[int, ...]:
    several = value if isinstance(value, tuple) else (value,)
    names = [ctx.resolve(item, what) for item in several]
    return tuple(
        name if isinstance(name, int) else ctx.arguments.index(name)
        for name in names
        if name not in ctx.static
    )


def _with_sync(layer: Pmap, fn: Callable[..., Any], ctx: Context) -> tuple[Callable[..., Any], Any]:
    """The mapped function with its collectives, and the out_axes that go with it."""
    if layer.sync is None:
        return fn, layer.out_axes

    def body(*args: Any, **kwargs: Any) -> Any:
        out = fn(*args, **kwargs)
        plans = plan_sync(layer.sync, out, ctx)
        leaves, treedef = jax.tree.flatten(out)
        done = [
            synced_leaf(leaf, plan, layer.axis, None, ctx)
            for leaf, plan in zip(leaves, plans, strict=True)
        ]
        if isinstance(layer.sync, str):
            return jax.tree.unflatten(treedef, done)
        return sort_leaves(done, treedef, plans)

    return ctx.named(body), None if isinstance(layer.sync, str) else (None, layer.out_axes, None)
