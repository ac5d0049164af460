"""Versions, and the install commands that cures consist of."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

# NVIDIA's table of minor version compatibility; JAX's own minimum for CUDA 12 is 525.60.13.
DRIVER_FOR_CUDA: Final[Mapping[int, tuple[int, ...]]] = MappingProxyType(
    {12: (525, 60, 13), 13: (580,)}
)
NEW_DRIVER: Final = "install NVIDIA driver 580 or newer"
CUDA_BY_DRIVER: Final = (
    'pip install --upgrade "jax-composer[cuda13]"   # driver 580 or newer\n'
    'pip install --upgrade "jax-composer[cuda12]"   # driver 525.60.13 or newer'
)

_OPERATORS: Final[Mapping[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]]] = (
    MappingProxyType(
        {
            "<=": operator.le,
            ">=": operator.ge,
            "<": operator.lt,
            ">": operator.gt,
            "==": operator.eq,
            "!=": operator.ne,
        }
    )
)


def version_key(version: str) -> tuple[int, ...]:
    """The numbers at the start of a version, without zeros at its end.

    >>> version_key("0.12.0.1"), version_key("0.10.0") == version_key("0.10")
    ((0, 12, 0, 1), True)
    """
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def satisfies(version: str, wanted: str) -> bool:
    """Whether a version is one of those that a requirement such as "<=0.10.2,>=0.10.1" names.

    >>> satisfies("0.10.1", "<=0.10.2,>=0.10.1"), satisfies("0.12.0.1", "<=0.10.2,>=0.10.1")
    (True, False)
    """
    for part in wanted.split(","):
        found = re.fullmatch(r"\s*(<=|>=|==|!=|<|>)\s*([0-9.]+)\s*", part)
        # Jax uses none but these; pip has already checked whatever else may stand here.
        if found and not _OPERATORS[found[1]](version_key(version), version_key(found[2])):
            return False
    return True


def cuda_for(driver: str) -> int | None:
    """The newest CUDA, 13 or 12, that a driver can run; None if it is too old for both.

    >>> [cuda_for(version) for version in ("580.65.06", "535.183.01", "470.82.01")]
    [13, 12, None]
    """
    fitting = [cuda for cuda, least in DRIVER_FOR_CUDA.items() if version_key(driver) >= least]
    return max(fitting, default=None)


def reinstall(extra: str | None = None) -> str:
    """The command that brings jax, jaxlib and the plugin of an extra to one version."""
    jax = "jax" if extra is None else f'"jax[{extra}]"'
    return f"pip install --upgrade {jax} jaxlib"
