"""shard_map made slow and obvious: one device, `vmap` with the mesh's axis names.

Imports JAX. Blocks are cut and put together by NumPy.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.sharding import PartitionSpec

from composer.plugin import Context
from composer.transforms._axes import packed
from composer.transforms._specs import output_specs

if TYPE_CHECKING:
    from composer.transforms.shard_map import ShardMap

Sizes = dict[str, int]


def build_reference(layer: ShardMap, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
    """A callable of the same arguments and outputs as the shard_map."""

    def run(*args: Any, **kwargs: Any) -> Any:
        sizes = _sizes(ctx)
        specs, behind = layer.specs_of_call(ctx, args, kwargs)
        both = (specs if isinstance(specs, tuple) else (specs,) * len(args), behind)
        leaves, treedef = jax.tree.flatten((args, kwargs))
        blocks = [
            _blocks(leaf, spec, sizes)
            for leaf, spec in zip(leaves, _by_leaf(both, (args, kwargs)), strict=True)
        ]
        mapped: Callable[..., Any] = packed(fn)
        for name in reversed(sizes):
            mapped = jax.vmap(mapped, in_axes=(0, 0), axis_name=name)
        out = mapped(*jax.tree.unflatten(treedef, blocks))
        out_specs = _by_leaf(output_specs(layer.out_specs, ctx.signature.output), out)
        whole = [
            _whole(np.asarray(leaf), spec, sizes)
            for leaf, spec in zip(jax.tree.leaves(out), out_specs, strict=True)
        ]
        return jax.tree.unflatten(jax.tree.structure(out), whole)

    return run


def _sizes(ctx: Context) -> Sizes:
    """Sizes of the mesh by axis name."""
    return dict(ctx.device_mesh().shape)


def _by_leaf(specs: Any, tree: Any) -> list[PartitionSpec]:
    is_spec = lambda node: isinstance(node, PartitionSpec)  # noqa: E731  # a name for one expression
    return list(jax.tree.leaves(jax.tree.broadcast(specs, tree, is_leaf=is_spec), is_leaf=is_spec))


def _names(entry: Any) -> tuple[str, ...]:
    if entry is None:
        return ()
    return (entry,) if isinstance(entry, str) else tuple(entry)


def _slices(
    spec: PartitionSpec, shape: Sequence[int], at: dict[str, int], sizes: Sizes
) -> tuple[slice, ...]:
    """The block of an array of this shape that the device at these mesh coordinates has."""
    found = [slice(None)] * len(shape)
    for dim, entry in enumerate(spec):
        index, parts = 0, 1
        for name in _names(entry):
            index, parts = index * sizes[name] + at[name], parts * sizes[name]
        step = shape[dim] // parts
        found[dim] = slice(index * step, (index + 1) * step)
    return tuple(found)


def _blocks(leaf: Any, spec: PartitionSpec, sizes: Sizes) -> Any:
    """[mesh axes..., block...]: every device's part."""
    whole = np.asarray(leaf)
    parts = []
    for coordinates in itertools.product(*(range(size) for size in sizes.values())):
        at = dict(zip(sizes, coordinates, strict=True))
        parts.append(whole[_slices(spec, whole.shape, at, sizes)])
    stacked = np.stack(parts)
    return stacked.reshape(*sizes.values(), *stacked.shape[1:])


def _whole(blocks: Any, spec: PartitionSpec, sizes: Sizes) -> Any:
    """The output put together from every device's part; unsplit axes take the first device."""
    rank = blocks.ndim - len(sizes)
    shape = list(blocks.shape[len(sizes) :])
    for dim, entry in enumerate(spec):
        for name in _names(entry):
            shape[dim] *= sizes[name]
    whole = np.empty(shape, blocks.dtype)
    for coordinates in itertools.product(*(range(size) for size in sizes.values())):
        at = dict(zip(sizes, coordinates, strict=True))
        used = {name for entry in spec for name in _names(entry)}
        if all(at[name] == 0 for name in sizes if name not in used):
            whole[_slices(spec, shape, at, sizes)] = blocks[coordinates]
    assert rank == whole.ndim
    return whole
