"""What does not fit, thought out from facts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from composer._doctor.advice import (
    DRIVER_FOR_CUDA,
    NEW_DRIVER,
    cuda_for,
    reinstall,
    satisfies,
    version_key,
)
from composer._doctor.explain import explain
from composer._doctor.facts import Facts
from composer.errors import Diagnostic

_GPU_NAMES: Final = frozenset({"gpu", "cuda"})
_CAUSES_OF_AN_UNUSED_GPU: Final = frozenset({"CMP094", "CMP096", "CMP097"})


def diagnose(facts: Facts) -> list[Diagnostic]:
    """Everything that is wrong or worth knowing, causes before what follows from them."""
    found = [finding for check in _CHECKS for finding in check(facts)]
    known = {finding.code for finding in found}
    found += [finding for finding in _start(facts) if finding.code not in known]
    # An unused GPU is no news beside the reason why it is not used.
    if not known & _CAUSES_OF_AN_UNUSED_GPU:
        found += _gpu(facts)
    return found


def _packages(facts: Facts) -> Iterator[Diagnostic]:
    missing = [name for name in ("jax", "jaxlib") if name not in facts.packages]
    if missing:
        yield Diagnostic(
            "CMP091",
            f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} not installed",
            cure="pip install jax-composer",
        )


def _pair(facts: Facts) -> Iterator[Diagnostic]:
    """jaxlib is neither newer than jax nor older than jax asks for."""
    jax, jaxlib = facts.packages.get("jax"), facts.packages.get("jaxlib")
    if jax is None or jaxlib is None:
        return
    cure = reinstall(next((f"cuda{cuda}" for cuda in _cuda_plugins(facts)), None))
    if version_key(jaxlib) > version_key(jax):
        yield Diagnostic("CMP093", f"jaxlib {jaxlib} is newer than jax {jax}", cure=cure)
    elif facts.jaxlib_wanted is not None and not satisfies(jaxlib, facts.jaxlib_wanted):
        message = f"jax {jax} needs jaxlib{facts.jaxlib_wanted}, but jaxlib {jaxlib} is installed"
        yield Diagnostic("CMP093", message, cure=cure)


def _cuda_plugins(facts: Facts) -> list[int]:
    """The major versions of CUDA that a plugin is installed for."""
    return [cuda for cuda in DRIVER_FOR_CUDA if f"jax-cuda{cuda}-plugin" in facts.packages]


def _plugin_versions(facts: Facts) -> Iterator[Diagnostic]:
    """JAX does not use a plugin whose version differs from jaxlib's."""
    jaxlib = facts.packages.get("jaxlib")
    for cuda in _cuda_plugins(facts):
        for part in ("plugin", "pjrt"):
            name = f"jax-cuda{cuda}-{part}"
            version = facts.packages.get(name)
            if jaxlib and version and version_key(version) != version_key(jaxlib):
                yield Diagnostic(
                    "CMP094",
                    f"{name} {version} does not fit jaxlib {jaxlib}: JAX will not use the GPU",
                    cure=reinstall(f"cuda{cuda}"),
                )


def _two_plugins(facts: Facts) -> Iterator[Diagnostic]:
    if len(_cuda_plugins(facts)) < 2:
        return
    cuda = 12 if facts.driver is not None and cuda_for(facts.driver) == 12 else 13
    other = 25 - cuda
    yield Diagnostic(
        "CMP094",
        "the plugins for CUDA 12 and for CUDA 13 are both installed, and only one can be used",
        cure=f"pip uninstall jax-cuda{other}-plugin jax-cuda{other}-pjrt",
    )


def _driver(facts: Facts) -> Iterator[Diagnostic]:
    """The driver must be new enough for the plugin; without one, for any plugin at all."""
    if facts.driver is None:
        return
    best, plugins = cuda_for(facts.driver), _cuda_plugins(facts)
    if best is None:
        yield Diagnostic(
            "CMP096",
            f"NVIDIA driver {facts.driver} is too old for JAX: CUDA 12 needs 525.60.13, "
            "CUDA 13 needs 580",
            cure=NEW_DRIVER,
            severity="error" if plugins else "warning",
        )
    elif plugins == [13] and best == 12:
        yield Diagnostic(
            "CMP096",
            f"NVIDIA driver {facts.driver} is too old for CUDA 13, which needs 580",
            cure="pip uninstall jax-cuda13-plugin jax-cuda13-pjrt\n"
            'pip install "jax-composer[cuda12]"',
        )


