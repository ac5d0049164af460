"""Derivatives by central differences in float64: slow, and right without any AD.

Imports JAX; used by the references of the derivative transforms only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from composer.transforms._keys import is_key

STEP = 2e-3
"""Relative step: the five-point formula errs by about step^4 and by 1e-16 / step."""


def _float64(tree: Any) -> Any:
    """Floating leaves as NumPy float64, complex ones as complex128, the rest untouched."""

    def widen(leaf: Any) -> Any:
        kind = np.asarray(leaf).dtype.kind if not is_key(leaf) else "k"
        # bfloat16 and float8 are of kind V for NumPy.
        if kind == "c":
            return np.asarray(leaf, np.complex128)
        return np.asarray(leaf, np.float64) if kind in "fV" else leaf

    return jax.tree.map(widen, tree)


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return jax.tree.map(np.asarray, fn(*args, **kwargs))


def _directions(tree: Any) -> Iterator[tuple[int, tuple[int, ...], float]]:
    """Each element of each leaf: number of the leaf, index, and a step of its size."""
    for number, leaf in enumerate(jax.tree.leaves(tree)):
        for index in np.ndindex(np.shape(leaf)):
            yield number, index, STEP * max(1.0, abs(float(np.real(leaf[index]))))


def _moved(tree: Any, number: int, index: tuple[int, ...], by: float) -> Any:
    leaves, treedef = jax.tree.flatten(tree)
    leaves[number] = np.array(leaves[number])
    leaves[number][index] += by
    return jax.tree.unflatten(treedef, leaves)


def _five_points(f: Callable[[float], Any], h: float) -> Any:
    """df/dt at 0 to fourth order in h, for every leaf of f's output."""
    return jax.tree.map(
        lambda a, b, c, d: (a - 8 * b + 8 * c - d) / (12 * h), f(-2 * h), f(-h), f(h), f(2 * h)
    )


def jacobian(
    fn: Callable[..., Any], argnums: int | tuple[int, ...], has_aux: bool
) -> Callable[..., Any]:
    """The Jacobian of `fn` as a function of the same arguments, in float64.

    Returns:
        A callable giving f64[output..., argument...], nested outputs first, then a
        tuple if `argnums` is one, then the argument's own tree.
    """
    value = value_only(fn, has_aux)

    def one(args: list[Any], kwargs: dict[str, Any], num: int) -> Any:
        at = args[num]
        leaves, treedef = jax.tree.flatten(at)
        slopes: list[list[Any]] = [[] for _ in leaves]

        for number, index, h in _directions(at):

            def along(t: float, number: int = number, index: tuple[int, ...] = index) -> Any:
                moved = [*args[:num], _moved(at, number, index, t), *args[num + 1 :]]
                return _call(value, tuple(moved), kwargs)

            slopes[number].append(_five_points(along, h))

        outputs, out_def = jax.tree.flatten(_call(value, tuple(args), kwargs))
        columns = [
            jax.tree.unflatten(
                treedef,
                [_assemble(s, k, out, leaf) for s, leaf in zip(slopes, leaves, strict=True)],
            )
            for k, out in enumerate(outputs)
        ]
        return jax.tree.unflatten(out_def, columns)

    def differences(*args: Any, **kwargs: Any) -> Any:
        with jax.enable_x64(True):
            wide = list(_float64(args))
            nums = argnums if isinstance(argnums, tuple) else (argnums,)
            parts = [one(wide, kwargs, num) for num in nums]
            out = (
                parts[0]
                if not isinstance(argnums, tuple)
                else _tuple_inside(parts, fn, wide, kwargs, value)
            )
            return (out, _call(fn, tuple(wide), kwargs)[1]) if has_aux else out

    return differences


def _assemble(slopes: list[Any], number: int, out: Any, leaf: Any) -> Any:
    """Columns df/dx[i] of one output leaf put together as [output..., argument...]."""
    columns = [jax.tree.leaves(slope)[number] for slope in slopes]
    shape = np.shape(out) + np.shape(leaf)
    if not columns:
        return np.zeros(shape)
    return np.moveaxis(np.stack(columns), 0, -1).reshape(shape)


def _tuple_inside(
    parts: list[Any],
    fn: Callable[..., Any],
    args: list[Any],
    kwargs: dict[str, Any],
    value: Callable[..., Any],
) -> Any:
    """Outputs outside, the tuple over arguments inside, as JAX nests them."""
    outputs: Any = jax.tree.structure(_call(value, tuple(args), kwargs))
    split = [outputs.flatten_up_to(part) for part in parts]
    return jax.tree.unflatten(outputs, [tuple(column) for column in zip(*split, strict=True)])


def gradient(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: int | tuple[int, ...],
    has_aux: bool,
) -> tuple[Any, Any, Any]:
    """(value, gradient, aux) of a scalar function by differences; aux is None without one."""
    grads = jacobian(fn, argnums, has_aux)(*args, **kwargs)
    out = _call(fn, args, kwargs)
    value, aux = out if has_aux else (out, None)
    return value, grads[0] if has_aux else grads, aux


def value_only(fn: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    """`fn` without the auxiliary data that it may return."""

    def value(*args: Any, **kwargs: Any) -> Any:
        out = fn(*args, **kwargs)
        return out[0] if has_aux else out

    return value


def directional(
    fn: Callable[..., Any], call: Any, primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> Any:
    """The derivative at `primals` along `tangents`, in float64.

    Args:
        fn: Makes of the whole call the function of the primals alone.
        call: All arguments of the call, which are widened too.
        primals: Where.
        tangents: Which way; floating only.
    """
    with jax.enable_x64(True):
        at, along = _float64(primals), _float64(tangents)
        inner = fn(_float64(call))
        longest = max(float(np.max(np.abs(t), initial=0)) for t in jax.tree.leaves(along))

        def moved(by: float) -> Any:
            return _call(inner, jax.tree.map(lambda p, t: p + by * t, at, along), {})

        return _five_points(moved, STEP / max(1.0, longest))


def weighted_gradient(
    fn: Callable[..., Any], call: Any, primals: tuple[Any, ...], cotangent: Any
) -> tuple[Any, ...]:
    """The gradient of the sum of cotangent times output, in float64; float0 for integers.

    `fn` and `call` are as for `directional`.
    """
    leaves, treedef = jax.tree.flatten(primals)
    floating = [number for number, leaf in enumerate(leaves) if _is_floating(leaf)]
    with jax.enable_x64(True):
        inner, weights = fn(_float64(call)), jax.tree.leaves(_float64(cotangent))

    def weighted(*values: Any) -> Any:
        at = list(leaves)
        for number, value in zip(floating, values, strict=True):
            at[number] = value
        out = jax.tree.leaves(_call(inner, jax.tree.unflatten(treedef, at), {}))
        return sum(
            np.sum(weight * part)
            for weight, part in zip(weights, out, strict=True)
            if _is_floating(part)
        )

    numbers = tuple(range(len(floating)))
    grads = jacobian(weighted, numbers, False)(*(leaves[number] for number in floating))
    found = [np.zeros(np.shape(leaf), jax.dtypes.float0) for leaf in leaves]
    for number, grad in zip(floating, grads, strict=True):
        found[number] = grad
    return tuple(jax.tree.unflatten(treedef, found))


def _is_floating(leaf: Any) -> bool:
    # bfloat16 and float8 are of kind V for NumPy, and so is float0.
    if is_key(leaf) or np.asarray(leaf).dtype == jax.dtypes.float0:
        return False
    return np.asarray(leaf).dtype.kind in "fV"
