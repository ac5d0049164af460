"""The collectives that pmap runs on its outputs, assigned leaf by leaf.

A sync is one word for all outputs, or a tree of words matched by output name, key or
position: `{loss: pmean, stats: {n: psum}, _: null}`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from composer.plugin import ComposeError, Context, Output, Transform, fail, nearest
from composer.transforms._outputs import Path, find_path, leaves_with_paths

WORDS: Final = ("pmean", "psum", "pmax", "pmin", "same", "device0")


@dataclass(frozen=True, slots=True)
class Entry:
    """One word of a sync tree with the path it stands for; `rest` for a `_`."""

    path: Path
    word: str | None
    rest: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens to one leaf: its collective (None: stays per device)."""

    path: Path
    word: str | None
    explicit: bool


def check_sync(layer: Transform, value: object) -> None:
    """Refuse unknown words.

    Raises:
        ParameterError: CMP037.
    """
    if isinstance(value, tuple):
        for item in value:
            check_sync(layer, item)
    elif isinstance(value, dict):
        for item in value.values():
            check_sync(layer, item)
    elif value is not None and value not in WORDS:
        close = nearest(str(value), WORDS)
        raise layer.wrong(
            "sync",
            f"holds {value!r}; it is one of {', '.join(WORDS)}, null, or a tree of these",
            cure=f"sync: {close}" if close else None,
        )


def flatten_sync(
    spec: object, output: Output, ctx: Context | None, path: Path = ()
) -> Iterator[Entry]:
    """The words of a sync tree with the paths they stand for.

    Raises:
        ComposeError: CMP207, a name stands for no output or for several.
    """
    if isinstance(spec, dict):
        for key, below in spec.items():
            if key == "_":
                yield Entry(path, below, rest=True)
            else:
                found = find_path(key, output, ctx)
                yield from flatten_sync(below, output.at(found), ctx, (*path, *found))
    elif isinstance(spec, tuple):
        for position, below in enumerate(spec):
            yield from flatten_sync(below, output.child(position), ctx, (*path, position))
    else:
        yield Entry(path, spec if isinstance(spec, str) else None)


def plan_sync(spec: object, out: Any, ctx: Context) -> list[Plan]:
    """The collective of every leaf of `out`, in the order of its leaves.

    Raises:
        ComposeError: CMP207 or CMP302, where names and outputs do not fit each other.
    """
    entries = list(flatten_sync(spec, ctx.signature.output, ctx))
    used: set[Entry] = set()
    plans = []
    for path, _ in leaves_with_paths(out):
        fitting = [entry for entry in entries if _starts(path, entry.path)]
        if not fitting:
            raise _uncovered(path, entries, ctx)
        chosen = max(fitting, key=lambda entry: (len(entry.path), not entry.rest))
        used.add(chosen)
        plans.append(Plan(path, chosen.word, len(chosen.path) == len(path)))
    for entry in entries:
        # Without a path it is one word for all outputs, of which there may be none.
        if entry not in used and not entry.rest and entry.path:
            raise _unused(entry, plans, ctx)
    return plans


def _starts(path: Path, prefix: Path) -> bool:
    return tuple(map(str, path[: len(prefix)])) == tuple(map(str, prefix))


def _shown(path: Path) -> str:
    return ".".join(map(str, path)) or "the output"


def _uncovered(path: Path, entries: list[Entry], ctx: Context) -> Exception:
    return fail(
        ComposeError,
        "CMP302",
        f"{ctx.word}: sync says nothing about output {_shown(path)!r}",
        place=ctx.place,
        notes=[f"sync names: {', '.join(_shown(entry.path) for entry in entries)}"],
        cure="_: null     # in the sync, for all other outputs",
    )


def _unused(entry: Entry, plans: list[Plan], ctx: Context) -> Exception:
    have = [_shown(plan.path) for plan in plans]
    return fail(
        ComposeError,
        "CMP302",
        f"{ctx.word}: sync names output {_shown(entry.path)!r}, but there is none",
        place=ctx.place,
        notes=[f"outputs: {', '.join(have)}"],
        cure=nearest(_shown(entry.path), have),
    )


