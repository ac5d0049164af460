"""vmap in chunks of rows as Python text, for `composer code`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from composer.plugin import Context, Page
from composer.transforms._code.axes import fitted_axes
from composer.transforms._code.chosen import inner_def, tuple_text

if TYPE_CHECKING:
    from composer.transforms.vmap import Vmap

CHUNKED = '''
    def NAME(function, arguments, in_axes, out_axes, size, rows):
        """`jax.vmap(function, in_axes, out_axes)(*arguments)`, some rows at a time."""

        def is_none(node):
            return node is None

        def leaf_axes(axes, tree):
            whole = jax.tree.broadcast(axes, tree, is_leaf=is_none)
            return jax.tree.leaves(whole, is_leaf=is_none)

        leaves, treedef = jax.tree.flatten(arguments)
        axes = leaf_axes(in_axes, arguments)
        mapped = [number for number, axis in enumerate(axes) if axis is not None]

        def one(row):
            given = list(leaves)
            for number, value in zip(mapped, row if mapped else (), strict=True):
                given[number] = value
            return function(*treedef.unflatten(given))

        def in_front(leaf, axis):
            return leaf if axis == 0 else jnp.moveaxis(leaf, axis, 0)

        over = [in_front(leaves[number], axes[number]) for number in mapped]
        out = lax.map(one, over if mapped else jnp.arange(rows), batch_size=size)
        found, out_def = jax.tree.flatten(out)
        placed = [
            leaf[0] if axis is None else leaf if axis == 0 else jnp.moveaxis(leaf, 0, axis)
            for leaf, axis in zip(found, leaf_axes(out_axes, out), strict=True)
        ]
        return out_def.unflatten(placed)
'''


def chunked_code(layer: Vmap, fn: str, axes: Any, ctx: Context, page: Page) -> str:
    """A function that maps rows in chunks by `jax.lax.map`."""
    names, parameters = page.arguments(ctx), page.parameters(ctx)
    fn = page.short(fn, f"one_{page.name}")
    if not isinstance(axes, tuple) and not ctx.signature.open_ended:
        axes = (axes,) * len(names)
    simple = isinstance(axes, tuple) and len(axes) == len(names)
    simple = simple and all(axis is None or isinstance(axis, int) for axis in axes)
    simple = simple and isinstance(layer.out_axes, int | None) and "*args" not in parameters
    if not simple or all(axis is None for axis in axes):
        return _general(layer, fn, axes, ctx, page)
    rows = [name for name, axis in zip(names, axes, strict=True) if axis is not None]
    body = []
    for name, axis in zip(names, axes, strict=True):
        if axis not in (None, 0):
            body.append(f"{name} = {_moved(page, name, axis, 0)}")
    one, row = page.fresh("one"), page.fresh("row")
    body += inner_def(one, [(row, tuple(rows), rows)], page.calls(fn, parameters))
    made = page.call(
        f"{page.use('jax', 'lax')}.map", one, tuple_text(rows), batch_size=str(layer.chunk)
    )
    body.append(f"return {_placed(page, made, layer.out_axes)}")
    doc = f"{layer.chunk} rows at a time."
    return page.glue(f"vmap_{page.name}", parameters, body, doc)


def _moved(page: Page, tree: str, source: int, to: int) -> str:
    jnp = page.use("jax.numpy", alias="jnp")
    return f"{page.use('jax')}.tree.map(lambda leaf: {jnp}.moveaxis(leaf, {source}, {to}), {tree})"


def _placed(page: Page, tree: str, axis: object) -> str:
    if axis is None:
        return f"{page.use('jax')}.tree.map(lambda leaf: leaf[0], {tree})"
    assert isinstance(axis, int), "trees of axes go another way"
    return tree if axis == 0 else _moved(page, tree, 0, axis)


def _general(layer: Vmap, fn: str, axes: Any, ctx: Context, page: Page) -> str:
    parameters = page.parameters(ctx)
    text = CHUNKED.replace("jax.", f"{page.use('jax')}.")
    text = text.replace("lax.map", f"{page.use('jax', 'lax')}.map")
    text = text.replace("jnp.", f"{page.use('jax.numpy', alias='jnp')}.")
    shown = fitted_axes(axes, ctx, page) or page.literal(axes, ctx, "in_axes")
    given = ", ".join(parameters)
    made = page.call(
        page.helper("in_chunks", text),
        fn,
        f"({given},)" if len(parameters) == 1 else f"({given})",
        shown,
        page.literal(layer.out_axes, ctx, "out_axes"),
        str(layer.chunk),
        str(layer.axis_size),
    )
    doc = f"{layer.chunk} rows at a time."
    return page.glue(f"vmap_{page.name}", parameters, [f"return {made}"], doc)
