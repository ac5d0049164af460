"""The innermost functions: a few lines of arithmetic with the arguments that a stack asks for."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Leaf:
    """One output of the function.

    Attributes:
        scalar: Whether it is summed up.
        uses: Names of the arguments that it depends on; None for all.
        mean_over: Axes that it is averaged over with pmean.
        like: The argument whose shape it has; None for the first array.
    """

    scalar: bool = False
    uses: frozenset[str] | None = None
    mean_over: tuple[str, ...] = ()
    like: str | None = None
    linear: bool = False


def double(value: Any) -> Any:
    """A function to pass as an argument."""
    return value + value


def make_function(
    parameters: tuple[inspect.Parameter, ...], outputs: Any, static: frozenset[str]
) -> Callable[..., Any]:
    """A pure function of these parameters.

    Args:
        parameters: What it takes, in order.
        outputs: A tree of tuples and dicts of `Leaf`.
        static: Arguments that must be Python integers when it is traced.
    """
    signature = inspect.Signature(parameters)

    def loss(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return jax.tree.map(
            lambda leaf: _output(leaf, _named(bound, parameters), static),
            outputs,
            is_leaf=lambda node: isinstance(node, Leaf),
        )

    loss.__signature__ = signature
    return loss


def _named(
    bound: inspect.BoundArguments, parameters: tuple[inspect.Parameter, ...]
) -> dict[str, Any]:
    """Values by name, those in `*args` and `**kwargs` too."""
    found = dict(bound.arguments)
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            values = found.pop(parameter.name, ())
            found |= {f"{parameter.name}[{i}]": value for i, value in enumerate(values)}
        if parameter.kind is parameter.VAR_KEYWORD:
            found |= found.pop(parameter.name, {})
    return found


def _output(leaf: Leaf, values: Mapping[str, Any], static: frozenset[str]) -> Any:
    used = {name: v for name, v in values.items() if leaf.uses is None or name in leaf.uses}
    arrays = {name: v for name, v in used.items() if name not in static and _is_array(v)}
    first = leaf.like if leaf.like in arrays else next(iter(arrays), None)
    lead = jnp.float32(1) if first is None else _floating(jax.tree.leaves(arrays[first])[0])
    if leaf.linear:
        return 3.0 * lead + jnp.sum(lead)
    others = [jax.tree.leaves(v)[n:] for n, v in ((int(k == first), v) for k, v in arrays.items())]
    # Sums over whole arrays, so that a vmap left out makes another program.
    factor = 1.5 + jnp.sum(jnp.cos(lead))
    factor += sum(jnp.sum(jnp.sin(_floating(x))) for rest in others for x in rest)
    for name, value in values.items():
        factor = _with_setting(factor, value, static=name in static)
    out = jnp.tanh(lead) * factor
    out = jnp.sum(out) if leaf.scalar else out
    return jax.lax.pmean(out, leaf.mean_over) if leaf.mean_over else out


def _is_array(value: Any) -> bool:
    found = jax.tree.leaves(value)
    return bool(found) and all(
        hasattr(leaf, "dtype") or (isinstance(leaf, int | float) and not isinstance(leaf, bool))
        for leaf in found
    )


def _floating(value: Any) -> Any:
    """Integers, such as the counter of a loop, as float32."""
    value = jnp.asarray(value)
    return value if jnp.issubdtype(value.dtype, jnp.floating) else value.astype(jnp.float32)


def _with_setting(factor: Any, value: Any, *, static: bool) -> Any:
    """What an argument that is no array changes."""
    if static:
        return factor * operator.index(value)
    if isinstance(value, bool):
        return -factor if value else factor
    if isinstance(value, str):
        return factor + float(len(value))
    return value(factor) if callable(value) else factor
