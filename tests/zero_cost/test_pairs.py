"""Every ordered pair of transforms: the program equals the one that is nested by hand."""

import contextlib
import difflib
import importlib.util
import inspect
import itertools
import random
import re
from collections import Counter
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import (
    Cast,
    Checkify,
    Checkpoint,
    Collective,
    ComposeError,
    Grad,
    Hessian,
    Jacfwd,
    Jacrev,
    Jit,
    Jvp,
    Map,
    Partial,
    Pmap,
    Reduce,
    Repeat,
    Scan,
    Select,
    ShardMap,
    SplitKey,
    StopGradient,
    Then,
    ValueAndGrad,
    Vjp,
    Vmap,
    compose,
)
from composer.transforms import CATALOGUE

_spec = importlib.util.spec_from_file_location("handmade", Path(__file__).with_name("handmade.py"))
handmade = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(handmade)

X = {"x": 0}
LAYERS = {
    "grad": Grad(argnums="p"),
    "grad of x": Grad(argnums="x"),
    "grad with aux": Grad(argnums="p", has_aux=True),
    "value_and_grad": ValueAndGrad(argnums="p"),
    "jacfwd": Jacfwd(argnums="p"),
    "jacrev": Jacrev(argnums="p"),
    "hessian": Hessian(argnums="p"),
    "vmap": Vmap(in_axes=X),
    "vmap named": Vmap(in_axes=X, axis_name="rows"),
    "vmap columns": Vmap(in_axes={"x": 1}, out_axes=-1),
    "vmap chunked": Vmap(in_axes=X, chunk=2),
    "jit": Jit(),
    "jit with options": Jit(donate_argnums="x", keep_unused=True, inline=True),
    "jit sharded": Jit(in_shardings={"x": ["data"]}),
    "checkpoint": Checkpoint(),
    "checkpoint dots": Checkpoint(policy="dots_saveable", prevent_cse=False),
    "pmap": Pmap(in_axes=X),
    "pmap pmean": Pmap(in_axes=X, axis_name="d", sync="pmean"),
    "pmap split": Pmap(in_axes=X, axis_name="d", split=True),
    "pmap split pmean": Pmap(in_axes=X, axis_name="d", split=True, sync="pmean"),
    "pmap split merge": Pmap(in_axes=X, axis_name="d", split=True, merge=True),
    "shard_map": ShardMap(in_specs={"x": ["data"]}, out_specs=["data"], check_vma=False),
    "partial": Partial(keywords={"p": 2.0}),
    "select": Select(output=0),
    "reduce mean": Reduce(op="mean"),
    "reduce sum": Reduce(op="sum", axis=None),
    "jvp": Jvp(tangents={"x": "v"}),
    "vjp": Vjp(cotangent="ct", argnums="x"),
    "scan": Scan(carry="p", xs="x"),
    "map": Map(xs="x"),
    "repeat": Repeat(n=3, carry="x"),
    "checkify": Checkify(),
    "cast": Cast(outputs="bf16"),
    "collective": Collective(op="pmean", axis_name="rows"),
    "stop_gradient": StopGradient(arguments="p"),
    "then": Then(function=jnp.tanh),
    "split_key": SplitKey(key="x", num=4),
}


def axes(names, axis=0):
    return tuple(axis if name == "x" else None for name in names)


