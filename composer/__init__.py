"""composer: an ordered stack of JAX transforms, declared, checked and composed at no cost.

Importing this module imports neither JAX nor any transform: names are loaded on use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from composer._api import Stack as Stack
    from composer._api import check as check
    from composer._api import code as code
    from composer._api import lint as lint
    from composer._api import load as load
    from composer._api import loads as loads
    from composer._compose import compose as compose
    from composer._overlay.edits import Drop as Drop
    from composer._overlay.edits import InsertAfter as InsertAfter
    from composer._overlay.edits import InsertBefore as InsertBefore
    from composer._overlay.edits import Set as Set
    from composer._pipeline import Layer as Layer
    from composer._pipeline import Pipeline as Pipeline
    from composer._retrace import MaxTraces as MaxTraces
    from composer._retrace import RetraceWarning as RetraceWarning
    from composer.errors import ComposeError as ComposeError
    from composer.errors import ComposerError as ComposerError
    from composer.errors import Diagnostic as Diagnostic
    from composer.errors import InputError as InputError
    from composer.errors import PipelineError as PipelineError
    from composer.errors import PluginError as PluginError
    from composer.errors import SetupError as SetupError
    from composer.transforms.apply import Apply as Apply
    from composer.transforms.cast import Cast as Cast
    from composer.transforms.checkify import Checkify as Checkify
    from composer.transforms.checkpoint import Checkpoint as Checkpoint
    from composer.transforms.collective import Collective as Collective
    from composer.transforms.grad import Grad as Grad
    from composer.transforms.hessian import Hessian as Hessian
    from composer.transforms.jacfwd import Jacfwd as Jacfwd
    from composer.transforms.jacrev import Jacrev as Jacrev
    from composer.transforms.jit import Jit as Jit
    from composer.transforms.jvp import Jvp as Jvp
    from composer.transforms.map import Map as Map
    from composer.transforms.partial import Partial as Partial
    from composer.transforms.pmap import Pmap as Pmap
    from composer.transforms.reduce import Reduce as Reduce
    from composer.transforms.repeat import Repeat as Repeat
    from composer.transforms.scan import Scan as Scan
    from composer.transforms.select import Select as Select
    from composer.transforms.shard_map import ShardMap as ShardMap
    from composer.transforms.split_key import SplitKey as SplitKey
    from composer.transforms.stop_gradient import StopGradient as StopGradient
    from composer.transforms.then import Then as Then
    from composer.transforms.value_and_grad import ValueAndGrad as ValueAndGrad
    from composer.transforms.vjp import Vjp as Vjp
    from composer.transforms.vmap import Vmap as Vmap

__version__: Final = "0.1.0"

_HOME: Final = {
    "_api": ("Stack", "check", "code", "lint", "load", "loads"),
    "_compose": ("compose",),
    "_overlay.edits": ("Drop", "InsertAfter", "InsertBefore", "Set"),
    "_pipeline": ("Layer", "Pipeline"),
    "_retrace": ("MaxTraces", "RetraceWarning"),
    "errors": (
        "ComposeError", "ComposerError", "Diagnostic", "InputError", "PipelineError",
        "PluginError", "SetupError",
    ),
    "transforms.apply": ("Apply",),
    "transforms.cast": ("Cast",),
    "transforms.checkify": ("Checkify",),
    "transforms.checkpoint": ("Checkpoint",),
    "transforms.collective": ("Collective",),
    "transforms.grad": ("Grad",),
    "transforms.hessian": ("Hessian",),
    "transforms.jacfwd": ("Jacfwd",),
    "transforms.jacrev": ("Jacrev",),
    "transforms.jit": ("Jit",),
    "transforms.jvp": ("Jvp",),
    "transforms.map": ("Map",),
    "transforms.partial": ("Partial",),
    "transforms.pmap": ("Pmap",),
    "transforms.reduce": ("Reduce",),
    "transforms.repeat": ("Repeat",),
    "transforms.scan": ("Scan",),
    "transforms.select": ("Select",),
    "transforms.shard_map": ("ShardMap",),
    "transforms.split_key": ("SplitKey",),
    "transforms.stop_gradient": ("StopGradient",),
    "transforms.then": ("Then",),
    "transforms.value_and_grad": ("ValueAndGrad",),
    "transforms.vjp": ("Vjp",),
    "transforms.vmap": ("Vmap",),
}  # fmt: skip

_MODULE_OF: Final = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "__version__",
    *sorted(_MODULE_OF),
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module, once."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'composer' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"composer.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All public names, also those that are not loaded yet."""
    return sorted({*globals(), *__all__})
