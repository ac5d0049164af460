"""What a mined stack is tried on: a function that fits it, its arguments, and how it is called.

Imports nothing of composer: the hand-nested call and the composed one are both made of
the same plan, each in its own way.
"""

from __future__ import annotations

import types
from typing import Any

from corpus.arguments import Arguments
from corpus.arity import binds_self, count_arguments
from corpus.body import make_function
from corpus.filling import BATCH, MAPPED, Filled, Spec, filled, names
from corpus.mined import Entry
from corpus.outputs import outputs_of
from corpus.slots import DEVICES, Plan, Slot, bound_value, grown, setting, spread


def plan(entry: Entry) -> Plan:
    """Choose a function and arguments for a stack."""
    made = Plan(entry)
    count = count_arguments(entry)
    context_mesh = entry.hint.mesh_from_context
    made.layers = tuple(filled(step, count, context_mesh=context_mesh) for step in entry.steps)
    if binds_self(entry):
        made.layers = (made.layers[0], Filled("method", {}), *made.layers[1:])
    chosen = Arguments(made, count)
    chosen.choose()
    static = frozenset(slot.name for slot in made.slots if slot.static)
    function = make_function(chosen.parameters(), outputs_of(made, chosen), static)
    made.function = types.MethodType(function, object()) if chosen.is_method() else function
    _Call(made, count).make()
    return made


class _Call:
    """The outermost call: from the innermost arguments outwards, layer by layer."""

    def __init__(self, made: Plan, count: int) -> None:
        self.plan, self.layers = made, made.layers
        self.main, self.others = made.slots[:count], made.slots[count:]

    def make(self) -> None:
        """Give partial its values, and find the shapes of the outermost arguments."""
        layers = []
        for layer in self.layers:
            live = [s for s in self.main if not s.bound]
            self.plan.live.append(tuple(s.name for s in live))
            if layer.kind == "partial":
                layer = self._bind(layer, live)
            elif layer.kind == "method":
                live[0].bound = True
            elif layer.kind == "jvp":
                layer = Filled(layer.transform, {"n_primals": len(live), **layer.kwargs})
            elif layer.kind in MAPPED:
                self._map(layer, live)
            elif layer.kind == "shard_map":
                self._shard(layer["in_specs"], live)
            elif layer.kind == "vectorize":
                for slot in live:
                    slot.shape = grown(slot.shape, 0, BATCH)
            layers.append(layer)
        self.plan.layers = tuple(layers)
        given = [s for s in self.main if not s.bound]
        extra = [s for s in self.others if not s.bound and not s.optional]
        given += [s for s in extra if not s.by_keyword]
        self.plan.live.append(tuple(s.name for s in given))
        self.plan.args = tuple(s.value() for s in given)
        self.plan.static_positions = tuple(i for i, s in enumerate(given) if s.static)
        self.plan.kwargs = {s.name: s.value() for s in extra if s.by_keyword}

    def _bind(self, layer: Filled, live: list[Slot]) -> Filled:
        first = live[: int(layer.get("n_args", 0))]
        by_name = [s for n in names(layer.get("kw")) for s in self.plan.slots if s.name == n]
        values = tuple(bound_value(slot) for slot in first)
        keywords = {s.name: setting(i, s) for i, s in enumerate(by_name)}
        for slot in (*first, *by_name):
            slot.bound = True
        return Filled("partial", {"args": values, "keywords": keywords})

    def _map(self, layer: Filled, live: list[Slot]) -> None:
        size = self._axis_size() or (BATCH if layer.kind == "vmap" else DEVICES)
        axes = layer.get("in_axes", 0)
        per_slot = axes if isinstance(axes, tuple) else (axes,) * len(live)
        for slot, axis in zip(live, per_slot, strict=False):
            if not slot.static:
                slot.shape = grown(slot.shape, axis, size)
        for slot in self.others:
            if not slot.bound and not slot.optional and not slot.static:
                slot.shape = grown(slot.shape, 0, size)

    def _axis_size(self) -> int | None:
        """The size of mapped axes, where the stack says it."""
        found = [layer.get(n) for layer in self.layers for n in ("axis_size", "splits")]
        found += [layer.get("length") for layer in self.layers if layer.transform == "nnx.scan"]
        return next((int(str(size)) for size in found if size is not None), None)

    def _shard(self, specs: Any, live: list[Slot]) -> None:
        per_slot = (specs,) * len(live) if isinstance(specs, Spec) else specs
        for slot, spec in zip(live, per_slot, strict=False):
            slot.shape = spread(slot.shape, spec)
