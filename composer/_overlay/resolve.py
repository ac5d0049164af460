"""The whole way: what a file inherits, then profiles, then single edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from composer._overlay import KEYS
from composer._overlay.address import World
from composer._overlay.edits import Edit
from composer._overlay.inherit import inherited
from composer._overlay.nodes import Origin, document_from, origins_of
from composer._overlay.profiles import apply_overlay, check_profiles, chosen, read_profiles
from composer._overlay.spelled import step_from
from composer._overlay.steps import apply_step
from composer._yaml import Document
from composer._yaml import Path as NodePath
from composer.errors import Diagnostic, PipelineError


@dataclass(frozen=True, slots=True)
class Resolved:
    """What is left when every overlay is applied.

    Attributes:
        document: Data without `extends` and `profiles`; its places may lie in several files.
        origins: Who wrote each value; empty where there was nothing to apply.
    """

    document: Document
    origins: Mapping[NodePath, Origin]

    def origin(self, path: NodePath) -> Origin:
        """Who wrote the value at a path."""
        return self.origins.get(path, Origin(self.document.file))


def resolve(
    document: Document,
    *,
    path: Path | None,
    keys: Sequence[str],
    targets: Mapping[str, str],
    profiles: Sequence[str] = (),
    edits: Sequence[Edit] = (),
) -> Resolved:
    """Apply everything that is laid over a pipeline.

    Args:
        document: The file that the user named.
        path: Where it lies; None for sealed text, which extends no file.
        keys: The keys that a pipeline may have.
        targets: What each word of a transform stands for, so that a layer is found by
            another word for the same transform.
        profiles: Names of profiles, applied in this order.
        edits: Single edits, applied in this order after the profiles.

    Raises:
        PipelineError: CMP050 to CMP059, with every problem of the files at once.
    """
    data = document.data
    if not isinstance(data, dict) or not (profiles or edits or any(key in data for key in KEYS)):
        return Resolved(document, {})
    world = World(tuple(keys), targets)
    problems: list[Diagnostic] = []
    whole = inherited(document, path, world)
    known = read_profiles(whole.mapping.get("profiles"), world, problems)
    parts = {key: part for key, part in whole.mapping.items() if key != "profiles"}
    root = replace(whole, value=parts)
    check_profiles(root, known, world, problems)
    if problems:
        raise PipelineError(*sorted(problems, key=_position))
    for name in profiles:
        root = apply_overlay(root, chosen(known, name, whole), world, problems)
        if problems:
            raise PipelineError(*problems)
    for edit in edits:
        root = apply_step(root, step_from(edit), world)
    return Resolved(document_from(root, document.file, document.text), origins_of(root))


def _position(finding: Diagnostic) -> tuple[str, int, int]:
    place = finding.place
    assert place is not None
    return (place.file or "", place.line, place.column)
