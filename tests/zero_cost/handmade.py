"""What an expert would nest by hand, with JAX alone: nothing of composer is imported here.

Each entry of HAND takes a function, the names of its arguments and what stands outside,
and returns the wrapped function with the names of its own arguments.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

DEVICES = 4


class RefusedError(Exception):
    """An argument that the layer names is not there."""


def named(glue, fn):
    """Glue code carries the user's name, which JAX prints in programs."""
    glue.__name__, glue.__qualname__ = fn.__name__, fn.__qualname__
    return glue


def at(names, name):
    if name not in names:
        raise RefusedError(name)
    return names.index(name)


def mesh(axis):
    return Mesh(np.array(jax.devices()[:DEVICES]), (axis,), axis_types=(AxisType.Auto,))


def derivative(transform, name, **options):
    def wrap(fn, names, outside):
        return transform(fn, argnums=at(names, name), **options), names

    return wrap


def vmap(fn, names, outside, mapped=("x",), out_axes=0, axis_name=None):
    wanted = [name for name in mapped if at(names, name) >= 0]
    axes = tuple(0 if name in wanted else None for name in names)
    return jax.vmap(fn, in_axes=axes, out_axes=out_axes, axis_name=axis_name), names


def vmap_rows(fn, names, outside):
    return vmap(fn, names, outside, axis_name="rows")


def vmap_all_columns(fn, names, outside):
    return jax.vmap(fn, in_axes=tuple(1 if n == "x" else None for n in names), out_axes=-1), names


def chunked(fn, names, outside):
    where = at(names, "x")

    def f(*args):
        def one(row):
            return fn(*args[:where], row, *args[where + 1 :])

        return lax.map(named(one, fn), args[where], batch_size=2)

    return named(f, fn), names


def jit(fn, names, outside):
    return jax.jit(fn), names


def jit_options(fn, names, outside):
    return jax.jit(fn, donate_argnums=at(names, "x"), keep_unused=True, inline=True), names


def jit_sharded(fn, names, outside):
    at(names, "x")
    split = NamedSharding(mesh("data"), P("data"))
    return jax.jit(fn, in_shardings=tuple(split if n == "x" else None for n in names)), names


def checkpoint(fn, names, outside):
    return jax.checkpoint(fn), names


def checkpoint_dots(fn, names, outside):
    policy = jax.checkpoint_policies.dots_saveable
    return jax.checkpoint(fn, policy=policy, prevent_cse=False), names


def pmap(fn, names, outside):
    at(names, "x")
    return jax.pmap(fn, in_axes=tuple(0 if n == "x" else None for n in names)), names


def pmap_pmean(fn, names, outside):
    at(names, "x")

    def f(*args):
        return jax.tree.map(lambda leaf: lax.pmean(leaf, "d"), fn(*args))

    axes = tuple(0 if n == "x" else None for n in names)
    return jax.pmap(named(f, fn), axis_name="d", in_axes=axes, out_axes=None), names


def split(fn, names, outside, sync=False, merge=False):
    at(names, "x")

    def block(*args):
        out = fn(*args)
        if sync:
            return jax.tree.map(lambda leaf: lax.pmean(leaf, "d"), out)
        if merge:
            return out
        return jax.tree.map(lambda leaf: jnp.expand_dims(leaf, 0), out)

    sharded = jax.shard_map(
        named(block, fn),
        mesh=mesh("d"),
        in_specs=tuple(P("d") if n == "x" else P() for n in names),
        out_specs=P() if sync else P("d"),
        check_vma=False,
    )
    return (sharded if outside else jax.jit(named(lambda *args: sharded(*args), fn))), names


def split_pmean(fn, names, outside):
    return split(fn, names, outside, sync=True)


def split_merge(fn, names, outside):
    return split(fn, names, outside, merge=True)


def shard_map(fn, names, outside):
    at(names, "x")
    specs = tuple(P("data") if n == "x" else P() for n in names)
    made = jax.shard_map(
        fn, mesh=mesh("data"), in_specs=specs, out_specs=P("data"), check_vma=False
    )
    return made, names


def partial(fn, names, outside):
    where = at(names, "p")

    def f(*args):
        return fn(*args[:where], 2.0, *args[where:])

    return named(f, fn), [name for name in names if name != "p"]


def select(fn, names, outside):
    def f(*args):
        out = fn(*args)
        if not isinstance(out, tuple):
            raise RefusedError("an array has rows, not outputs")
        return out[0]

    return named(f, fn), names


