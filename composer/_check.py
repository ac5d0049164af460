"""What a raw jit call would raise before tracing, and what tracing would, said beforehand.

JAX rejects unhashable static values, strings and donated arrays before any code of ours
runs, so no note can be added there. A check looks at the arguments first, then traces
the whole stack abstractly: no data is touched, nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from composer._builder import builder_of
from composer._describe import describe
from composer._pipeline import Layer
from composer._signature import Signature, signature_of
from composer.errors import ComposeError, Diagnostic, Place, nearest
from composer.plugin import Context
from composer.transforms._spec_fit import check_fit, given_with_specs
from composer.transforms.jit import Jit


def check_call(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    static: Iterable[str] = (),
    layers: tuple[Layer, ...] = (),
    mesh: Mapping[str, int] | jax.sharding.Mesh | None = None,
) -> Any:
    """Check a call without running it.

    Args:
        fn: The composed callable.
        args: Its arguments.
        kwargs: Its keyword arguments.
        static: Arguments that hold no arrays.
        layers: The stack, for what only layers know (donation, shardings, places).
        mesh: The pipeline's, for shardings.

    Returns:
        Shapes and dtypes of the outputs, as `jax.eval_shape`.

    Raises:
        ComposeError: CMP204 arguments that do not fit the signature, CMP217 a value that
            JAX cannot take, CMP401, CMP402, CMP403, CMP218, and CMP209 or CMP301 for
            shardings that do not fit: everything found at once.
        Exception: whatever tracing raises, with the note of the layers.
    """
    builder = builder_of(fn)
    if builder is not None:
        static, layers = builder.recipe.static, builder.recipe.layers
        mesh = builder.recipe.mesh
    sig = signature_of(fn)
    place = next((layer.place for layer in reversed(layers) if layer.place), None)
    values = _named(sig, args, kwargs, place)
    constant = frozenset(static) | _layer_static(layers, sig)
    findings = [
        *_static_values(values, constant, place),
        *_arrays({n: v for n, v in values.items() if n not in constant}, place),
        *_donated_twice(values, layers, sig),
        *_laid_out(args, kwargs, layers, sig, constant, mesh),
    ]
    if findings:
        raise ComposeError(*findings)
    return _trace(fn, args, kwargs, sig, constant)


def _trace(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    sig: Signature,
    static: frozenset[str],
) -> Any:
    """`jax.eval_shape` with the static arguments as they are."""
    if hasattr(fn, "eval_shape"):
        return fn.eval_shape(*args, **kwargs)
    names = sig.positional
    fixed = {i: a for i, a in enumerate(args) if i < len(names) and names[i] in static}
    free = tuple(a for i, a in enumerate(args) if i not in fixed)
    constants = {name: value for name, value in kwargs.items() if name in static}
    others = {name: value for name, value in kwargs.items() if name not in static}

    def call(given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        rest = iter(given)
        whole = [fixed[i] if i in fixed else next(rest) for i in range(len(args))]
        return fn(*whole, **named, **constants)

    return jax.eval_shape(call, free, others)


def _named(
    sig: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any], place: Place | None
) -> dict[str, Any]:
    """Values by argument name.

    Raises:
        ComposeError: CMP204, too many, missing, or unknown arguments.
    """
    names = sig.positional
    if sig.parameters is None:
        return {f"argument {i}": value for i, value in enumerate(args)} | dict(kwargs)
    if len(args) > len(names) and not sig.open_ended:
        raise _misfit(f"takes {len(names)} arguments by position, not {len(args)}", sig, place)
    for name in kwargs:
        if name not in sig.names and not sig.takes_any_keyword:
            close = nearest(name, sig.names)
            raise _misfit(f"has no argument {name!r}", sig, place, f"{close}=" if close else None)
    more = {f"argument {i}": args[i] for i in range(len(names), len(args))}
    given = dict(zip(names, args, strict=False)) | more | dict(kwargs)
    missing = [name for name in sig.names if name not in given and sig.required(name)]
    if missing:
        raise _misfit(f"is called without {', '.join(missing)}", sig, place)
    return given


def _misfit(
    what: str, sig: Signature, place: Place | None, cure: str | None = None
) -> ComposeError:
    notes = (f"arguments: {', '.join(sig.names) or 'none'}",)
    return ComposeError(Diagnostic("CMP204", f"{sig.title} {what}", place, notes, cure))


def _layer_static(layers: tuple[Layer, ...], sig: Signature) -> frozenset[str]:
    """Arguments that the outermost layer itself declares static."""
    if not layers:
        return frozenset()
    found = []
    for field in ("static_argnums", "static_argnames", "static_broadcasted_argnums"):
        value = getattr(layers[-1].transform, field, None)
        for item in value if isinstance(value, tuple) else () if value is None else (value,):
            known = isinstance(item, int) and -len(sig.positional) <= item < len(sig.positional)
            found.append(sig.positional[item] if known else item)
    return frozenset(str(item) for item in found)


def _static_values(
    values: Mapping[str, Any], static: frozenset[str], place: Place | None
) -> Iterator[Diagnostic]:
    for name in sorted(static & set(values)):
        value = values[name]
        if isinstance(value, jax.Array | np.ndarray):
            text = (
                f"static argument {name!r} is an array, {describe(value)}: JAX compiles for values"
            )
            cure = f"take {name} out of `static:`; or pass a plain number or a tuple"
            yield Diagnostic("CMP401", text, place, (), cure)
            continue
        try:
            hash(value)
        except TypeError:
            text = f"static argument {name!r} is a {type(value).__name__}, which is not hashable"
            cure = "a tuple instead of a list, a frozen dataclass instead of a dict"
            yield Diagnostic("CMP401", text, place, (), cure)


def _arrays(values: Mapping[str, Any], place: Place | None) -> Iterator[Diagnostic]:
    """Leaves that JAX cannot take, or would change silently."""
    for name, value in values.items():
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
            yield from _leaf(name, name + jax.tree_util.keystr(path), leaf, place)


def _leaf(name: str, where: str, leaf: Any, place: Place | None) -> Iterator[Diagnostic]:
    if isinstance(leaf, jax.Array):
        if not isinstance(leaf, jax.core.Tracer) and leaf.is_deleted():
            cure = f"use what the call returned instead of {name}; or no donation of {name}"
            text = f"{where} was donated to an earlier call, so its memory is gone"
            yield Diagnostic("CMP402", text, place, (), cure)
        return
    if isinstance(leaf, int) and not -(2**63) <= leaf < 2**64:
        text = f"{where} is {describe(leaf)}, an integer that does not fit 64 bits"
        yield Diagnostic("CMP218", text, place, (), "a float: its rounded value")
        return
    if isinstance(leaf, np.ndarray | np.generic | bool | int | float | complex):
        yield from _numbers(where, np.asarray(leaf), place)
        return
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return
    cure = f"static: [{name}]     # if it is a plain Python value"
    text = f"{where} is a {type(leaf).__name__} ({describe(leaf)}); JAX takes arrays and numbers"
    yield Diagnostic("CMP217", text, place, (), cure)


def _numbers(where: str, array: np.ndarray[Any, Any], place: Place | None) -> Iterator[Diagnostic]:
    if array.dtype.kind in "OUSM":
        text = f"{where} is a NumPy array of dtype {array.dtype}; JAX takes numbers"
        yield Diagnostic("CMP217", text, place, (), "an array of numbers")
    elif array.dtype.kind in "iu" and array.size and jax.numpy.result_type(int) == np.int32:
        limits = np.iinfo(np.uint32 if array.dtype.kind == "u" else np.int32)
        if array.max() > limits.max or array.min() < limits.min:
            text = f"{where} holds integers that do not fit 32 bits, and JAX would cut them off"
            yield Diagnostic("CMP218", text, place, (), "run: {enable_x64: true}")


def _donated_twice(
    values: Mapping[str, Any], layers: tuple[Layer, ...], sig: Signature
) -> Iterator[Diagnostic]:
    """One array in two places, at least one of which is donated."""
    if not layers:
        return
    wanted = []
    for field in ("donate_argnums", "donate_argnames"):
        value = getattr(layers[-1].transform, field, None)
        wanted += list(value) if isinstance(value, tuple) else [] if value is None else [value]
    names = {sig.positional[w] if isinstance(w, int) else w for w in wanted if _known(w, sig)}
    seen: dict[int, str] = {}
    for name, value in values.items():
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
            where = name + jax.tree_util.keystr(path)
            if isinstance(leaf, jax.Array) and id(leaf) in seen:
                other = seen[id(leaf)]
                if name in names or other.partition("[")[0] in names:
                    text = f"{where} and {other} are the same array, and it is donated"
                    cure = f"jnp.copy for {where}"
                    yield Diagnostic("CMP403", text, layers[-1].place, (), cure)
            seen.setdefault(id(leaf), where)


def _laid_out(
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    layers: tuple[Layer, ...],
    sig: Signature,
    static: frozenset[str],
    mesh: Mapping[str, int] | jax.sharding.Mesh | None,
) -> Iterator[Diagnostic]:
    """What JAX refuses of arguments that `in_shardings` lays out."""
    layer = layers[-1] if layers else None
    if (
        layer is None
        or not isinstance(layer.transform, Jit)
        or layer.transform.in_shardings is None
    ):
        return
    named = [name for name in kwargs if name not in static]
    left_out = [name for name in sig.positional[len(args) :] if name not in {*kwargs, *static}]
    if named:
        text = f"jit: in_shardings are for arguments by position, but {', '.join(named)} is not"
        yield Diagnostic("CMP204", text, layer.place, (), "all arguments by position")
        return
    if left_out and isinstance(layer.transform.in_shardings, dict):
        text = f"jit: in_shardings need all arguments, but the call leaves out {left_out[0]}"
        yield Diagnostic("CMP204", text, layer.place, (), f"a value for {left_out[0]} in the call")
        return
    ctx = Context(sig, layer.word, layer.place, exposed=static, mesh=mesh)
    specs = layer.transform.specs_of_call(ctx)
    names = [name for name in sig.positional if name not in static]
    order = sig.positional
    values = tuple(a for i, a in enumerate(args) if i >= len(order) or order[i] not in static)
    free = Context(sig.without(*static), layer.word, layer.place)
    if isinstance(specs, tuple) and len(specs) != len(values):
        text = f"jit: in_shardings has {len(specs)} entries, but it is called with {len(values)}"
        cure = f"in_shardings: {{{', '.join(f'{name}: ...' for name in names[:3])}}}"
        yield Diagnostic("CMP209", text, layer.place, (f"arguments: {', '.join(names)}",), cure)
        return
    try:
        sizes = ctx.device_mesh().shape if mesh is not None else {}
        check_fit(given_with_specs(free, values, {}, specs, {}), sizes, free)
    except ComposeError as error:
        yield from error.diagnostics


def _known(item: object, sig: Signature) -> bool:
    return not isinstance(item, int) or -len(sig.positional) <= item < len(sig.positional)
