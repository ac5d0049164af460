"""Decorators as somebody who uses JAX writes them, for `apply`: what JAX offers in other forms.

Imports nothing of composer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax

Fn = Callable[..., Any]


def with_jvp(fn: Fn, nondiff_argnums: tuple[int, ...] = ()) -> Fn:
    """`fn` with a derivative rule of its own: twice what JAX finds."""
    made = jax.custom_jvp(fn, nondiff_argnums=nondiff_argnums)

    @made.defjvp
    def rule(*given: Any) -> Any:
        *fixed, primals, tangents = given
        value, tangent = jax.jvp(lambda *args: fn(*args, *fixed), primals, tangents)
        return value, 2.0 * tangent

    return made


def with_vjp(fn: Fn) -> Fn:
    """`fn` with a gradient rule of its own: that of JAX."""
    made = jax.custom_vjp(fn)
    made.defvjp(lambda *args: (fn(*args), args), lambda args, ct: jax.vjp(fn, *args)[1](ct))
    return made


def with_filtered_vjp(fn: Fn) -> Fn:
    """The same for equinox's custom_vjp."""
    import equinox

    made = equinox.filter_custom_vjp(fn)
    made.def_fwd(lambda perturbed, *args: (fn(*args), args))
    made.def_bwd(lambda args, ct, perturbed, *again: jax.vjp(fn, *args)[1](ct)[0])
    return made


def with_graph_vjp(fn: Fn, **options: Any) -> Fn:
    """The same for flax's custom_vjp."""
    from flax import nnx

    made = nnx.custom_vjp(fn, **options)

    def backward(args: Any, ct: Any) -> Any:
        # With graph updates the cotangents of the updated arguments come first.
        return jax.vjp(fn, *args)[1](ct[1] if isinstance(ct, tuple) else ct)

    made.defvjp(lambda *args: (fn(*args), args), backward)
    return made


def counted(fn: Fn, steps: int) -> Fn:
    """A loop whose body gets the counter too."""
    return lambda init: lax.fori_loop(0, steps, fn, init)


def until_ten(fn: Fn) -> Fn:
    """A loop that ends when the sum reaches ten."""
    return lambda init: lax.while_loop(lambda x: jax.numpy.sum(x) < 10.0, fn, init)
