"""Placeholders of mined stacks become values. Imports nothing of composer.

What a stack was really called with is not recorded where it was a variable: `<var>`,
`<P(3)>`, `<call:tree_map>`. Here each gets one value, in a form that belongs to no
library: `Spec(("data", None))` is a partition spec, a tuple of ints are device ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from corpus.mined import Step

MESH: Final = {"data": 2, "model": 2}
"""The device mesh of every stack that needs one."""

DEVICES: Final = tuple(range(4))
"""Ids of the devices that pmap maps over."""

BATCH: Final = 4
"""The size of every axis that vmap maps over."""

DERIVATIVES: Final = ("grad", "value_and_grad", "jacfwd", "jacrev", "jacobian", "hessian")
MAPPED: Final = ("vmap", "pmap")
CHECKPOINTS: Final = ("checkpoint", "remat")


KINDS: Final[Mapping[str, str]] = {
    "eqx.filter_jit": "jit",
    "eqx.filter_vmap": "vmap",
    "eqx.filter_pmap": "pmap",
    "eqx.filter_grad": "grad",
    "eqx.filter_value_and_grad": "value_and_grad",
    "eqx.filter_custom_vjp": "custom_vjp",
    "eqx.filter_jvp": "jvp",
    "nnx.jit": "jit",
    "nnx.vmap": "vmap",
    "nnx.pmap": "pmap",
    "nnx.grad": "grad",
    "nnx.value_and_grad": "value_and_grad",
    "nnx.custom_vjp": "custom_vjp",
    "nnx.remat": "remat",
    "nnx.scan": "vmap",
}
"""Transforms of other libraries by the one of JAX that they do the work of."""


class Spec(tuple[str | None, ...]):
    """A partition spec: the mesh axis of each dimension, or None."""

    __slots__ = ()


@dataclass(frozen=True)
class Filled:
    """One transform with all its keyword arguments."""

    transform: str
    kwargs: Mapping[str, object]

    @property
    def kind(self) -> str:
        """The transform of JAX that does the same to arrays."""
        return KINDS.get(self.transform, self.transform)

    def __getitem__(self, name: str) -> object:
        return self.kwargs[name]

    def get(self, name: str, default: object = None) -> object:
        return self.kwargs.get(name, default)


def is_placeholder(value: object) -> bool:
    """Whether a value stands for one that was not recorded."""
    return isinstance(value, str) and value.startswith("<") and value.endswith(">")


def numbers(value: object) -> tuple[int, ...]:
    """One or more positions as a tuple; placeholders and None count for nothing."""
    found = value if isinstance(value, list | tuple) else (value,)
    return tuple(item for item in found if isinstance(item, int))


def names(value: object) -> tuple[str, ...]:
    """One or more names as a tuple; None counts for nothing."""
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (str(value),)


def filled(step: Step, count: int, *, context_mesh: bool = False) -> Filled:
    """The transform with a value for each placeholder.

    Args:
        step: As it was mined.
        count: How many positional arguments it is called with.
        context_mesh: Whether the mesh is that of the context, and given to nobody.
    """
    assumed: dict[str, object] = {}
    if step.transform == "shard_map":
        # What a call cannot do without, where documentation left it out.
        assumed = {"in_specs": Spec(), "out_specs": Spec(), "mesh": "the mesh"}
    if context_mesh:
        assumed.pop("mesh", None)
    return Filled(step.transform, {**assumed, **_given(step, count)})


def _given(step: Step, count: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in step.kwargs.items():
        if name != "applied" and not (name == "n_primals" and is_placeholder(value)):
            found[name] = _value(step.transform, name, value, count)
    return found


def _value(transform: str, name: str, value: object, count: int) -> object:
    if name in ("in_axes", "out_axes"):
        return _axes(name, value, count)
    if name in ("in_specs", "out_specs", "in_shardings", "out_shardings"):
        return _specs(value, () if name == "out_shardings" else ("data",))
    if name == "kw":
        return tuple("extra" if item == "**" else item for item in names(value))
    if name == "policy":
        return _policy(str(value))
    if is_placeholder(value):
        return _single(transform, name)
    if isinstance(value, list):
        return DEVICES if name == "devices" else tuple(value)
    return value


def _single(transform: str, name: str) -> object:
    known: dict[str, object] = {
        "argnums": 0,
        "static_argnums": (1,),
        "axis_name": "batch",
        "devices": DEVICES,
        "device": 0,
        "backend": "cpu",
        "mesh": "the mesh",
        "prevent_cse": False,
        "length": 3,
        "reverse": True,
        "unroll": 2,
        "signature": "(k)->(k)",
        "axis_size": BATCH,
        "has_aux": True,
        "splits": BATCH,
        "transform_metadata": {},
        "graph": True,
        "graph_updates": True,
    }
    if name not in known:
        raise LookupError(f"no value is known for {name} of {transform}")
    return known[name]


def _axes(name: str, value: object, count: int) -> object:
    if is_placeholder(value):
        mapped_first = name == "in_axes" and count > 1
        return (0,) + (None,) * (count - 1) if mapped_first else 0
    if isinstance(value, list):
        return tuple(_axes_of_one(item) for item in value)
    return value


def _axes_of_one(value: object) -> object:
    if value == "<call:tree_map>":
        return {"a": 0, "b": 0}
    return 0 if is_placeholder(value) else value


def _specs(value: object, unknown: tuple[str, ...]) -> object:
    if isinstance(value, list):
        return tuple(_specs(item, unknown) for item in value)
    if isinstance(value, dict):
        return {key: _specs(item, unknown) for key, item in value.items()}
    if value is None:
        return None
    size = re.fullmatch(r"<P\((\d)\)>", str(value))
    return _spec_of(int(size[1])) if size else Spec(unknown)


def _spec_of(size: int) -> Spec:
    """A spec of so many entries: the first dimension over `data`, the last over `model`."""
    entries = [None] * size if size else []
    return Spec(
        "data" if i == 0 else "model" if i == size - 1 else None for i in range(len(entries))
    )


def _policy(value: str) -> object:
    if value == "<call:get_pipeline_remat_policy>":
        return {"save_only_these_names": ("first", "second")}
    named = re.fullmatch(r"<(?:policy|call):(\w+)>", value)
    return named[1] if named else "dots_saveable"


def rank_needed(layers: tuple[Filled, ...]) -> int:
    """The smallest rank of arrays in which every axis and spec of the stack exists."""
    ranks = [0]
    for layer in layers:
        if layer.kind in MAPPED:
            for name in ("in_axes", "out_axes"):
                ranks += [axis for axis in leaves(layer.get(name, 0)) if isinstance(axis, int)]
        if layer.kind in ("shard_map", "jit"):
            for name in ("in_specs", "out_specs", "in_shardings", "out_shardings"):
                ranks += [len(s) for s in leaves(layer.get(name)) if isinstance(s, Spec)]
    return max(ranks)


def leaves(tree: object) -> list[object]:
    """Leaves of a tree of tuples and dicts; a spec is one leaf."""
    if isinstance(tree, dict):
        return [leaf for item in tree.values() for leaf in leaves(item)]
    if isinstance(tree, tuple) and not isinstance(tree, Spec):
        return [leaf for item in tree for leaf in leaves(item)]
    return [tree]
