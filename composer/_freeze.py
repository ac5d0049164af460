"""Parameters as immutable values, and keys by which equal ones are recognised."""

from __future__ import annotations

import types
from typing import Final, Protocol, runtime_checkable

_SCALARS: Final = (type(None), bool, int, str, bytes, complex)
_PLAIN_FUNCTIONS: Final = (types.FunctionType, types.BuiltinFunctionType, type)


@runtime_checkable
class Keyed(Protocol):
    """A value that knows its key, such as a layer inside a layer."""

    def stack_key(self) -> object:
        """Equal for equal values only."""
        ...


class Uncacheable(TypeError):
    """The value has no key under which it could be found again."""


def frozen(value: object) -> object:
    """The value with every list turned into a tuple, and mappings copied.

    JAX refuses lists in out_axes, specs and axis names; and a caller who changes
    a list afterwards must not change a layer.

    >>> frozen({"x": [0, [None]]})
    {'x': (0, (None,))}
    """
    if type(value) in (list, tuple):
        return tuple(frozen(item) for item in value)  # type: ignore[attr-defined]  # seen above
    if type(value) is dict:
        return {key: frozen(item) for key, item in value.items()}
    return value


def thawed(value: object) -> object:
    """The value as plain YAML data: tuples become lists again."""
    if isinstance(value, tuple):
        return [thawed(item) for item in value]
    if isinstance(value, dict):
        return {key: thawed(item) for key, item in value.items()}
    return value


def canonical_key(value: object) -> object:
    """A hashable key; equal keys mean values that no transform can tell apart.

    Types are part of the key, since 0, 0.0 and False are equal in Python but not in JAX.

    Raises:
        Uncacheable: arrays, bound methods and other values without a lasting identity.

    >>> canonical_key(0) == canonical_key(False)
    False
    """
    if isinstance(value, float):
        return (type(value), value.hex())
    if isinstance(value, _SCALARS):
        return (type(value), value)
    if isinstance(value, dict):
        return (dict, frozenset((canonical_key(k), canonical_key(v)) for k, v in value.items()))
    if isinstance(value, tuple | list):
        return (type(value), tuple(canonical_key(item) for item in value))
    if isinstance(value, frozenset | set):
        return (type(value), frozenset(canonical_key(item) for item in value))
    if isinstance(value, _PLAIN_FUNCTIONS):
        return (type(value), value)
    # JAX's own descriptions (meshes, shardings, devices, dtypes) compare by value.
    if type(value).__module__.partition(".")[0] in ("jax", "jaxlib", "numpy") and not hasattr(
        value, "__array__"
    ):
        return (type(value), _hashable(value))
    if isinstance(value, Keyed):
        return value.stack_key()
    raise Uncacheable(f"a {type(value).__name__} has no key")


def _hashable(value: object) -> object:
    try:
        hash(value)
    except TypeError:
        raise Uncacheable(f"a {type(value).__name__} has no key") from None
    return value
