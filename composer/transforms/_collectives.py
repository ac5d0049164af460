"""Collectives on the leaves of outputs, and the same by gathering and indexing. Imports JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import jax
import jax.numpy as jnp
from jax import lax

from composer.plugin import ComposeError, Context, fail
from composer.transforms._arguments import several
from composer.transforms._bound_axes import bound_size
from composer.transforms._keys import is_key
from composer.transforms._outputs import find_path, leaf_numbers, leaves_with_paths
from composer.transforms._sync import Plan, summand, synced_leaf

if TYPE_CHECKING:
    from composer.transforms.collective import Collective

Apply = Callable[["Collective", Any, Plan, int, Context], Any]
COMBINE: Final[Mapping[str, Callable[..., Any]]] = {
    "pmean": jnp.mean,
    "psum": jnp.sum,
    "pmax": jnp.max,
    "pmin": jnp.min,
}


def over_outputs(layer: Collective, out: Any, ctx: Context, apply: Apply) -> Any:
    """The outputs with the collective run on the chosen leaves.

    Raises:
        ComposeError: CMP112 unbound axis, CMP207 no such output, CMP303 a sum of what is
            no floating number, CMP308 a shape or permutation that does not fit the axis.
    """
    size = bound_size(layer.axis_name, ctx)
    _check_perm(layer, size, ctx)
    leaves, treedef = jax.tree.flatten(out)
    paths = [path for path, _ in leaves_with_paths(out)]
    asked = [find_path(item, ctx.signature.output, ctx) for item in several(layer.outputs)]
    if not asked and layer.outputs is None:
        asked = [()]
    chosen: dict[int, bool] = {}
    for path in asked:
        for number in leaf_numbers(out, path, ctx):
            chosen[number] = chosen.get(number, False) or len(path) == len(paths[number])
    done = list(leaves)
    for number, explicit in chosen.items():
        leaf, plan = leaves[number], Plan(paths[number], layer.op, explicit)
        leaf = leaf if hasattr(leaf, "dtype") else jnp.asarray(leaf)
        _check_shape(layer, leaf, plan, size, ctx)
        done[number] = apply(layer, leaf, plan, size, ctx)
    return jax.tree.unflatten(treedef, done)


def with_lax(layer: Collective, leaf: Any, plan: Plan, size: int, ctx: Context) -> Any:
    """One leaf through the function of `jax.lax`."""
    if layer.op in COMBINE:
        return synced_leaf(leaf, plan, layer.axis_name, None, ctx)
    if layer.op == "psum_scatter":
        return lax.psum_scatter(
            summand(leaf, plan, ctx),
            layer.axis_name,
            scatter_dimension=layer.scatter_dimension % leaf.ndim,
            tiled=layer.tiled,
        )
    return _moved(leaf, lambda data: _move(layer, data, leaf.ndim))


def _move(layer: Collective, data: Any, rank: int) -> Any:
    """What only moves: axes are those of the leaf, whose key data has one axis more."""
    name, tiled = layer.axis_name, layer.tiled
    if layer.op == "all_gather":
        return lax.all_gather(data, name, axis=_gather_axis(layer, rank), tiled=tiled)
    if layer.op == "all_to_all":
        split, concat = _exchange_axes(layer, rank)
        return lax.all_to_all(data, name, split, concat, tiled=tiled)
    assert layer.perm is not None, "checked when the layer was made"
    return lax.ppermute(data, name, layer.perm)


def _gather_axis(layer: Collective, rank: int) -> int:
    return layer.axis % (rank if layer.tiled else rank + 1)


def _exchange_axes(layer: Collective, rank: int) -> tuple[int, int]:
    assert layer.split_axis is not None, "checked when the layer was made"
    assert layer.concat_axis is not None, "checked when the layer was made"
    return layer.split_axis % rank, layer.concat_axis % rank


def _moved(leaf: Any, move: Callable[[Any], Any]) -> Any:
    """Keys travel as their data."""
    if not is_key(leaf):
        return move(leaf)
    return jax.random.wrap_key_data(move(jax.random.key_data(leaf)), impl=jax.random.key_impl(leaf))


def by_gathering(layer: Collective, leaf: Any, plan: Plan, size: int, ctx: Context) -> Any:
    """One leaf from every row's leaf, by arithmetic and indexing."""
    if layer.op in (*COMBINE, "psum_scatter"):
        summed = summand(leaf, plan, ctx) if layer.op not in ("pmax", "pmin") else leaf
        if layer.op == "psum_scatter":
            total = jnp.sum(_gathered(layer, summed, size), axis=0)
            return _own_part(layer, total, layer.scatter_dimension % leaf.ndim, size)
        return COMBINE[layer.op](_gathered(layer, summed, size), axis=0)
    return _moved(leaf, lambda data: _rearranged(layer, data, leaf.ndim, size))


