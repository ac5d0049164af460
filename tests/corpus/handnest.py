"""Mined stacks nested by hand, in plain JAX. Imports nothing of composer."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import jax
import numpy as np
from corpus.filling import DERIVATIVES, MESH, Filled, Spec
from corpus.mined import LIBRARIES
from corpus.slots import LENGTH, Plan
from jax.experimental import checkify
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

Fn = Callable[..., Any]


def nested(made: Plan) -> Fn:
    """The callable that the stack stands for.

    Raises:
        Exception: whatever JAX raises, where it refuses the stack.
    """
    last = made.layers[-1]
    return wrapped(below_the_last(made), last, len(made.live[len(made.layers) - 1]))


def wrapped(fn: Fn, layer: Filled, count: int) -> Fn:
    """One transform around a function of `count` arguments by position."""
    name, kwargs = layer.transform, dict(layer.kwargs)
    if name in DERIVATIVES or name == "vmap":
        return getattr(jax, name)(fn, **kwargs)
    if name not in WRITTEN:
        return of_library(name)(fn, **kwargs)
    return WRITTEN[name](fn, kwargs, count)


def of_library(transform: str) -> Fn:
    """A transform of another library, which is imported here."""
    library, _, name = transform.partition(".")
    found: Fn = getattr(importlib.import_module(LIBRARIES[library]), name or library)
    return found


def below_the_last(made: Plan) -> Fn:
    """The callable that the last transform wraps."""
    fn = made.function
    for number, layer in enumerate(made.layers[:-1]):
        fn = wrapped(fn, layer, len(made.live[number]))
    return fn


def mesh() -> Mesh:
    """The device mesh."""
    shape = tuple(MESH.values())
    devices = np.array(jax.devices()[: int(np.prod(shape))]).reshape(shape)
    return Mesh(devices, tuple(MESH), axis_types=(AxisType.Auto,) * len(shape))


def specs(value: Any) -> Any:
    """A tree of specs as JAX writes them."""
    if isinstance(value, Spec):
        return PartitionSpec(*value)
    if isinstance(value, dict):
        return {key: specs(item) for key, item in value.items()}
    return tuple(specs(item) for item in value) if isinstance(value, tuple) else value


def shardings(value: Any) -> Any:
    """A tree of specs as shardings over the mesh."""
    if isinstance(value, Spec):
        return NamedSharding(mesh(), PartitionSpec(*value))
    return tuple(shardings(item) for item in value) if isinstance(value, tuple) else value


def _jit(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    for name in ("in_shardings", "out_shardings"):
        if name in kwargs:
            kwargs[name] = shardings(kwargs[name])
    if "device" in kwargs:
        kwargs["device"] = jax.devices()[kwargs["device"]]
    return jax.jit(fn, **kwargs)


def _partial(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    return functools.partial(fn, *kwargs["args"], **kwargs["keywords"])


def _method(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    return functools.partial(fn, 2)


def _pmap(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    if "devices" in kwargs:
        kwargs["devices"] = [jax.devices()[n] for n in kwargs["devices"]]
    return jax.pmap(fn, **kwargs)


def _shard_map(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    options = {name: specs(kwargs[name]) for name in ("in_specs", "out_specs")}
    if "mesh" in kwargs:
        options["mesh"] = mesh()
    if "check_rep" in kwargs:
        from jax.experimental.shard_map import shard_map

        return shard_map(fn, check_rep=kwargs["check_rep"], **options)
    if "check_vma" in kwargs:
        options["check_vma"] = kwargs["check_vma"]
    return jax.shard_map(fn, **options)


def _checkpoint(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    policy = kwargs.get("policy")
    if isinstance(policy, str):
        kwargs["policy"] = getattr(jax.checkpoint_policies, policy)
    if isinstance(policy, Mapping):
        [(name, saved)] = policy.items()
        kwargs["policy"] = getattr(jax.checkpoint_policies, name)(*saved)
    return jax.checkpoint(fn, **kwargs)


def _jvp(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    n = kwargs["n_primals"]
    return lambda *args: jax.jvp(fn, args[:n], args[n:])


def _vjp(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    def applied(*args: Any) -> Any:
        value, pull = jax.vjp(fn, *args[:-1])
        return value, pull(args[-1])

    return applied


def _linearize(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    return lambda *primals: jax.linearize(fn, *primals)


def _linear_transpose(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    return lambda primal: jax.linear_transpose(fn, primal)


def _custom_jvp(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    made = jax.custom_jvp(fn, **kwargs)
    fixed = len(kwargs.get("nondiff_argnums", ()))

    @made.defjvp
    def rule(*given: Any) -> Any:
        *static, primals, tangents = given
        assert len(static) == fixed
        value, tangent = jax.jvp(lambda *args: fn(*args, *static), primals, tangents)
        return value, 2.0 * tangent

    return made


def _custom_vjp(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    made = jax.custom_vjp(fn, **kwargs)
    made.defvjp(lambda *args: (fn(*args), args), lambda args, ct: jax.vjp(fn, *args)[1](ct))
    return made


def _filter_custom_vjp(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    made = of_library("eqx.filter_custom_vjp")(fn)
    made.def_fwd(lambda perturbed, *args: (fn(*args), args))
    made.def_bwd(lambda args, ct, perturbed, *again: jax.vjp(fn, *args)[1](ct)[0])
    return made


def _filter_jvp(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    n = kwargs["n_primals"]
    return lambda *args: of_library("eqx.filter_jvp")(fn, args[:n], args[n:])


def _nnx_custom_vjp(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    made = of_library("nnx.custom_vjp")(fn, **kwargs)

    def backward(args: Any, ct: Any) -> Any:
        # With graph updates the cotangents of the updated arguments come first.
        return jax.vjp(fn, *args)[1](ct[1] if isinstance(ct, tuple) else ct)

    made.defvjp(lambda *args: (fn(*args), args), backward)
    return made


def _filter_pmap(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    if "devices" in kwargs:
        kwargs["devices"] = [jax.devices()[n] for n in kwargs["devices"]]
    return of_library("eqx.filter_pmap")(fn, **kwargs)


def _split_rngs(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    made: Fn = of_library("nnx.split_rngs")(**kwargs)(fn)
    return made


def _vectorize(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    return jax.numpy.vectorize(fn, **kwargs)


def _checkify(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    return checkify.checkify(fn, **kwargs)


def _scan(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    return lambda init, xs=None: jax.lax.scan(fn, init, xs, **kwargs)


def _map(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    return lambda xs: jax.lax.map(fn, xs, **kwargs)


def _fori_loop(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    return lambda init: jax.lax.fori_loop(0, LENGTH, fn, init)


def _while_loop(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    return lambda init: jax.lax.while_loop(lambda x: jax.numpy.sum(x) < 10.0, fn, init)


def _associative_scan(fn: Fn, kwargs: dict[str, Any], count: int) -> Fn:
    return lambda elems: jax.lax.associative_scan(fn, elems, **kwargs)


WRITTEN: Final[Mapping[str, Callable[[Fn, dict[str, Any], int], Fn]]] = {
    "jit": _jit,
    "partial": _partial,
    "method": _method,
    "pmap": _pmap,
    "shard_map": _shard_map,
    "checkpoint": _checkpoint,
    "remat": _checkpoint,
    "jvp": _jvp,
    "vjp": _vjp,
    "linearize": _linearize,
    "linear_transpose": _linear_transpose,
    "custom_jvp": _custom_jvp,
    "custom_vjp": _custom_vjp,
    "eqx.filter_custom_vjp": _filter_custom_vjp,
    "eqx.filter_jvp": _filter_jvp,
    "eqx.filter_pmap": _filter_pmap,
    "nnx.custom_vjp": _nnx_custom_vjp,
    "nnx.split_rngs": _split_rngs,
    "vectorize": _vectorize,
    "checkify": _checkify,
    "lax.scan": _scan,
    "lax.map": _map,
    "lax.fori_loop": _fori_loop,
    "lax.while_loop": _while_loop,
    "lax.associative_scan": _associative_scan,
}
