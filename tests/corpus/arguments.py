"""The arguments of the function of a mined stack. Imports nothing of composer."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

from corpus.arity import bound_names
from corpus.filling import DERIVATIVES, MAPPED, Filled, Spec, names, numbers, rank_needed
from corpus.slots import DIM, Plan, Shape, Slot, parameter


class Arguments:
    """One choice of arguments for the function of a stack."""

    def __init__(self, made: Plan, count: int) -> None:
        self.plan, self.count = made, count
        self.hint = made.entry.hint
        if "self" in bound_names(made.entry):
            self.hint = dataclasses.replace(self.hint, has_self=False)
        self.layers = made.layers
        self.slots = made.slots

    @property
    def main(self) -> list[Slot]:
        """Those that are passed by position, or bound so."""
        return self.slots[: self.count]

    def choose(self) -> None:
        """Fill in the slots, with the shapes that the innermost function sees."""
        self.rank = self._rank()
        self._slots()
        self._donated_names()
        self._static_names()
        self.layers = self.plan.layers = tuple(self._static_axes())
        self._base_shapes()

    def _rank(self) -> int:
        scalar = [x for x in self.layers if x.kind in ("grad", "value_and_grad")]
        return max(rank_needed(self.layers), 0 if len(scalar) > 1 else 1)

    def _slots(self) -> None:
        positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
        hint, bound = self.hint, bound_names(self.plan.entry)
        self.slots += [Slot(f"x{i}") for i in range(self.count)]
        room = (hint.positional or 0) - hint.has_self
        if hint.var_positional:
            for i, slot in enumerate(self.slots[room:]):
                slot.name, slot.kind = f"rest[{i}]", inspect.Parameter.VAR_POSITIONAL
        if hint.has_self and self.plan.has("method"):
            self.slots[0].name = "self"
        called = ["extra" if name == "**" else name for name in hint.call_keywords]
        kinds = self._keyword_kinds(len(bound), [*bound, *called])
        self.slots += [Slot(n, kinds[n], by_keyword=True) for n in called if n not in bound]
        self.slots += [Slot(n, kinds[n]) for n in bound]
        taken = sum(slot.kind is positional for slot in self.slots)
        if not hint.var_positional:
            self.slots += [Slot(f"left{i}", optional=True) for i in range(room - taken)]

    def _keyword_kinds(self, bound: int, all_names: list[str]) -> dict[str, Any]:
        kind = inspect.Parameter
        hint, found = self.hint, {}
        room = None if hint.positional is None else hint.positional - hint.has_self - self.count
        for number, name in enumerate(all_names):
            if number < hint.keyword_only:
                found[name] = kind.KEYWORD_ONLY
            elif hint.var_positional or (hint.var_keyword and room is not None and room <= 0):
                found[name] = kind.VAR_KEYWORD if hint.var_keyword else kind.KEYWORD_ONLY
            else:
                found[name] = kind.POSITIONAL_OR_KEYWORD
                room = None if room is None else room - 1
        return found

    def _static_names(self) -> None:
        """Find the arguments that are static, by position and by name."""
        for layer, live in zip(self.layers, self.live_below(), strict=False):
            for key in ("static_argnums", "static_broadcasted_argnums", "nondiff_argnums"):
                for number in numbers(layer.get(key)):
                    live[number].static = True
            for name in names(layer.get("static_argnames")):
                self._static_by_name(name)

    def _donated_names(self) -> None:
        """Arguments that are donated by name get that name."""
        for layer in self.layers:
            plain = [s for s in self.slots if s.name.startswith("x")]
            for name, slot in zip(names(layer.get("donate_argnames")), plain, strict=False):
                slot.name = name

    def _static_axes(self) -> Iterator[Filled]:
        """The layers, with no axes for arguments that turned out to be static."""
        for layer, live in zip(self.layers, self.live_below(), strict=False):
            axes = layer.get("in_axes")
            if layer.kind in MAPPED and isinstance(axes, tuple):
                kept = [None if s.static else a for s, a in zip(live, axes, strict=False)]
                yield Filled(layer.transform, {**layer.kwargs, "in_axes": tuple(kept)})
            else:
                yield layer

    def _static_by_name(self, name: str) -> None:
        known = next((slot for slot in self.slots if slot.name == name), None)
        if known is None:
            known = self._free_for_static(name)
            known.name = name
        known.static = True

    def _free_for_static(self, name: str) -> Slot:
        mapped = [layer for layer in self.layers if layer.kind in MAPPED]
        for number in range(self.count - 1, 0, -1):
            axes = [layer.get("in_axes", 0) for layer in mapped]
            fixed = all(isinstance(a, tuple) and a[number] is None for a in axes)
            if self.slots[number].name == f"x{number}" and fixed and number not in self._active():
                return self.slots[number]
        added = next((s for s in self.slots if s.optional and s.name.startswith("left")), None)
        if added is None:
            added = Slot(name, optional=bool(mapped))
            self.slots.insert(self.count, added)
        return added

    def _active(self) -> set[int]:
        """Positions that are differentiated."""
        return {
            n
            for layer in self.layers
            if layer.kind in DERIVATIVES
            for n in numbers(layer.get("argnums", 0))
        }

    def live_below(self) -> Iterator[list[Slot]]:
        """The arguments by position below each layer."""
        live = self.main
        for layer in self.layers:
            yield live
            if layer.kind == "partial":
                live = live[int(layer.get("n_args", 0)) :]
            if layer.kind == "method":
                live = live[1:]

    def _base_shapes(self) -> None:
        bound = {id(s) for s in self.bound_by_position()}
        mapped = False
        for slot in self.slots:
            if slot.kind is inspect.Parameter.VAR_POSITIONAL or not slot.static:
                slot.shape = Shape((DIM,) * (0 if id(slot) in bound else self.rank))
        for layer, live in zip(self.layers, self.live_below(), strict=False):
            if layer.kind == "vectorize":
                cores = str(layer["signature"]).partition("->")[0].split("),")
                for slot, core in zip(live, cores, strict=True):
                    rank = len([d for d in core.strip("() ").split(",") if d])
                    slot.shape = Shape((DIM,) * rank)
            for key in ("in_axes", "in_specs"):
                value = layer.get(key)
                if isinstance(value, tuple) and not isinstance(value, Spec) and not mapped:
                    for slot, part in zip(live, value, strict=False):
                        slot.shape = self._like(part, slot.shape)

    def bound_by_position(self) -> list[Slot]:
        found: list[Slot] = []
        mapping = False
        for layer, live in zip(self.layers, self.live_below(), strict=False):
            mapping = mapping or layer.kind in (*MAPPED, "shard_map")
            if layer.kind == "partial" and not mapping:
                found += live[: int(layer.get("n_args", 0))]
        return found

    def _like(self, part: Any, shape: Any) -> Any:
        """A tree of the same shape at each leaf, for an entry of in_axes or in_specs."""
        if isinstance(part, dict):
            return {key: self._like(item, shape) for key, item in part.items()}
        if isinstance(part, tuple) and not isinstance(part, Spec):
            return tuple(self._like(item, shape) for item in part)
        return shape

    def parameters(self) -> tuple[inspect.Parameter, ...]:
        """The parameters of the innermost function."""
        kind = inspect.Parameter
        of = {k: [s for s in self.slots if s.kind is k] for k in (
            kind.POSITIONAL_OR_KEYWORD, kind.KEYWORD_ONLY)}  # fmt: skip
        found = [kind("self", kind.POSITIONAL_OR_KEYWORD)] if self.is_method() else []
        positional = of[kind.POSITIONAL_OR_KEYWORD]
        found += [parameter(s) for s in positional if not s.optional]
        found += [parameter(s) for s in positional if s.optional]
        found += [kind("rest", kind.VAR_POSITIONAL)] if self.hint.var_positional else []
        found += [parameter(s) for s in of[kind.KEYWORD_ONLY]]
        found += [kind("more", kind.VAR_KEYWORD)] if self.hint.var_keyword else []
        return tuple(found)

    def is_method(self) -> bool:
        """Whether the innermost function is a bound method."""
        return self.hint.has_self and not self.plan.has("method")