def synced_leaf(
    leaf: Any, plan: Plan, axis: str | tuple[str, ...], weight: Any, ctx: Context
) -> Any:
    """One leaf after its collective over `axis`; `weight` is the sum of this device's weights.

    Raises:
        ComposeError: CMP303, a mean or sum of something that is not a floating number.
    """
    import jax.numpy as jnp
    from jax import lax

    from composer.transforms._keys import is_key

    dtype = jnp.result_type(leaf)
    if plan.word is None:
        return leaf
    if plan.word in ("same", "device0"):
        return same_or_first(leaf, plan, axis)
    if is_key(leaf):
        raise _not_floating(plan, str(dtype), ctx)
    if plan.word in ("pmax", "pmin"):
        least = leaf.astype(jnp.int32) if dtype == jnp.bool_ else leaf
        collective: Any = lax.pmax if plan.word == "pmax" else lax.pmin
        return collective(least, axis).astype(dtype)
    if plan.word == "psum":
        return lax.psum(summand(leaf, plan, ctx), axis)
    if not jnp.issubdtype(dtype, jnp.inexact):
        raise _not_floating(plan, str(dtype), ctx)
    if weight is None:
        return lax.pmean(leaf, axis)
    # Half precision can count neither 65,520 rows (float16) nor 257 (bfloat16).
    wide = jnp.dtype(jnp.float32) if dtype.itemsize < 4 else dtype
    share, value = jnp.asarray(weight).astype(wide), leaf.astype(wide)
    # A device with padding only has no mean of its own: 0/0 must not reach the sum.
    kept = (
        jnp.where(share > 0, share * value, jnp.zeros_like(value))
        if dtype.kind != "c"
        else share * value
    )
    return (lax.psum(kept, axis) / lax.psum(share, axis)).astype(dtype)


def summand(leaf: Any, plan: Plan, ctx: Context) -> Any:
    """A leaf as it enters a sum: bools count as int32.

    Raises:
        ComposeError: CMP303, a key, or integers that the sum was not asked for by name.
    """
    import jax.numpy as jnp

    from composer.transforms._keys import is_key

    dtype = jnp.result_type(leaf)
    if is_key(leaf) or not (plan.explicit or jnp.issubdtype(dtype, jnp.inexact)):
        raise _not_floating(plan, str(dtype), ctx)
    return leaf.astype(jnp.int32) if dtype == jnp.bool_ else leaf


def _not_floating(plan: Plan, dtype: str, ctx: Context) -> Exception:
    name = _shown(plan.path)
    key = "key" in dtype
    if ctx.word == "pmap":
        choice = "same or device0" if key else "psum, pmax, pmin, same or device0"
        cure = (
            f"sync: {{{name if plan.path else 'NAME'}: ..., _: {plan.word}}}     # ... is {choice}"
        )
    else:
        choice = "all_gather" if key else "psum, pmax or pmin"
        cure = f"outputs: ...     # floating ones; {name} by name in a layer of its own: {choice}"
    what = f"output {name!r}" if plan.path else name
    why = (
        f", which is {dtype}; only floating numbers are summed unasked"
        if plan.word != "pmean" and not key
        else f", which is {dtype}, would not be {dtype} any more"
    )
    return fail(
        ComposeError,
        "CMP303",
        f"{ctx.word}: {plan.word} of {what}{why}",
        place=ctx.place,
        cure=cure,
    )


def same_or_first(leaf: Any, plan: Plan, axis: str | tuple[str, ...]) -> Any:
    """Device 0's value on every device; with `same`, an error at run time if they differ."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    from composer.transforms._keys import is_key

    typed = is_key(leaf)
    data = jax.random.key_data(leaf) if typed else jnp.asarray(leaf)
    every = lax.all_gather(data, axis)
    if plan.word == "same":
        name = _shown(plan.path)
        equal = (every == every[:1]) | ((every != every) & (every[:1] != every[:1]))
        lax.cond(
            jnp.all(equal) | (lax.axis_index(axis) != 0),
            lambda: None,
            lambda: jax.debug.callback(_differ, name=name),
        )
    first = every[0]
    return jax.random.wrap_key_data(first, impl=jax.random.key_impl(leaf)) if typed else first


def _differ(*, name: str) -> None:
    raise fail(
        ComposeError,
        "CMP306",
        f"pmap: sync: same, but output {name!r} differs between devices",
        cure="pmean, psum, pmax or null in its place",
    )


@dataclass(frozen=True, slots=True)
class Layout:
    """How to put leaves back that were sorted into synced ones and the rest."""

    treedef: Any
    synced: tuple[bool, ...]


def sort_leaves(
    leaves: list[Any], treedef: Any, plans: list[Plan]
) -> tuple[list[Any], list[Any], Any]:
    """Synced leaves, the others, and the layout as a tree without leaves.

    The layout travels through JAX as a static node: a variable of ours, set while
    tracing, would be stale when JAX answers from its cache.
    """
    _register()
    synced = [leaf for leaf, plan in zip(leaves, plans, strict=True) if plan.word is not None]
    rest = [leaf for leaf, plan in zip(leaves, plans, strict=True) if plan.word is None]
    return synced, rest, Layout(treedef, tuple(plan.word is not None for plan in plans))


def unsort_leaves(synced: list[Any], rest: list[Any], layout: Layout) -> Any:
    """The output tree again."""
    import jax

    groups = iter(synced), iter(rest)
    leaves = [next(groups[0 if is_synced else 1]) for is_synced in layout.synced]
    return jax.tree.unflatten(layout.treedef, leaves)


@functools.cache
def _register() -> None:
    # Once, and not at import: registering needs JAX.
    import jax

    jax.tree_util.register_static(Layout)
