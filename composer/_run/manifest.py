"""What a run leaves behind, so that it can be told what was run, with what, and when."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Final

import jax

from composer import __version__
from composer._pipeline import Pipeline
from composer._reference import project_folder
from composer._run.arguments import Arguments
from composer._run.dtypes import shape_of
from composer._run.outputs import named_leaves
from composer._run.writing import replacing
from composer.errors import ComposerError, InputError, fail

_PACKAGES: Final = ("jax", "jaxlib", "numpy")


def describe_pipeline(pipeline: Pipeline) -> dict[str, object]:
    """The resolved pipeline as text, and the text's hash."""
    text = pipeline.to_yaml()
    return {
        "name": pipeline.title,
        "file": pipeline.document.file if pipeline.document is not None else None,
        "pipeline": text,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def describe_machine(pipeline: Pipeline) -> dict[str, object]:
    """Versions of everything that took part, and the devices."""
    versions = {"python": platform.python_version(), "jax-composer": __version__}
    for name in (*_PACKAGES, *sorted(set(_plugin_packages(pipeline)))):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed as a package"
    devices = [f"{d.platform}:{d.id} {d.device_kind}" for d in jax.devices()]
    return {"versions": versions, "devices": devices}


def _plugin_packages(pipeline: Pipeline) -> Iterator[str]:
    """Distributions that the stack's transforms and the named plugins come from."""
    modules = {type(layer.transform).__module__.partition(".")[0] for layer in pipeline.stack}
    strangers = modules - {"composer"}
    if strangers:
        found = metadata.packages_distributions()
        for module in strangers:
            yield from found.get(module, ())
    if pipeline.plugins:
        for entry in metadata.entry_points(group="composer.plugins"):
            if entry.name in pipeline.plugins and entry.dist is not None:
                yield entry.dist.name


def describe_arguments(arguments: Arguments) -> dict[str, str]:
    """Shapes of all arrays by path, and static values as Python prints them."""
    found: dict[str, str] = {}
    for name, value in arguments.values.items():
        if name in arguments.static:
            found[name] = f"static: {value!r}"[:200]
            continue
        for path, leaf in named_leaves(value):
            where = name if path == "output" else f"{name}.{path}"
            found[where] = str(shape_of(leaf))  # type: ignore[arg-type]  # arguments are arrays
    return found


def check_folder(pipeline: Pipeline, outdir: Path | None) -> None:
    """Refuse, before anything is computed, a place where no manifest can be written.

    Raises:
        InputError: CMP070, nothing can be made there.
    """
    base = _base(pipeline, outdir)
    if base is None:
        return
    there = next(folder for folder in (base, *base.absolute().parents) if folder.exists())
    if not there.is_dir():
        raise _refused(base, f"{there} is a file")
    if not os.access(there, os.W_OK | os.X_OK):
        raise _refused(base, f"{there} is read-only")


def run_folder(pipeline: Pipeline, outdir: Path | None, started: datetime) -> Path | None:
    """A new folder `runs/NAME/TIME` in the project, or `NAME/TIME` in `outdir`.

    None for sealed text, which leaves nothing behind unless it is told where.

    Raises:
        InputError: CMP070, the system refuses to make the folder.
    """
    base = _base(pipeline, outdir)
    if base is None:
        return None
    name = re.sub(r"[^\w.-]+", "_", pipeline.title).strip(".") or "run"
    time = started.astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    for number in range(1, 1000):
        folder = base / name / (time if number == 1 else f"{time}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise _refused(folder, error.strerror) from error
        return folder
    raise fail(InputError, "CMP070", f"{base / name} is full of runs of this second")


def _base(pipeline: Pipeline, outdir: Path | None) -> Path | None:
    if outdir is not None or pipeline.folder is None:
        return outdir
    return project_folder(pipeline.folder) / "runs"


def _refused(folder: Path, why: str | None) -> ComposerError:
    message = f"the manifest cannot be written: {folder}: {why}"
    cure = "composer run --out DIR ...     # a folder that can be written"
    return fail(InputError, "CMP070", message, cure=cure)


def write_manifest(folder: Path, facts: Mapping[str, object]) -> Path:
    """Write `manifest.json` into the folder of a run, whole or not at all."""
    path = folder / "manifest.json"
    with replacing(path) as file:
        file.write(json.dumps(facts, indent=2, allow_nan=False, ensure_ascii=False).encode())
        file.write(b"\n")
    return path
