"""Looking at the machine: versions, devices, plugins, and who else is called composer."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Final

OURS: Final = "jax-composer"
ENTRY_POINT_GROUPS: Final = ("composer.transforms", "composer.plugins")
VARIABLES: Final = (
    "JAX_PLATFORMS",
    "XLA_FLAGS",
    "JAX_ENABLE_X64",
    "CUDA_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
)
PACKAGES: Final = (
    OURS,
    "jax",
    "jaxlib",
    "numpy",
    "jax-cuda12-plugin",
    "jax-cuda12-pjrt",
    "jax-cuda13-plugin",
    "jax-cuda13-pjrt",
    "nvidia-cudnn-cu12",
    "nvidia-cudnn-cu13",
    "libtpu",
)

_MARK: Final = "composer-doctor "
# C++ code under JAX prints to stdout as well: the answer is the line with the mark.
_ASK_FOR_DEVICES: Final = f"""
import json, jax
found = [f"{{d.platform}}:{{d.id}} {{d.device_kind}}" for d in jax.devices()]
print("\\n{_MARK}" + json.dumps(found), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An installed entry point of one of `ENTRY_POINT_GROUPS`."""

    name: str
    group: str
    distribution: str


@dataclass(frozen=True, slots=True)
class Command:
    """A program called `composer` that is not ours; `kind` is "PHP", "Python" or ""."""

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found on a machine.

    Attributes:
        python: Version, such as (3, 11, 7).
        platform: Such as "Linux x86_64".
        packages: Installed version by distribution, of `PACKAGES`.
        jaxlib_wanted: What the installed jax asks of jaxlib, such as "<=0.10.2,>=0.10.1".
        devices: Such as "cpu:0 cpu"; empty if JAX did not start.
        device_error: What JAX printed when it did not start.
        plugins: Installed plugins of composer.
        others: Further distributions that own the package or the command `composer`.
        command: The first `composer` on the PATH, if it is not ours.
        gpus: Names of the NVIDIA GPUs.
        driver: Version of the NVIDIA driver.
        cuda_folders: Folders on LD_LIBRARY_PATH that hold CUDA libraries.
        env: Those of `VARIABLES` that are set.
    """

    python: tuple[int, int, int]
    platform: str
    packages: Mapping[str, str]
    jaxlib_wanted: str | None = None
    devices: tuple[str, ...] = ()
    device_error: str | None = None
    plugins: tuple[Plugin, ...] = ()
    others: tuple[str, ...] = ()
    command: Command | None = None
    gpus: tuple[str, ...] = ()
    driver: str | None = None
    cuda_folders: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


def inspect_machine(timeout: float = 120.0) -> Facts:
    """Look at this machine; JAX is started in a child process that has `timeout` seconds."""
    env = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    gpus, driver = _nvidia()
    devices, device_error = _devices(timeout)
    return Facts(
        python=sys.version_info[:3],
        platform=f"{platform.system()} {platform.machine()}",
        packages=dict(_installed()),
        jaxlib_wanted=_jaxlib_wanted(),
        devices=devices,
        device_error=device_error,
        plugins=tuple(_plugins()),
        others=_others(),
        command=_foreign_command(),
        gpus=gpus,
        driver=driver,
        cuda_folders=_cuda_folders(env.get("LD_LIBRARY_PATH", "")),
        env=env,
    )


def _installed() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue


def _jaxlib_wanted() -> str | None:
    """The versions of jaxlib in jax's own metadata, without those of its extras."""
    try:
        required = metadata.requires("jax") or []
    except metadata.PackageNotFoundError:
        return None
    for requirement in required:
        found = re.fullmatch(r"jaxlib\s*\(?([<>=!~][^;()]*)\)?", requirement.strip())
        if found:
            return found[1].strip()
    return None


def _devices(timeout: float) -> tuple[tuple[str, ...], str | None]:
    """JAX's devices, asked for in a child: a broken jaxlib may abort its process."""
    command = [sys.executable, "-P", "-c", _ASK_FOR_DEVICES]
    try:
        child = subprocess.run(
            command, capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        return (), f"no answer from JAX within {timeout:g} seconds"
    for line in child.stdout.decode(errors="replace").splitlines():
        if line.startswith(_MARK):
            return tuple(json.loads(line.removeprefix(_MARK))), None
    printed = child.stderr.decode(errors="replace").strip()
    return (), printed or f"the process that imports JAX ended with code {child.returncode}"


def _plugins() -> Iterator[Plugin]:
    for group in ENTRY_POINT_GROUPS:
        for point in sorted(metadata.entry_points(group=group), key=lambda point: point.name):
            yield Plugin(point.name, group, point.dist.name if point.dist else "unknown")


def _others() -> tuple[str, ...]:
    """Distributions besides ours that own the import package or the command `composer`."""
    owners = set(metadata.packages_distributions().get("composer", ()))
    for point in metadata.entry_points(group="console_scripts", name="composer"):
        if point.dist is not None:
            owners.add(point.dist.name)
    return tuple(sorted(name for name in owners if _normal(name) != OURS))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _foreign_command() -> Command | None:
    path = shutil.which("composer")
    return None if path is None else classify_command(Path(path))


def classify_command(path: Path) -> Command | None:
    """Whose `composer` this is; None if it is ours.

    A console script is a small text that imports its function; MosaicML's imports
    from `composer.cli.launcher`, PHP's is an archive with a PHP line at its head.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return Command(str(path), "")
    if re.search(rb"from composer\.cli import main\b", head):
        return None
    first = head.split(b"\n", 1)[0]
    if b"php" in first or b"<?php" in head:
        return Command(str(path), "PHP")
    return Command(str(path), "Python" if b"python" in first else "")


def _nvidia() -> tuple[tuple[str, ...], str | None]:
    """Names of the GPUs and the driver's version, by `nvidia-smi`."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return (), None
    query = [program, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        child = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return (), None
    return parse_nvidia_smi(child.stdout) if child.returncode == 0 else ((), None)


def parse_nvidia_smi(text: str) -> tuple[tuple[str, ...], str | None]:
    """Names and driver of `--query-gpu=name,driver_version --format=csv,noheader`.

    >>> parse_nvidia_smi("NVIDIA A100-SXM4-40GB, 535.183.01")
    (('NVIDIA A100-SXM4-40GB',), '535.183.01')
    """
    rows = [line.rsplit(",", 1) for line in text.splitlines() if "," in line]
    return tuple(row[0].strip() for row in rows), rows[0][1].strip() if rows else None


def _cuda_folders(search_path: str) -> tuple[str, ...]:
    """Folders of LD_LIBRARY_PATH from which CUDA libraries would be loaded."""
    patterns = ("libcudart.so*", "libcudnn.so*", "libcublas.so*", "libcusolver.so*")
    return tuple(
        folder
        for folder in search_path.split(os.pathsep)
        if folder and any(any(Path(folder).glob(pattern)) for pattern in patterns)
    )