# The same layers with arguments by position, from the names of the arguments below.
BY_POSITION = {
    "grad": lambda names: Grad(argnums=names.index("p")),
    "grad of x": lambda names: Grad(argnums=names.index("x") - len(names)),
    "grad with aux": lambda names: Grad(argnums=names.index("p"), has_aux=True),
    "value_and_grad": lambda names: ValueAndGrad(argnums=names.index("p")),
    "jacfwd": lambda names: Jacfwd(argnums=names.index("p")),
    "jacrev": lambda names: Jacrev(argnums=names.index("p")),
    "hessian": lambda names: Hessian(argnums=names.index("p")),
    "vmap": lambda names: Vmap(in_axes=axes(names)),
    "vmap named": lambda names: Vmap(in_axes=axes(names), axis_name="rows"),
    "vmap columns": lambda names: Vmap(in_axes=axes(names, 1), out_axes=-1),
    "vmap chunked": lambda names: Vmap(in_axes=axes(names), chunk=2),
    "jit with options": lambda names: Jit(
        donate_argnums=names.index("x"), keep_unused=True, inline=True
    ),
    "jit sharded": lambda names: Jit(in_shardings=axes(names, ("data",))),
    "pmap": lambda names: Pmap(in_axes=axes(names)),
    "pmap pmean": lambda names: Pmap(in_axes=axes(names), axis_name="d", sync="pmean"),
    "pmap split": lambda names: Pmap(in_axes=axes(names), axis_name="d", split=True),
    "pmap split pmean": lambda names: Pmap(
        in_axes=axes(names), axis_name="d", split=True, sync="pmean"
    ),
    "pmap split merge": lambda names: Pmap(
        in_axes=axes(names), axis_name="d", split=True, merge=True
    ),
    "shard_map": lambda names: ShardMap(
        in_specs=tuple(["data"] if name == "x" else [] for name in names),
        out_specs=["data"],
        check_vma=False,
    ),
    "partial": lambda names: Partial(args=(2.0,)),
    "vjp": lambda names: Vjp(cotangent="ct", argnums=names.index("x")),
}
# How many of 1369 pairs and of 400 triples JAX can nest at all; the rest it refuses.
EQUAL = {"pairs": 1078, "triples": 232}


def scalar(p, x):
    return jnp.sum(jnp.tanh(p) * jnp.sum(x))


def vector(p, x):
    return jnp.tanh(x) * jnp.sum(p)


def pair(p, x):
    return jnp.sum(p * jnp.sum(x)), {"twice": 2 * x}


def carried(p, x):
    return 0.9 * p + jnp.sum(x), jnp.sum(x) * p


def drawn(p, x):
    return jax.random.normal(x, (2,)) * jnp.sum(p)


def drawn_each(p, x):
    return jax.vmap(lambda key: jax.random.normal(key, (2,)))(x) * jnp.sum(p)


JITTED = type(jax.jit(scalar))
ONES = {shape: np.ones(shape, np.float32) for shape in [(), (4,), (4, 4), (8, 4), (4, 4, 4)]}


def candidates(needs_key):
    """Functions and shapes of x, tried until the hand-nested call traces."""
    if needs_key:
        yield drawn_each, jax.random.key(0)
        yield drawn, jax.random.key(0)
        yield drawn, jax.random.split(jax.random.key(0), 4)
        return
    for shape in [(4,), (4, 4), (4, 4, 4), (), (8, 4)]:
        for function in (scalar, vector, pair, carried):
            yield function, ONES[shape]


def arguments(names, x, ct):
    values = {"p": ONES[(4,)], "x": x, "v": x, "ct": ct}
    return [values[name] for name in names]


def cotangents(x, names):
    return [ONES[()], x, ONES[(4,)]] if "ct" in names else [None]


def program(made, args):
    """The jaxpr, and the StableHLO text without locations."""
    jaxpr = str(jax.make_jaxpr(made)(*args))
    # By the type: functools.wraps copies pmap's own `lower` onto what is nested around it.
    jitted = made if type(made) is JITTED else jax.jit(made)
    lowered = JITTED.lower(jitted, *args)
    return re.sub(r"0x[0-9a-f]+", "0x", jaxpr), lowered.as_text()


def by_hand(stack):
    """A program of the hand-nested stack with what it was made of; or why there is none."""
    why = Counter()
    for function, x in candidates("split_key" in stack):
        try:
            made, names = handmade.nest(function, ["p", "x"], stack)
        except handmade.RefusedError:
            return None, "an argument is gone or there twice"
        for ct in cotangents(x, names):
            args = arguments(names, x, ct)
            try:
                return (function, args, program(made, args)), ""
            # Whatever JAX says against this function and these shapes.
            except Exception as error:
                why[type(error).__name__] += 1
    return None, why.most_common(1)[0][0]