def reduce_mean(fn, names, outside):
    def f(*args):
        return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), fn(*args))

    return named(f, fn), names


def reduce_sum(fn, names, outside):
    return named(lambda *args: jax.tree.map(jnp.sum, fn(*args)), fn), names


def jvp(fn, names, outside):
    where = at(names, "x")
    if "v" in names:
        raise RefusedError("v")

    def f(*args):
        *given, v = args

        def along(x):
            return fn(*given[:where], x, *given[where + 1 :])

        return jax.jvp(named(along, fn), (given[where],), (v,))

    return named(f, fn), [*names, "v"]


def vjp(fn, names, outside):
    where = at(names, "x")
    if "ct" in names:
        raise RefusedError("ct")

    def f(*args):
        *given, ct = args

        def along(x):
            return fn(*given[:where], x, *given[where + 1 :])

        return jax.vjp(named(along, fn), given[where])[1](ct)[0]

    return named(f, fn), [*names, "ct"]


def scan(fn, names, outside):
    carried, rows = at(names, "p"), at(names, "x")

    def f(*args):
        def step(carry, row):
            given = list(args)
            given[carried], given[rows] = carry, row
            return fn(*given)

        return lax.scan(named(step, fn), args[carried], args[rows])

    return named(f, fn), names


def map_rows(fn, names, outside):
    where = at(names, "x")

    def f(*args):
        def one(row):
            return fn(*args[:where], row, *args[where + 1 :])

        return lax.map(named(one, fn), args[where])

    return named(f, fn), names


def repeat(fn, names, outside):
    where = at(names, "x")

    def f(*args):
        def step(_, x):
            return fn(*args[:where], x, *args[where + 1 :])

        return lax.fori_loop(0, 3, named(step, fn), args[where])

    return named(f, fn), names


def checked(fn, names, outside):
    return checkify.checkify(fn), names


def cast(fn, names, outside):
    def f(*args):
        return jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), fn(*args))

    return named(f, fn), names


def collective(fn, names, outside):
    def f(*args):
        return jax.tree.map(lambda leaf: lax.pmean(leaf, "rows"), fn(*args))

    return named(f, fn), names


def stop_gradient(fn, names, outside):
    where = at(names, "p")

    def f(*args):
        return fn(*args[:where], lax.stop_gradient(args[where]), *args[where + 1 :])

    return named(f, fn), names


def then(fn, names, outside):
    return named(lambda *args: jnp.tanh(fn(*args)), fn), names


def split_key(fn, names, outside):
    where = at(names, "x")

    def f(*args):
        return fn(*args[:where], jax.random.split(args[where], 4), *args[where + 1 :])

    return named(f, fn), names


HAND = {
    "grad": derivative(jax.grad, "p"),
    "grad of x": derivative(jax.grad, "x"),
    "grad with aux": derivative(jax.grad, "p", has_aux=True),
    "value_and_grad": derivative(jax.value_and_grad, "p"),
    "jacfwd": derivative(jax.jacfwd, "p"),
    "jacrev": derivative(jax.jacrev, "p"),
    "hessian": derivative(jax.hessian, "p"),
    "vmap": vmap,
    "vmap named": vmap_rows,
    "vmap columns": vmap_all_columns,
    "vmap chunked": chunked,
    "jit": jit,
    "jit with options": jit_options,
    "jit sharded": jit_sharded,
    "checkpoint": checkpoint,
    "checkpoint dots": checkpoint_dots,
    "pmap": pmap,
    "pmap pmean": pmap_pmean,
    "pmap split": split,
    "pmap split pmean": split_pmean,
    "pmap split merge": split_merge,
    "shard_map": shard_map,
    "partial": partial,
    "select": select,
    "reduce mean": reduce_mean,
    "reduce sum": reduce_sum,
    "jvp": jvp,
    "vjp": vjp,
    "scan": scan,
    "map": map_rows,
    "repeat": repeat,
    "checkify": checked,
    "cast": cast,
    "collective": collective,
    "stop_gradient": stop_gradient,
    "then": then,
    "split_key": split_key,
}

COMPILING = {name for name in HAND if name.split()[0] in ("jit", "pmap", "shard_map")}


def nest(function, names, stack):
    """The stack, innermost first, around a function; and the names of its arguments."""
    made = function
    for number, layer in enumerate(stack):
        outside = any(other in COMPILING for other in stack[number + 1 :])
        made, names = HAND[layer](made, names, outside)
    return made, names
