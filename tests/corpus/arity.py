"""How many arguments the function of a mined stack takes. Imports nothing of composer."""

from __future__ import annotations

from typing import Any, Final

from corpus.filling import DERIVATIVES, names, numbers
from corpus.mined import Entry

LOOPS: Final = {
    "lax.scan": 2, "lax.fori_loop": 2, "lax.while_loop": 1, "lax.map": 1,
    "lax.associative_scan": 2,
}  # fmt: skip
"""Loops by how many arguments their body takes."""


def binds_self(entry: Entry) -> bool:
    """Whether the first layer wraps a function of `self`, and the second its bound method."""
    first = entry.steps[0]
    is_method = first.transform == "jit" and 0 in numbers(first.kwargs.get("static_argnums"))
    return entry.hint.has_self and is_method and entry.steps[1].transform in DERIVATIVES


def count_arguments(entry: Entry) -> int:
    """How many arguments the function takes by position, without those bound by name."""
    exact, least = [], [1]
    dropped = 0
    for number, step in enumerate(entry.steps):
        if number == 1 and binds_self(entry):
            dropped += 1
        if step.transform == "partial":
            dropped += int(step.kwargs.get("n_args", 0))
            least.append(dropped)
        fixed, floor = _wanted(step.transform, step.kwargs)
        exact += [] if fixed is None else [fixed + dropped]
        least.append(floor + dropped)
    if exact:
        return max(exact)
    hint = entry.hint
    if hint.called is not None:
        return max(hint.called + dropped, *(least if hint.called else [0]))
    if hint.positional is not None and not hint.var_positional:
        bound = bound_names(entry)
        by_position = bound[hint.keyword_only :]
        return max(hint.positional - hint.has_self - len(by_position), *least)
    return max(2, *least)


def _wanted(transform: str, kwargs: Any) -> tuple[int | None, int]:
    """How many arguments a transform says that there are, and how many at least."""
    for name in ("in_axes", "in_specs", "in_shardings"):
        value = kwargs.get(name)
        if isinstance(value, list):
            statics = (
                *numbers(kwargs.get("static_argnums")),
                *names(kwargs.get("static_argnames")),
            )
            return len(value) + (len(statics) if name == "in_shardings" else 0), 0
    if transform in LOOPS:
        return LOOPS[transform], 0
    if isinstance(kwargs.get("n_primals"), int):
        return kwargs["n_primals"], 0
    if transform == "vectorize":
        signature = kwargs["signature"]
        return (1 if signature == "<var>" else signature.partition("->")[0].count("(")), 0
    if transform == "linear_transpose":
        return 1, 0
    used = [
        n + 1
        for name in ("argnums", "static_argnums", "donate_argnums", "nondiff_argnums",
                     "static_broadcasted_argnums")
        for n in numbers(kwargs.get(name))
    ]  # fmt: skip
    return None, max(used, default=0)


def bound_names(entry: Entry) -> list[str]:
    found = [n for step in entry.steps if step.transform == "partial"
             for n in names(step.kwargs.get("kw"))]  # fmt: skip
    return list(dict.fromkeys("extra" if name == "**" else name for name in found))
