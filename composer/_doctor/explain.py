"""What pasted error messages and install commands mean, and the cure.

Each explainer is a pattern and a function from what it matched to a diagnostic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from composer._doctor.advice import CUDA_BY_DRIVER, NEW_DRIVER, cuda_for, reinstall
from composer.errors import Diagnostic

Explainer: TypeAlias = Callable[[re.Match[str]], Diagnostic | None]

_OTHER_LIBRARIES: Final = f"unset LD_LIBRARY_PATH\n{CUDA_BY_DRIVER}"
_LIVE_EXTRAS: Final = frozenset({"cuda12", "cuda13", "cuda12-local", "cuda13-local"})


def explain(text: str) -> list[Diagnostic]:
    """The meaning of each known message and retired command in a text, once each.

    An empty list means that nothing in the text is known.
    """
    found: dict[tuple[str, str], Diagnostic] = {}
    for pattern, explainer in _EXPLAINERS:
        for match in re.finditer(pattern, text):
            finding = explainer(match)
            if finding is not None:
                found.setdefault((finding.code, finding.message), finding)
    return list(_without_consequences(list(found.values())))


def _without_consequences(found: list[Diagnostic]) -> Iterator[Diagnostic]:
    """Without "backend does not start" and "GPU is not used", where the reason is known."""
    reasons = {finding.code for finding in found} - {"CMP088", "CMP095"}
    for finding in found:
        if not reasons or finding.code not in ("CMP088", "CMP095"):
            yield finding


def _newer(match: re.Match[str]) -> Diagnostic:
    return Diagnostic("CMP093", f"jaxlib {match[1]} is newer than jax {match[2]}", cure=reinstall())


def _older(match: re.Match[str]) -> Diagnostic:
    message = f"jaxlib {match[1]} is too old for this jax, which needs {match[2]} or newer"
    return Diagnostic("CMP093", message, cure=reinstall())


def _plugin(match: re.Match[str]) -> Diagnostic:
    name = match[1].replace("_", "-")
    cuda = re.search(r"cuda\d+", name)
    return Diagnostic(
        "CMP094",
        f"{name} {match[2]} does not fit jaxlib {match[3]}: JAX will not use the GPU",
        cure=reinstall(cuda[0] if cuda else None),
    )


def _pjrt(match: re.Match[str]) -> Diagnostic:
    message = (
        f"the GPU plugin speaks version {match[1]} of JAX's plugin interface, "
        f"but jaxlib speaks {match[2]}: they come from different releases"
    )
    return Diagnostic("CMP094", message, cure=CUDA_BY_DRIVER)


def _cpu_only(match: re.Match[str]) -> Diagnostic:
    message = "JAX runs on the CPU: its plugin for this machine's GPU is not installed"
    return Diagnostic("CMP095", message, cure=CUDA_BY_DRIVER, severity="warning")


def _no_device(match: re.Match[str]) -> Diagnostic:
    return Diagnostic(
        "CMP095",
        "CUDA offers JAX no GPU: another process holds its memory, or "
        "CUDA_VISIBLE_DEVICES names none",
        cure="nvidia-smi   # who uses the GPU?\nunset CUDA_VISIBLE_DEVICES",
    )


def _driver(match: re.Match[str]) -> Diagnostic:
    version = match.groupdict().get("driver")
    which = f"NVIDIA driver {version}" if version else "the NVIDIA driver"
    return Diagnostic(
        "CMP096",
        f"{which} is too old for the CUDA that JAX was built for: CUDA 12 needs 525.60.13, "
        "CUDA 13 needs 580",
        cure=NEW_DRIVER if version and cuda_for(version) is None else CUDA_BY_DRIVER,
    )


def _not_loaded(match: re.Match[str]) -> Diagnostic:
    message = f"{match[1]} cannot be loaded: it is missing, or LD_LIBRARY_PATH leads elsewhere"
    return Diagnostic("CMP097", message, cure=_OTHER_LIBRARIES)


def _outdated(match: re.Match[str]) -> Diagnostic:
    """A library of which an older copy is found first."""
    part = match.groupdict()
    name = (part.get("name") or "cuDNN").replace("CuDNN", "cuDNN")
    found, built = _release(name, part["found"]), _release(name, part["built"])
    return Diagnostic(
        "CMP097",
        f"JAX was built for {name} {built}, but the older {name} {found} is found first",
        cure=_OTHER_LIBRARIES,
    )


def _release(name: str, version: str) -> str:
    """CUDA counts 12020 for 12.2; other libraries count otherwise, so theirs stay as they are."""
    if name == "CUDA" and version.isdigit():
        return f"{int(version) // 1000}.{int(version) % 1000 // 10}"
    return version


def _monolith(match: re.Match[str]) -> Diagnostic:
    return Diagnostic(
        "CMP098",
        f"jaxlib=={match[1]} is a retired kind of build: CUDA is a plugin beside jaxlib now",
        cure=CUDA_BY_DRIVER,
    )


def _extra(match: re.Match[str]) -> Diagnostic | None:
    for extra in match[1].split(","):
        name = re.sub(r"[-_.]+", "-", extra.strip()).lower()
        if name == "cuda":
            return Diagnostic(
                "CMP098",
                "jax[cuda] does not say which CUDA: it means CUDA 12 today",
                cure=CUDA_BY_DRIVER,
                severity="info",
            )
        if name.startswith("cuda") and name not in _LIVE_EXTRAS:
            return Diagnostic(
                "CMP098",
                f"jax[{extra.strip()}] is retired: pip warns that it does not know the extra, "
                "and installs JAX for the CPU",
                cure=CUDA_BY_DRIVER,
            )
    return None


def _links(match: re.Match[str]) -> Diagnostic:
    return Diagnostic(
        "CMP098",
        f"the page {match[1]} lists retired builds: "
        "the builds of today are on the package index, so no --find-links is needed",
        cure="leave out -f, --find-links and their value",
        severity="warning",
    )


def _python(match: re.Match[str]) -> Diagnostic:
    message = f"{match[1]} needs a newer Python than this one: Python 3.11 gets jax 0.10.2 at most"
    cure = "python3.12 -m venv .venv\n.venv/bin/pip install jax-composer"
    return Diagnostic("CMP089", message, cure=cure)


def _missing(match: re.Match[str]) -> Diagnostic:
    return Diagnostic("CMP091", f"{match[1]} is not installed", cure="pip install jax-composer")


def _backend(match: re.Match[str]) -> Diagnostic:
    return Diagnostic(
        "CMP088",
        f'JAX cannot start the backend "{match[1]}"',
        notes=(f"it said: {match[2].strip()}",),
        cure="unset JAX_PLATFORMS",
    )


_EXPLAINERS: Final[tuple[tuple[str, Explainer], ...]] = (
    (r"jaxlib version (\S+) is newer than and\s+incompatible with jax version ([\w.]*\w)", _newer),
    (r"jaxlib is version (\S+), but this version of jax requires version >= ?([\w.]*\w)", _older),
    (
        (
            r"JAX plugin (\w+) version (\S+) is installed, but\s+it is not compatible with the "
            r"installed jaxlib version ([\w.]*\w)"
        ),
        _plugin,
    ),
    (
        (
            r"Mismatched PJRT plugin PJRT API version \(([\d.]+)\) and framework PJRT API version "
            r"\(?([\d.]+)"
        ),
        _pjrt,
    ),
    (r"Possibly insufficient driver version: (?P<driver>[\d.]*\d)", _driver),
    (r"CUDA driver version is insufficient for CUDA runtime version", _driver),
    (r"CUDA_ERROR_UNSUPPORTED_PTX_VERSION|compiled with an unsupported toolchain", _driver),
    (r"Unable to load (\w+)\. Is it installed\?", _not_loaded),
    (r"Could not load (?:dynamic )?library '?(lib(?:cu|nccl|nv)[\w.]*\w)", _not_loaded),
    (
        (
            r"Found (?P<name>\w+) version (?P<found>\d+), but JAX was built against version "
            r"(?P<built>\d+)"
        ),
        _outdated,
    ),
    (
        (
            r"Outdated (?P<name>\w+) installation found\.\s+Version JAX was built against: "
            r"(?P<built>\d+)\s+Minimum supported: \d+\s+Installed version: (?P<found>\d+)"
        ),
        _outdated,
    ),
    (
        (
            r"Loaded runtime (?P<name>CuDNN) library: (?P<found>[\d.]*\d) but source was compiled "
            r"with: (?P<built>[\d.]*\d)"
        ),
        _outdated,
    ),
    (r"jaxlib\s*={2,4}\s*([\w.]+\+cuda[\w.]*\w)", _monolith),
    (r"\bjax\[([^\]\s]*)\]", _extra),
    (r"does not provide the extra '(cuda[\w.-]*)'", _extra),
    (r"\b((?:jax|jax_cuda|jaxlib_nightly_\w+|libtpu)_releases\.html)", _links),
    (r"Requires-Python >=3\.1[2-9][\s\S]*?requirement (jax(?:lib)?[=<>~!][^\s(;]*)", _python),
    (r"No module named '(jax|jaxlib)'", _missing),
    (r"[Nn]o GPU/TPU found, falling back to CPU", _cpu_only),
    (r"CUDA-enabled jaxlib is not installed\.\s+Falling back to cpu", _cpu_only),
    (r"no supported devices found for platform CUDA|CUDA_ERROR_NO_DEVICE", _no_device),
    (r"Unable to initialize backend '(\w+)': (.*)", _backend),
    (r"Backend '(\w+)' failed to initialize: (.*)", _backend),
)
