"""What the function of a mined stack returns. Imports nothing of composer."""

from __future__ import annotations

from typing import Any

from corpus.arguments import Arguments
from corpus.arity import LOOPS
from corpus.body import Leaf
from corpus.filling import MAPPED, MESH, Spec
from corpus.slots import DIM, Plan, Shape, Slot


def outputs_of(made: Plan, chosen: Arguments) -> Any:
    """A tree of `Leaf`: what the transforms and their options say that comes out."""
    axes = tuple(
        str(layer["axis_name"]) for layer in made.layers
        if layer.kind in MAPPED and layer.get("axis_name") is not None
    )  # fmt: skip
    arrays = [s for s in chosen.main if not s.static]
    free = [s for s in arrays if all(s is not b for b in chosen.bound_by_position())]
    loop = next((x.kind for x in made.layers if x.kind in LOOPS), None)
    like = _lead(made, free, loop)
    scalar = made.has("grad", "value_and_grad")
    leaf = Leaf(scalar, None, axes, like, linear=made.has("linear_transpose"))
    if loop == "lax.scan":
        return (leaf, leaf)
    if any(layer.get("has_aux") for layer in made.layers):
        return (leaf, Leaf(False, None, axes, like))
    return leaf if made.has("value_and_grad") else _structured(made, chosen, leaf)


def _lead(made: Plan, free: list[Slot], loop: str | None) -> str | None:
    if not free:
        return None
    if loop == "lax.fori_loop":
        return free[1].name
    if made.has("vectorize"):
        out = next(str(x["signature"]) for x in made.layers if x.kind == "vectorize")
        core = out.partition("->")[2].strip("()").split(",")
        rank = len([d for d in core if d])
        fits = [s for s in free if s.shape == Shape((DIM,) * rank)]
        return fits[-1].name if fits else free[0].name
    return free[0].name


def _structured(made: Plan, chosen: Arguments, leaf: Leaf) -> Any:
    """The outputs in the tree that out_axes, out_specs or out_shardings give."""
    for layer, live in zip(made.layers, chosen.live_below(), strict=False):
        for key in ("out_axes", "out_specs", "out_shardings"):
            value = layer.get(key)
            if key == "out_specs" and value is not None:
                return _by_spec(value, leaf)
            if isinstance(value, tuple) and not isinstance(value, Spec):
                axes = layer.get("in_axes", 0)
                return tuple(_part(item, key, leaf, axes, live) for item in value)
    return leaf


def _part(axis: Any, key: str, leaf: Leaf, axes: Any, live: list[Slot]) -> Leaf:
    if key != "out_axes" or axis is not None:
        return leaf
    per_slot = axes if isinstance(axes, tuple) else (axes,) * len(live)
    fixed = [s.name for s, a in zip(live, per_slot, strict=False) if a is None]
    return Leaf(leaf.scalar, frozenset(fixed), (), fixed[0] if fixed else None)


def _by_spec(value: Any, leaf: Leaf) -> Any:
    if isinstance(value, dict):
        return {key: _by_spec(item, leaf) for key, item in value.items()}
    if isinstance(value, tuple) and not isinstance(value, Spec):
        return tuple(_by_spec(item, leaf) for item in value)
    whole = tuple(axis for axis in MESH if axis not in value)
    return Leaf(leaf.scalar, None, (*whole, *leaf.mean_over), leaf.like)
