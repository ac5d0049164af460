"""The built-in transforms, one file each, offered through the same hooks as a stranger's."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from composer.plugin import hookimpl

CATALOGUE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "grad": "composer.transforms.grad:Grad",
        "value_and_grad": "composer.transforms.value_and_grad:ValueAndGrad",
        "jacfwd": "composer.transforms.jacfwd:Jacfwd",
        "jacrev": "composer.transforms.jacrev:Jacrev",
        "jacobian": "composer.transforms.jacrev:Jacrev",
        "hessian": "composer.transforms.hessian:Hessian",
        "vmap": "composer.transforms.vmap:Vmap",
        "pmap": "composer.transforms.pmap:Pmap",
        "shard_map": "composer.transforms.shard_map:ShardMap",
        "jit": "composer.transforms.jit:Jit",
        "checkpoint": "composer.transforms.checkpoint:Checkpoint",
        "remat": "composer.transforms.checkpoint:Checkpoint",
        "partial": "composer.transforms.partial:Partial",
        "select": "composer.transforms.select:Select",
        "reduce": "composer.transforms.reduce:Reduce",
        "jvp": "composer.transforms.jvp:Jvp",
        "vjp": "composer.transforms.vjp:Vjp",
        "scan": "composer.transforms.scan:Scan",
        "map": "composer.transforms.map:Map",
        "repeat": "composer.transforms.repeat:Repeat",
        "checkify": "composer.transforms.checkify:Checkify",
        "cast": "composer.transforms.cast:Cast",
        "split_key": "composer.transforms.split_key:SplitKey",
        "collective": "composer.transforms.collective:Collective",
        "stop_gradient": "composer.transforms.stop_gradient:StopGradient",
        "then": "composer.transforms.then:Then",
        "apply": "composer.transforms.apply:Apply",
    }
)


@hookimpl
def composer_transforms() -> Mapping[str, str]:
    """The words of the built-ins; each module is imported when its word is used."""
    return CATALOGUE