def _libraries(facts: Facts) -> Iterator[Diagnostic]:
    """CUDA libraries on LD_LIBRARY_PATH win over those that pip installed for JAX."""
    from_pip = any(f"nvidia-cudnn-cu{cuda}" in facts.packages for cuda in DRIVER_FOR_CUDA)
    if facts.cuda_folders and from_pip:
        yield Diagnostic(
            "CMP097",
            "LD_LIBRARY_PATH puts other CUDA libraries before those that pip installed for JAX",
            notes=(f"found in: {', '.join(facts.cuda_folders)}",),
            cure="unset LD_LIBRARY_PATH",
            severity="warning" if _sees_gpu(facts) else "error",
        )


def _python(facts: Facts) -> Iterator[Diagnostic]:
    if facts.python < (3, 12, 0):
        version = ".".join(str(part) for part in facts.python[:2])
        yield Diagnostic(
            "CMP089",
            f"Python {version} gets jax 0.10.2 at most: newer JAX needs Python 3.12",
            cure="python3.12 -m venv .venv\n.venv/bin/pip install jax-composer",
            severity="info",
        )


def _namesakes(facts: Facts) -> Iterator[Diagnostic]:
    for other in facts.others:
        yield Diagnostic(
            "CMP099",
            f'the distribution "{other}" also owns the package or the command "composer": '
            "whichever was installed last overwrote the other",
            cure=f"pip uninstall {other}\npip install --force-reinstall --no-deps jax-composer",
        )
    if facts.command is not None:
        whose = f"{facts.command.kind}'s" if facts.command.kind else "another program's"
        yield Diagnostic(
            "CMP099",
            f'the command "composer" on the PATH is {whose}: {facts.command.path}',
            cure="jax-composer run FILE",
            severity="warning",
        )


def _start(facts: Facts) -> Iterator[Diagnostic]:
    """What JAX printed when it did not start, and what that means."""
    if facts.device_error is None or "jax" not in facts.packages:
        return
    explained = explain(facts.device_error)
    if all(finding.code != "CMP088" for finding in explained):
        last = facts.device_error.rstrip().splitlines()[-1]
        yield Diagnostic(
            "CMP088", "JAX does not start on this machine", notes=(f"it said: {last}",)
        )
    yield from explained


def _gpu(facts: Facts) -> Iterator[Diagnostic]:
    """A GPU that JAX does not use."""
    if not facts.gpus or not facts.devices or _sees_gpu(facts) or facts.driver is None:
        return
    gpu = f"an NVIDIA GPU ({facts.gpus[0]}, driver {facts.driver}) is present"
    hidden = _hidden_by(facts)
    if not _cuda_plugins(facts):
        yield Diagnostic(
            "CMP095",
            f"{gpu}, but JAX is installed for the CPU only",
            cure=f'pip install "jax-composer[cuda{cuda_for(facts.driver)}]"',
            severity="warning",
        )
    elif hidden is not None:
        name, value = hidden
        yield Diagnostic(
            "CMP095",
            f"{gpu}, but {name}={value!r} hides it from JAX",
            cure=f"unset {name}",
            severity="info",
        )
    else:
        yield Diagnostic(
            "CMP095",
            f"{gpu} and JAX's plugin for it is installed, but JAX does not see it",
            cure='TF_CPP_MIN_LOG_LEVEL=0 python -c "import jax; jax.devices()" 2>&1 '
            "| composer doctor --explain -",
        )


def _sees_gpu(facts: Facts) -> bool:
    return any(device.split(":")[0] in _GPU_NAMES for device in facts.devices)


def _hidden_by(facts: Facts) -> tuple[str, str] | None:
    """The variable that keeps JAX from the GPU on purpose, with its value."""
    platforms = facts.env.get("JAX_PLATFORMS", "")
    if platforms and not _GPU_NAMES & {name.strip() for name in platforms.split(",")}:
        return "JAX_PLATFORMS", platforms
    visible = facts.env.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in ("", "-1"):
        return "CUDA_VISIBLE_DEVICES", visible
    return None


_CHECKS: Final[tuple[Callable[[Facts], Iterator[Diagnostic]], ...]] = (
    _packages,
    _pair,
    _plugin_versions,
    _two_plugins,
    _driver,
    _libraries,
    _namesakes,
    _python,
)