def by_turns(stack, turn):
    """The layers of a stack, every other one with its arguments by position."""
    names, layers = ["p", "x"], []
    for number, name in enumerate(stack):
        positional = name in BY_POSITION and (number + turn) % 2
        layers.append(BY_POSITION[name](names) if positional else LAYERS[name])
        names = handmade.HAND[name](scalar, names, False)[1]
    return layers


def composed(layers, function, args):
    return program(compose(function, *layers, mesh={"data": 4}), args)


def accepted(stack):
    """What composer makes a program of, among functions and arguments that JAX refuses."""
    layers = [LAYERS[name] for name in stack]
    for function, x in candidates("split_key" in stack):
        # One rank stands for all: whether layers fit each other does not hang on it.
        if x.ndim != 2 and "split_key" not in stack:
            continue
        try:
            made = compose(function, *layers, mesh={"data": 4})
            names = list(inspect.signature(made).parameters)
        except ComposeError:
            continue
        for ct in cotangents(x, names):
            # Any refusal will do, in composer's words or in JAX's.
            with contextlib.suppress(Exception):
                program(made, arguments(names, x, ct))
                yield function.__name__


def difference(wanted, got):
    """The first lines in which two programs differ."""
    pairs = zip(wanted, got, strict=True)
    before, after = next((one, other) for one, other in pairs if one != other)
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "hand", "composer", n=1)
    return "\n    ".join(line.rstrip() for line in itertools.islice(lines, 20))


def compare(stacks):
    """How many stacks were equal, and why the others could not be nested by hand."""
    equal, refused, wrong = 0, Counter(), []
    for turn, stack in enumerate(stacks):
        if turn % 200 == 0:
            # JAX keeps every program that it has traced: gigabytes, by the end.
            jax.clear_caches()
        found, why = by_hand(stack)
        if found is None:
            refused[why] += 1
            wrong += [f"{' -> '.join(stack)}: only JAX refuses {name}" for name in accepted(stack)]
            continue
        function, args, wanted = found
        assert len(wanted[0]) > 40
        try:
            got = composed(by_turns(stack, turn), function, args)
        # Reported with the stack that it belongs to.
        except Exception as error:
            wrong.append(f"{' -> '.join(stack)}: {type(error).__name__}: {str(error)[:200]}")
            continue
        if got == wanted:
            equal += 1
        else:
            wrong.append(f"{' -> '.join(stack)}: {difference(wanted, got)}")
    return equal, refused, wrong


def test_every_word_of_the_catalogue_takes_part():
    words = {type(layer).word for layer in LAYERS.values()}
    aliases = {alias for layer in LAYERS.values() for alias in layer.aliases}
    # apply wraps with whatever it is given; its own tests compare it.
    assert words | aliases | {"apply"} == set(CATALOGUE)
    assert set(LAYERS) == set(handmade.HAND)


@pytest.mark.parametrize("name", LAYERS)
def test_one_layer_is_the_program_that_is_written_by_hand(name):
    stack = ("collective", "vmap named") if name == "collective" else (name,)
    equal, refused, wrong = compare([stack])
    assert (equal, wrong) == (1, []), (refused, wrong)


@pytest.mark.slow
def test_every_ordered_pair_is_the_program_that_is_nested_by_hand(record_property):
    stacks = list(itertools.product(LAYERS, repeat=2))
    equal, refused, wrong = compare(stacks)
    print(f"\n{len(stacks)} pairs: {equal} equal, JAX refused {sum(refused.values())}: {refused}")
    assert not wrong, f"{len(wrong)} of {len(stacks)}:\n" + "\n".join(wrong[:40])
    assert equal >= EQUAL["pairs"]


@pytest.mark.slow
def test_triples_drawn_by_seed_are_the_programs_that_are_nested_by_hand():
    stacks = list(itertools.product(LAYERS, repeat=3))
    stacks = random.Random(0).sample(stacks, 400)
    equal, refused, wrong = compare(stacks)
    print(f"\n{len(stacks)} triples: {equal} equal, JAX refused {sum(refused.values())}: {refused}")
    assert not wrong, f"{len(wrong)} of {len(stacks)}:\n" + "\n".join(wrong[:40])
    assert equal >= EQUAL["triples"]
