"""How often JAX may trace a stack, and what to say when it traces again.

Counted directly beneath the outermost compiling layer: some layers call what is inside
them twice for one compilation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from composer._context import rehearsing
from composer._describe import describe
from composer._signature import Signature
from composer.errors import ComposeError, Diagnostic, Place

Known = dict[str, str]


class RetraceWarning(UserWarning):
    """A stack was traced more often than `max_traces` allows."""


@dataclass(frozen=True, slots=True)
class MaxTraces:
    """How often a stack may be traced.

    Attributes:
        limit: So many traces are fine.
        action: What the next one does: a `RetraceWarning`, or a `ComposeError` (CMP410).
    """

    limit: int
    action: Literal["warn", "error"] = "warn"

    def __post_init__(self) -> None:
        if self.limit < 1:
            message = f"max_traces is a whole number from 1, not {self.limit}"
            raise ComposeError(Diagnostic("CMP033", message, cure="max_traces=1"))

    def to_data(self) -> object:
        """As YAML writes it."""
        if self.action == "warn":
            return self.limit
        return {"limit": self.limit, "action": self.action}


def counted(
    fn: Callable[..., Any], allowed: MaxTraces, sig: Signature, title: str, place: Place | None
) -> Callable[..., Any]:
    """`fn`, which compares what it is traced with to the traces before.

    Raises:
        ComposeError: CMP410, from the traced call, with `action: error`.
    """
    seen: list[Known] = []

    def traced(*args: Any, **kwargs: Any) -> Any:
        if rehearsing():
            return fn(*args, **kwargs)
        now = _kinds(sig, args, kwargs)
        seen.append(now)
        if len(seen) > allowed.limit:
            finding = _finding(seen, now, allowed, title, place)
            if allowed.action == "error":
                raise ComposeError(finding)
            warnings.warn(finding.render(), RetraceWarning, stacklevel=2)
        return fn(*args, **kwargs)

    return traced


def _kinds(sig: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Known:
    """What JAX compiles for, by argument and tree path: dtype, shape, weak type, or value."""
    import jax

    args, kwargs = sig.bind(args, kwargs)
    names = [*sig.positional, *(f"argument {i}" for i in range(len(sig.positional), len(args)))]
    found: Known = {}
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
            weak = " (weak type)" if getattr(leaf, "weak_type", False) else ""
            found[name + jax.tree_util.keystr(path)] = describe(leaf) + weak
    return found


def _finding(
    seen: list[Known], now: Known, allowed: MaxTraces, title: str, place: Place | None
) -> Diagnostic:
    """The difference to the earlier trace that is most like this one."""
    before = min(seen[:-1], key=lambda other: len(_differences(other, now)), default=now)
    changes = _differences(before, now)
    times = "once" if allowed.limit == 1 else f"{allowed.limit} times"
    return Diagnostic(
        "CMP410",
        f"{title} was traced {len(seen)} times, but may be traced {times}",
        place,
        tuple(changes) or ("the arguments are of the same kind: the callable was built anew",),
        _cure(changes),
    )


def _differences(before: Known, now: Known) -> list[str]:
    names = dict.fromkeys((*before, *now))
    return [
        f"{name}: was {before.get(name, 'absent')}, now {now.get(name, 'absent')}"
        for name in names
        if before.get(name) != now.get(name)
    ]


def _cure(changes: list[str]) -> str:
    if not changes:
        return "compose once and keep the callable"
    name, _, rest = changes[0].partition(": was ")
    old, _, new = rest.partition(", now ")
    if "weak type" in rest and old.split(" ")[0] == new.split(" ")[0]:
        return f"jnp.asarray({name}, dtype) in every call: a Python number has a weak type"
    if "[" not in rest:
        return f"{name} as an array argument instead of a static one, if its value changes"
    if old.partition("[")[0] != new.partition("[")[0]:
        return f"one dtype for {name} in every call"
    return f"one shape for {name} in every call: pad, or drop the last batch"
