"""Where collectives and derivatives stand to each other, seen from each parallel layer.

The source's own derivatives and collectives count like layers inside all layers. What
each order gives was measured: tests/lint/test_order_table.py runs every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from composer._change import Edit, Fix, layer_data
from composer._rule import Finding, error, warning
from composer._view import DERIVATIVES, DEVICES, LayerView, StackView
from composer.errors import Place

AVERAGES = ("pmean", "psum")
FIRST_ORDER = DERIVATIVES - {"jvp"}


@dataclass(frozen=True, slots=True)
class Event:
    """A derivative or a collective, in the source or as a layer.

    Attributes:
        kind: Which of the two.
        word: `grad`, `pmean` and so on.
        axis: The collective's axis; None where it is not known, or for a derivative.
        place: Where it is written.
        view: The layer; None in the source.
        of_mean: For a derivative: whether what is differentiated is a mean, if known.
        combines: For a collective in the source: whether it combines the gradient, or
            what the function returns.
    """

    kind: Literal["derivative", "collective"]
    word: str
    axis: str | None
    place: Place | None
    view: LayerView | None = None
    of_mean: bool | None = None
    combines: bool = True

    @property
    def title(self) -> str:
        """In a sentence."""
        if self.view is not None:
            return self.view.title
        where = f" (line {self.place.line} of {self.place.file})" if self.place else ""
        return f"{self.word}{where}"


def source_events(stack: StackView) -> Iterator[Event]:
    """Derivatives and collectives of the function's source, innermost first."""
    facts = stack.facts
    if facts is None:
        return
    deepest = max(
        [c.derivatives for c in facts.collectives] + [d.derivatives + 1 for d in facts.derivatives],
        default=0,
    )
    for depth in range(deepest, -1, -1):
        for c in facts.collectives:
            if c.derivatives == depth and c.op in AVERAGES:
                combines = c.of_gradient or c.returned or not facts.derivatives
                yield Event("collective", c.op, c.axis, c.place, combines=combines)
        for d in facts.derivatives:
            if d.derivatives == depth - 1 and d.word in FIRST_ORDER:
                yield Event("derivative", d.word, None, d.place, of_mean=d.of_mean)


def layer_events(view: LayerView, mean: bool | None) -> Iterator[Event]:
    """What one layer is, as an event; nothing for most layers."""
    if view.word in FIRST_ORDER:
        yield Event("derivative", view.word, None, view.place, view, mean)
    elif view.word == "collective" and view.get("op") in AVERAGES:
        names = view.get("axis_name")
        for name in names if isinstance(names, tuple) else (names,):
            yield Event("collective", str(view.get("op")), str(name), view.place, view)


def events_inside(layer: LayerView) -> list[Event]:
    """Everything inside a layer, innermost first; its own sync is not among them."""
    stack = layer.stack
    found = list(source_events(stack))
    mean = stack.facts.returns_mean if stack.facts is not None else None
    for view in layer.inside:
        if view.word == "reduce":
            mean = view.get("op") == "mean"
        found += layer_events(view, mean)
    return found


def axes_of(view: LayerView) -> tuple[str, ...]:
    """Axis names of a parallel layer, also the one that a pmap without a name has."""
    names = view.transform.binds_axes()
    return names or (("devices",) if view.word == "pmap" else ())


def is_checked(view: LayerView) -> bool:
    """Whether JAX tracks there what differs between devices, and sums gradients itself."""
    return view.word == "shard_map" and view.get("check_vma") is not False


def split_names(view: LayerView) -> set[str] | None:
    """Arguments that a layer maps or splits; None where that is not known."""
    order = view.signature.positional
    given = view.get("in_specs" if view.word == "shard_map" else "in_axes")
    if isinstance(given, Mapping):
        return {str(name) for name, entry in given.items() if _has_axis(entry)}
    if view.signature.parameters is None or view.signature.open_ended:
        return None
    if view.word == "shard_map" and not _is_list_of_specs(given):
        return set(order) if _has_axis(given) else set()
    if isinstance(given, tuple):
        pairs = zip(order, given, strict=False)
        return {name for name, entry in pairs if _has_axis(entry)}
    return set(order) if given is not None else set()


