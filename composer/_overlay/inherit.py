"""`extends: base.yaml`: a file laid over another one, which may extend a third."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from composer._findings import kind_of
from composer._overlay.address import World
from composer._overlay.nodes import Node, Origin, node_from
from composer._overlay.profiles import apply_overlay, no_base, read_overlay
from composer._reference import inside_project
from composer._yaml import Document, read
from composer.errors import ComposerError, Diagnostic, PipelineError, fail

MAX_FILES: Final = 8
"""How many files may stand in one chain."""


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the chain.

    Attributes:
        document: What it says.
        path: Where it lies, links followed; None for sealed text.
    """

    document: Document
    path: Path | None

    @property
    def shown(self) -> str:
        return self.document.file or "<text>"


def inherited(document: Document, path: Path | None, world: World) -> Node:
    """The file with all that it inherits.

    Names of modules and data files mean the same in every file of the chain: they are
    looked up beside the file that the user named.

    Args:
        document: The file that the user named.
        path: Where it lies; None for sealed text.
        world: What is known about names.

    Raises:
        PipelineError: CMP040, sealed text extends a file; CMP050 and CMP051, a file can't
            be extended; whatever is wrong with a file of the chain or its edits.
    """
    return _whole((_File(document, path.resolve() if path else None),), world)


def _whole(chain: tuple[_File, ...], world: World) -> Node:
    """The last file of the chain over what it extends."""
    document = chain[-1].document
    node = node_from(document, Origin(document.file))
    problems: list[Diagnostic] = []
    written = node.mapping.get("extends")
    if written is None:
        problems.extend(no_base(node))
        root = node
    else:
        base = _whole((*chain, _base(written, chain)), world)
        kept = {key: part for key, part in node.mapping.items() if key != "extends"}
        overlay = read_overlay(replace(node, value=kept), problems)
        # The root's place is that of the file which the user named.
        root = replace(apply_overlay(base, overlay, world, problems), place=node.place)
    if problems:
        raise PipelineError(*problems)
    return root


def _base(written: Node, chain: tuple[_File, ...]) -> _File:
    """The file that the last one of the chain extends."""
    reference, here = written.value, chain[-1]
    if here.path is None:
        message = "sealed text may not extend a file"
        cure = "the whole pipeline in the text"
        raise fail(PipelineError, "CMP040", message, place=written.where, cure=cure)
    if not isinstance(reference, str) or not reference:
        message = f"extends: is a file beside this one, not {kind_of(written.plain())}"
        cure = "extends: base.yaml"
        raise fail(PipelineError, "CMP050", message, place=written.place, cure=cure)
    found = _found(reference, written, here.path)
    _check_chain(found, written, chain)
    shown = os.path.normpath(os.path.join(os.path.dirname(here.shown), reference))
    try:
        document = read(found, shown)
    except PipelineError as error:
        raise _unread(error, reference, written) from None
    if not isinstance(document.data, dict):
        message = f"{reference} is {kind_of(document.data)}, but a pipeline is a mapping of keys"
        note = f"extended at {written.place}"
        place = document.place()
        raise fail(PipelineError, "CMP050", message, place=place, notes=[note])
    return _File(document, found)


def _found(reference: str, written: Node, path: Path) -> Path:
    try:
        return inside_project(reference, path.parent, written.place)
    except ComposerError as error:
        cure = "extends: a file inside the project"
        raise PipelineError(*(replace(item, cure=cure) for item in error.diagnostics)) from None
    except (OSError, RuntimeError, ValueError) as error:
        # A circle of links, which Python 3.11 calls a RuntimeError, or a null character.
        message = f"{reference} is no path that can be followed: {error}"
        raise fail(PipelineError, "CMP050", message, place=written.place) from None


def _check_chain(found: Path, written: Node, chain: tuple[_File, ...]) -> None:
    names = [file.shown for file in chain]
    circle = next((at for at, file in enumerate(chain) if file.path == found), None)
    if circle is not None:
        message = "the files extend each other in a circle"
        if len(chain) - circle == 1:
            message = "the file extends itself"
        notes = [" -> ".join([*names[circle:], names[circle]])]
    elif len(chain) == MAX_FILES:
        message = f"more than {MAX_FILES} files extend each other"
        notes = [" -> ".join(names)]
    else:
        return
    cure = "a base that extends nothing"
    raise fail(PipelineError, "CMP051", message, place=written.place, notes=notes, cure=cure)


def _unread(error: PipelineError, reference: str, written: Node) -> PipelineError:
    """What is wrong with the text of a base; where there is none, at the place of its name."""
    found = []
    for item in error.diagnostics:
        if item.place is None:
            cure = item.cure
            if item.code == "CMP014" and cure is not None:
                cure = f"extends: {Path(reference).with_name(Path(cure).name).as_posix()}"
            item = replace(item, place=written.place, cure=cure)
        found.append(item)
    return PipelineError(*found)
