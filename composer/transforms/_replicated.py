"""Whether an output that comes back once is the same on every device. Imports JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final

import jax

from composer.plugin import ComposeError, Context, fail, rehearsal
from composer.transforms._outputs import leaves_with_paths

JOINING: Final = frozenset({"psum", "pmax", "pmin", "all_gather"})
"""Primitives after which all devices of the axis hold one value."""
MOVING: Final = frozenset({"axis_index", "ppermute", "all_to_all", "reduce_scatter"})
"""Primitives after which each device of the axis holds its own."""
CALLS: Final = frozenset({"jit", "pjit", "closed_call", "remat", "checkpoint", "custom_jvp_call"})


class On(Enum):
    """What is known of a value over the devices."""

    SAME = 0
    UNSURE = 1
    OWN = 2


def refuse_own_values(mapped: Callable[..., Any], call: tuple[Any, ...], ctx: Context) -> None:
    """Refuse a null in `out_axes` for an output of which each device has its own value.

    JAX would hand out the first device's value as if it were everyone's. Returns without
    a word where the program does not decide it (collectives inside loops or branches).

    Args:
        mapped: The mapped function.
        call: Its arguments; they are traced only.
        ctx: The layer's.

    Raises:
        ComposeError: CMP216, with the output.
    """
    with rehearsal():
        made, shape = jax.make_jaxpr(mapped, return_shape=True)(*call)
    found = next(_shard_maps(_open(made)), None)
    if found is None:
        return
    states = [On.OWN if _splits(spec) else On.SAME for spec in found.params["in_specs"]]
    results = _states(_open(found.params["jaxpr"]), states)
    paths = [path for path, _ in leaves_with_paths(shape)]
    for number, (spec, state) in enumerate(zip(found.params["out_specs"], results, strict=True)):
        if state is On.OWN and not _splits(spec):
            path = paths[number] if len(paths) == len(results) else ()
            raise _own(".".join(map(str, path)), ctx)


def _open(jaxpr: Any) -> Any:
    """A jaxpr without its constants: make_jaxpr closes it in JAX 0.10 and not in 0.12."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def _shard_maps(jaxpr: Any) -> Iterator[Any]:
    """The shard_map equations of a program, also those inside a jit."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "shard_map":
            yield equation
        elif equation.primitive.name in CALLS and "jaxpr" in equation.params:
            yield from _shard_maps(_open(equation.params["jaxpr"]))


def _splits(spec: Any) -> bool:
    return any(entry is not None for entry in spec)


def _states(jaxpr: Any, inputs: list[On]) -> list[On]:
    """The state of each output, from those of the inputs."""
    # By identity: literals among the inputs of an equation have no hash.
    known = {id(var): state for var, state in zip(jaxpr.invars, inputs, strict=True)}
    for equation in jaxpr.eqns:
        given = [known.get(id(var), On.SAME) for var in equation.invars]
        for var, state in zip(equation.outvars, _after(equation, given), strict=True):
            known[id(var)] = state
    return [known.get(id(var), On.SAME) for var in jaxpr.outvars]


def _after(equation: Any, given: list[On]) -> list[On]:
    """The state of an equation's outputs."""
    name, count = equation.primitive.name, len(equation.outvars)
    if name in JOINING:
        return [On.SAME] * count
    if name in MOVING:
        return [On.OWN] * count
    inner = equation.params.get("jaxpr", equation.params.get("call_jaxpr"))
    if name in CALLS and inner is not None and len(_open(inner).invars) == len(given):
        return _states(_open(inner), given)
    worst = max(given, key=lambda state: state.value, default=On.SAME)
    if worst is On.OWN and _has_collective(equation):
        worst = On.UNSURE
    return [worst] * count


def _has_collective(equation: Any) -> bool:
    """Whether a collective may stand in the programs that an equation holds."""
    text = str(equation) if any(_is_program(value) for value in equation.params.values()) else ""
    return any(word in text for word in JOINING | MOVING)


def _is_program(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(_is_program(item) for item in value)
    return hasattr(_open(value), "eqns") or callable(value)


def _own(name: str, ctx: Context) -> Exception:
    return fail(
        ComposeError,
        "CMP216",
        f"{ctx.word}: out_axes is null for {repr(name) if name else 'the output'},"
        " of which each device has its own value",
        place=ctx.place,
        cure="sync: pmean     # or psum, pmax, pmin: one value for all; or\n"
        "out_axes: 0     # one value a device",
    )