def _is_list_of_specs(given: object) -> bool:
    return isinstance(given, tuple) and any(isinstance(item, tuple | Mapping) for item in given)


def _has_axis(entry: object) -> bool:
    if isinstance(entry, Mapping):
        return any(map(_has_axis, entry.values()))
    if isinstance(entry, tuple):
        return any(map(_has_axis, entry))
    return entry is not None


def differentiates_whole(layer: LayerView, derivative: Event) -> bool | None:
    """Whether the derivative is with respect to what every device has whole."""
    split = split_names(layer)
    if split is None:
        return None
    if derivative.view is not None:
        wanted = derivative.view.names(derivative.view.get("argnums"))
        return bool(wanted) and not set(wanted) & split
    names = layer.signature.positional
    return bool(names) and names[0] not in split


def comes_back_once(layer: LayerView) -> bool:
    """Whether outputs of a parallel layer come from one device, unproved."""
    if layer.word == "pmap":
        return layer.get("sync") == "device0" or (
            layer.get("out_axes") is None and layer.get("sync") is None
        )
    return layer.word == "shard_map" and not _has_axis(layer.get("out_specs"))


@dataclass(frozen=True, slots=True)
class Problem:
    """A wrong order, with the code of its rule."""

    code: str
    finding: Finding


def problems(stack: StackView) -> Iterator[Problem]:
    """Every wrong order of a collective and a derivative under a parallel layer."""
    for layer in stack.layers:
        named_vmap = layer.word == "vmap" and layer.get("axis_name") is not None
        if layer.word not in DEVICES and not named_vmap:
            continue
        if layer.inside.has("then", "apply"):
            continue
        found = events_inside(layer)
        for axis in axes_of(layer):
            yield from _under(layer, axis, found)


def _under(layer: LayerView, axis: str, found: list[Event]) -> Iterator[Problem]:
    numbers = [n for n, event in enumerate(found) if event.kind == "derivative"]
    if not numbers:
        return
    last, derivative = numbers[-1], found[numbers[-1]]
    over = [(n, e) for n, e in enumerate(found) if e.kind == "collective" and e.axis == axis]
    # A collective whose axis the source does not say may be any.
    if any(e.kind == "collective" and e.axis is None for e in found):
        return
    inside = [event for n, event in over if n < last]
    outside = [event for n, event in over if n > last and event.combines]
    sync = layer.get("sync") if layer.word == "pmap" else None
    if sync is not None and not isinstance(sync, str):
        return
    ops = [event.word for event in outside] + ([sync] if sync in AVERAGES else [])
    if is_checked(layer):
        yield from _checked(layer, axis, derivative, inside, outside)
    else:
        yield from _unchecked(layer, axis, derivative, inside, ops)


def _checked(
    layer: LayerView, axis: str, derivative: Event, inside: list[Event], outside: list[Event]
) -> Iterator[Problem]:
    if not differentiates_whole(layer, derivative):
        return
    if outside:
        event = outside[0]
        text = (
            f"{event.word} over {axis!r} of a gradient that is summed over {axis!r} already:"
            f" with check_vma, {layer.word} itself sums the gradient of an argument that every"
            " device has whole, so this one is as many times too large as there are devices"
        )
        other = f"{event.word} inside {derivative.word}"
        cure = f"{layer.word}: {{..., check_vma: false}}     # or {other}"
        fix = Fix((layer.set("check_vma", False),))
        yield Problem("CMP314", error(text, place=event.place, cure=cure, fix=fix))
    elif not inside:
        yield Problem("CMP315", _summed(layer, axis, derivative))


def _summed(layer: LayerView, axis: str, derivative: Event) -> Finding:
    certain = derivative.of_mean is True
    text = (
        f"with check_vma, {layer.word} sums the gradient of {derivative.word} over {axis!r} by"
        " itself"
    )
    text += (
        ": the loss is a mean over each device's rows, so the sum is as many times too large as"
        " there are devices"
        if certain
        else "; if the loss is a mean over rows, it is as many times too large as there are devices"
    )
    made = error if certain else warning
    pmean = layer_data("collective", op="pmean", axis_name=axis)
    if derivative.view is not None:
        fix = Fix((derivative.view.insert_inside(pmean),))
        cure = f"- collective: {{op: pmean, axis_name: {axis}}}     # inside {derivative.word}"
    else:
        fix = Fix((layer.set("check_vma", False), layer.insert_inside(pmean)))
        cure = (
            f"- collective: {{op: pmean, axis_name: {axis}}}     # inside {layer.word}\n"
            f"- {layer.word}: {{..., check_vma: false}}"
        )
    return made(text, place=layer.place, cure=cure, fix=fix)


