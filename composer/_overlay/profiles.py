"""Profiles, and a file that extends another: what is merged, and edits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from composer._findings import kind_of
from composer._overlay import EDIT_KEYS, Kind
from composer._overlay.address import BroughtElsewhere, World, is_stack, names_of, parse_address
from composer._overlay.merge import merge
from composer._overlay.nodes import Node, Origin, walk
from composer._overlay.steps import Step, apply_step, layers_from
from composer.errors import ComposerError, Diagnostic, PipelineError, Place, fail, nearest

_EXAMPLES: Final[Mapping[Kind, str]] = {
    "set": "set: {run.simulate_devices: 2}",
    "drop": "drop: [pmap]",
    "insert_before": "insert_before: {jit: {stop_gradient: params}}",
    "insert_after": "insert_after: {grad: {stop_gradient: params}}",
}


@dataclass(frozen=True, slots=True)
class Overlay:
    """Something to lay over a pipeline.

    Attributes:
        merged: A mapping with keys of a pipeline; these are merged first.
        steps: Edits, in the order in which they are written.
    """

    merged: Node
    steps: tuple[Step, ...]

    def brings(self) -> frozenset[str]:
        """Every name that it may add."""
        found: set[str] = set()
        for path, node in walk(self.merged):
            found |= {key for key in node.mapping if isinstance(key, str)}
            if is_stack(path):
                found.update(*map(names_of, node.items))
        for step in self.steps:
            found |= {part.key for part in step.address.parts if isinstance(part.key, str)}
            if step.kind.startswith("insert"):
                found.update(*map(names_of, step.new))
        return frozenset(found)


def read_profiles(
    node: Node | None, world: World, problems: list[Diagnostic]
) -> dict[str, Overlay]:
    """The profiles by name; what is wrong with them goes into `problems`."""
    if node is None or node.value is None:
        return {}
    if not isinstance(node.value, dict):
        message = f"profiles: is a mapping of names to overlays, not {kind_of(node.plain())}"
        cure = "profiles: {laptop: {drop: [pmap]}}"
        problems.append(Diagnostic("CMP053", message, node.place, (), cure))
        return {}
    allowed = tuple(key for key in world.keys if key != "composer")
    found: dict[str, Overlay] = {}
    for name, part in node.mapping.items():
        title = f"profile {name}"
        if not isinstance(part.value, dict) or not isinstance(name, str):
            message = f"{title} is a mapping of what it changes, not {kind_of(part.plain())}"
            if not isinstance(name, str):
                message = f"{title}: a name is a word"
            cure = "laptop: {drop: [pmap]}"
            problems.append(Diagnostic("CMP053", message, part.where, (), cure))
            continue
        _check_keys(part, title, allowed, problems)
        found[name] = read_overlay(_belonging(part, name), problems)
    return found


def read_overlay(node: Node, problems: list[Diagnostic]) -> Overlay:
    """A mapping of what is merged and of edits; what is wrong goes into `problems`."""
    merged: dict[str | int, Node] = {}
    steps: list[Step] = []
    for key, part in node.mapping.items():
        kind = next((word for word in EDIT_KEYS if word == key), None)
        if kind is None:
            merged[key] = part
            continue
        try:
            edits = _edits(kind, part)
        except PipelineError as error:
            problems.extend(error.diagnostics)
            continue
        for edit in edits:
            try:
                steps.append(_step(kind, *edit))
            except PipelineError as error:
                problems.extend(error.diagnostics)
    return Overlay(replace(node, value=merged), tuple(steps))


def apply_overlay(root: Node, overlay: Overlay, world: World, problems: list[Diagnostic]) -> Node:
    """The pipeline with an overlay applied; what is wrong goes into `problems`."""
    root = merge(root, overlay.merged, world, problems)
    for step in overlay.steps:
        try:
            root = apply_step(root, step, world)
        except PipelineError as error:
            problems.extend(error.diagnostics)
        except BroughtElsewhere:
            continue
    return root


def check_profiles(
    root: Node, profiles: Mapping[str, Overlay], world: World, problems: list[Diagnostic]
) -> None:
    """Try each profile alone, so that a broken one is found before it is used.

    What needs a name that only another profile brings can't be judged, and passes.
    """
    for name, profile in profiles.items():
        others = (other.brings() for key, other in profiles.items() if key != name)
        elsewhere = frozenset[str]().union(*others)
        apply_overlay(root, profile, replace(world, elsewhere=elsewhere), problems)


def chosen(profiles: Mapping[str, Overlay], name: str, root: Node) -> Overlay:
    """The profile of a name.

    Raises:
        PipelineError: CMP052.
    """
    if name in profiles:
        return profiles[name]
    written = root.mapping.get("profiles")
    close = nearest(name, profiles)
    raise fail(
        PipelineError,
        "CMP052",
        f"there is no profile {name!r}",
        place=written.where if written is not None else root.place,
        notes=[f"profiles: {', '.join(profiles) or 'none'}"],
        cure=f"--profile {close}" if close else None,
    )


def no_base(node: Node) -> Iterator[Diagnostic]:
    """Edits that stand in a file which inherits nothing."""
    for word in EDIT_KEYS:
        if word in node.mapping:
            place = node.mapping[word].where
            message = f"{word}: edits what is inherited, but this file extends no other"
            cure = f"profiles:\n  NAME:\n    {word}: ...\nor extends: FILE"
            yield Diagnostic("CMP053", message, place, (), cure)


def _check_keys(
    node: Node, title: str, allowed: tuple[str, ...], problems: list[Diagnostic]
) -> None:
    known = (*allowed, *EDIT_KEYS)
    for key, part in node.mapping.items():
        if key not in known:
            close = nearest(str(key), known)
            note = f"keys: {', '.join(known)}"
            message, cure = f"{title} has no key {key!r}", f"{close}:" if close else None
            problems.append(Diagnostic("CMP031", message, part.where, (note,), cure))


def _belonging(node: Node, profile: str) -> Node:
    """The node, with everything in it said to come from a profile."""
    origin = Origin(node.origin.file, profile)
    value = node.value
    if isinstance(value, dict):
        value = {key: _belonging(part, profile) for key, part in value.items()}
    elif isinstance(value, list):
        value = [_belonging(item, profile) for item in value]
    return Node(value, node.place, node.key, origin)


def _edits(kind: Kind, node: Node) -> list[tuple[str, Place, Node]]:
    """The edits behind one of the words: address, where it is written, what is new there.

    Raises:
        PipelineError: CMP053, these are no edits.
    """
    if kind == "drop":
        layers = node.items if isinstance(node.value, list) else [node]
        for layer in layers:
            if not isinstance(layer.value, str):
                raise _wrong(kind, "a word, or a list of words", layer)
        return [(str(layer.value), layer.place, layer) for layer in layers]
    if not isinstance(node.value, dict):
        what = "values" if kind == "set" else "layers"
        raise _wrong(kind, f"a mapping of addresses to {what}", node)
    return [(str(key), part.where, part) for key, part in node.mapping.items()]


def _step(kind: Kind, written: str, place: Place, new: Node) -> Step:
    address = parse_address(written, place)
    if kind == "drop":
        return Step(kind, address)
    return Step(kind, address, (new,) if kind == "set" else layers_from(new))


def _wrong(kind: Kind, wanted: str, node: Node) -> ComposerError:
    message = f"{kind}: is {wanted}, not {kind_of(node.plain())}"
    return fail(PipelineError, "CMP053", message, place=node.place, cure=_EXAMPLES[kind])