def _gathered(layer: Collective, data: Any, size: int) -> Any:
    """[size, ...]: the leaf of every row, in the order of the axis, on every row."""
    names = layer.axis_name if isinstance(layer.axis_name, tuple) else (layer.axis_name,)
    if layer.op == "all_gather":
        mine = jnp.arange(size) == lax.axis_index(layer.axis_name)
        mine = jnp.expand_dims(mine, tuple(range(1, data.ndim + 1)))
        placed = jnp.where(mine, data[None], jnp.zeros_like(data))
        counts = placed.astype(jnp.int32) if placed.dtype == jnp.bool_ else placed
        return lax.psum(counts, layer.axis_name).astype(data.dtype)
    shape = data.shape
    for name in reversed(names):
        data = lax.all_gather(data, name)
    return data.reshape(size, *shape)


def _own_part(layer: Collective, data: Any, axis: int, size: int) -> Any:
    """This row's share of an axis."""
    index = lax.axis_index(layer.axis_name)
    if not layer.tiled:
        return jnp.take(data, index, axis=axis)
    return jnp.stack(jnp.split(data, size, axis=axis))[index]


def _rearranged(layer: Collective, data: Any, rank: int, size: int) -> Any:
    every = _gathered(layer, data, size)
    if layer.op == "all_gather":
        axis = _gather_axis(layer, rank)
        return jnp.concatenate(list(every), axis) if layer.tiled else jnp.moveaxis(every, 0, axis)
    if layer.op == "all_to_all":
        split, concat = _exchange_axes(layer, rank)
        parts = [_own_part(layer, one, split, size) for one in every]
        return jnp.concatenate(parts, concat) if layer.tiled else jnp.stack(parts, concat)
    received = jnp.zeros_like(data)
    for source, destination in layer.perm or ():
        here = lax.axis_index(layer.axis_name) == destination
        received = jnp.where(here, every[source], received)
    return received


def _check_perm(layer: Collective, size: int, ctx: Context) -> None:
    for pair in layer.perm or ():
        for end in pair:
            if not 0 <= end < size:
                problem = f"perm names {end}, but the axis has {size} (0 to {size - 1})"
                raise _refused(layer, problem, None, ctx)


def _check_shape(layer: Collective, leaf: Any, plan: Plan, size: int, ctx: Context) -> None:
    """Axes must exist, and what is split must divide."""
    if layer.op in COMBINE or layer.op == "ppermute":
        return
    if layer.op == "all_gather":
        _axis(layer, "axis", leaf, plan, 0 if layer.tiled else 1, ctx)
        return
    field = "scatter_dimension" if layer.op == "psum_scatter" else "split_axis"
    _axis(layer, field, leaf, plan, 0, ctx)
    if layer.op == "all_to_all":
        _axis(layer, "concat_axis", leaf, plan, 0, ctx)
    rows = leaf.shape[getattr(layer, field)]
    if rows % size if layer.tiled else rows != size:
        wants = f"divides by the axis of {size}" if layer.tiled else f"is the axis's {size}"
        problem = f"{_name(plan)} is {_kind(leaf)}, whose {field} must have a size that {wants}"
        cure = "tiled: true     # several rows each" if rows % size == 0 and rows else None
        raise _refused(layer, problem, cure, ctx)


def _axis(layer: Collective, field: str, leaf: Any, plan: Plan, more: int, ctx: Context) -> None:
    rank = leaf.ndim + more
    if not -rank <= getattr(layer, field) < rank:
        problem = f"{_name(plan)} is {_kind(leaf)}, which has no {field} {getattr(layer, field)}"
        raise _refused(layer, problem, None, ctx)


def _name(plan: Plan) -> str:
    return f"output {'.'.join(map(str, plan.path))!r}" if plan.path else "the output"


def _kind(leaf: Any) -> str:
    return f"{leaf.dtype}[{', '.join(map(str, leaf.shape))}]"


def _refused(layer: Collective, problem: str, cure: str | None, ctx: Context) -> Exception:
    message = f"collective: {layer.op}: {problem}"
    return fail(ComposeError, "CMP308", message, place=ctx.place, cure=cure)