def _unchecked(
    layer: LayerView, axis: str, derivative: Event, inside: list[Event], ops: list[str]
) -> Iterator[Problem]:
    if "pmean" in ops or layer.outside.has("reduce"):
        return
    if "psum" in ops:
        if derivative.of_mean and not inside:
            yield Problem("CMP315", _psum_of_mean(layer, axis, derivative))
        return
    if not differentiates_whole(layer, derivative):
        return
    psum = next((event for event in inside if event.word == "psum"), None)
    if psum is not None:
        yield Problem("CMP313", _psum_inside(layer, axis, derivative, psum))
        return
    if comes_back_once(layer):
        yield Problem("CMP316", _first_device(layer, axis, derivative, inside))
        return
    if inside:
        yield Problem("CMP312", _pmean_inside(layer, axis, derivative, inside))


def _psum_of_mean(layer: LayerView, axis: str, derivative: Event) -> Finding:
    text = (
        f"psum over {axis!r} of the gradient of a mean: each device's loss is a mean over its own"
        " rows, so the sum is as many times too large as there are devices"
    )
    if layer.word == "pmap" and layer.get("sync") == "psum":
        return warning(
            text, place=layer.place, cure="sync: pmean", fix=Fix((layer.set("sync", "pmean"),))
        )
    return warning(text, place=layer.place, cure="pmean in the place of psum")


def _moved_out(layer: LayerView, axis: str, derivative: Event, inside: list[Event]) -> Fix:
    """The collective layers inside taken away, and a pmean put around the derivative."""
    pmean = layer_data("collective", op="pmean", axis_name=axis)
    edits: list[Edit] = [e.view.removed() for e in inside if e.view is not None]
    if derivative.view is not None:
        edits.append(derivative.view.insert_outside(pmean))
    else:
        edits.append(Edit("insert", ("stack", 0), pmean))
    return Fix(tuple(edits))


def _outside_cure(axis: str, derivative: Event) -> str:
    return f"- collective: {{op: pmean, axis_name: {axis}}}     # outside {derivative.word}"


def _pmean_inside(layer: LayerView, axis: str, derivative: Event, inside: list[Event]) -> Finding:
    event = inside[0]
    certain = event.view is not None or event.combines
    text = (
        f"{event.word} over {axis!r} stands inside {derivative.title}: it averages the value, but"
        f" each device's gradient stays its own, and no layer outside averages it"
    )
    notes = () if certain else ("if the gradient is averaged elsewhere, ignore this",)
    made = error if certain else warning
    return made(
        text,
        place=event.place,
        cure=_outside_cure(axis, derivative),
        notes=notes,
        fix=_moved_out(layer, axis, derivative, inside),
    )


def _psum_inside(layer: LayerView, axis: str, derivative: Event, psum: Event) -> Finding:
    text = (
        f"psum over {axis!r} stands inside {derivative.title}: its own derivative sums once more,"
        " so each device's gradient is as many times too large as there are devices, and not"
        " synchronised"
    )
    cure = _outside_cure(axis, derivative)
    if psum.view is not None:
        return error(
            text, place=psum.place, cure=cure, fix=_moved_out(layer, axis, derivative, [psum])
        )
    return error(
        text, place=psum.place, cure=f"{cure}\nno psum in the function that is differentiated"
    )


def _first_device(layer: LayerView, axis: str, derivative: Event, inside: list[Event]) -> Finding:
    text = (
        f"each device has a gradient of its own, but {layer.word} hands out one, as if all were"
        f" equal: the first device's"
    )
    place = inside[0].place if inside else layer.place
    return error(
        text,
        place=place,
        notes=[
            f"{event.word} inside {derivative.word} averages the value only" for event in inside
        ],
        cure=_outside_cure(axis, derivative),
        fix=_moved_out(layer, axis, derivative, inside),
    )
