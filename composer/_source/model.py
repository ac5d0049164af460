"""Facts about a function, as data."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from composer.errors import Place


@dataclass(frozen=True, slots=True)
class Spot:
    """Something found in the source: what, and where."""

    what: str
    place: Place


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective of jax.lax.

    Attributes:
        op: `pmean`, `psum`, `all_gather` and so on.
        axis: Its axis name; None where the source does not say it.
        place: Where it is called.
        inside: The function that calls it.
        derivatives: How many derivatives that the source takes stand around it.
        of_gradient: Whether it combines what a derivative in the source gave.
        returned: Whether its value is what the function returns, not a part of a sum.
    """

    op: str
    axis: str | None
    place: Place
    inside: str
    derivatives: int = 0
    of_gradient: bool = False
    returned: bool = False


@dataclass(frozen=True, slots=True)
class Derivative:
    """A derivative that the source takes: `jax.grad(loss)`.

    Attributes:
        word: `grad`, `value_and_grad`, `jacrev` and so on.
        place: Where it is taken.
        target: The function that is differentiated, where it has a name.
        derivatives: How many other derivatives of the source stand around it.
        of_mean: Whether the differentiated function returns a mean; None: not known.
    """

    word: str
    place: Place
    target: str | None = None
    derivatives: int = 0
    of_mean: bool | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A Python `if`, `while`, conditional expression, `assert` or `for` on a parameter's value."""

    kind: str
    parameter: str
    place: Place


@dataclass(frozen=True, slots=True)
class Loop:
    """A Python loop with a known number of turns."""

    turns: int
    place: Place


@dataclass(frozen=True, slots=True)
class Draw:
    """A use of a PRNG key.

    Attributes:
        key: The name that holds the key.
        what: What is done with it: `normal`, `split` and so on.
        place: Where.
        parameter: The function's parameter that the key is, or was made of; None: another.
    """

    key: str
    what: str
    place: Place
    parameter: str | None = None


@dataclass(frozen=True)
class Facts:
    """What the source of one function says, with the functions of its module that it calls.

    What is not known is None or missing: a fact is what the source says for certain.

    Attributes:
        name: The function's name.
        place: Where it is defined.
        parameters: Its parameters; defaults are literal values, or `...` where they are
            not. None where a decorator may have changed them.
        decorator: The decorator that may have changed them; empty if there is none.
        method: Whether it is a method that needs an object.
        returns_scalar: Whether one scalar comes out.
        returns_mean: Whether that scalar is a mean.
        returns: Number of outputs, where every return is a tuple of that many; 1 where
            no return is a tuple.
        collectives: In the order of the source.
        derivatives: Likewise.
        branches: Python control flow on values of parameters.
        loops: Python loops with a known number of turns.
        prints: Calls of print.
        globals: `global` and `nonlocal` statements.
        host_random: Calls of numpy.random, random and time.
        numpy_calls: Calls of NumPy on values of parameters.
        outer_writes: Writes to names, attributes and containers from outside.
        argument_writes: `x[0] = 1` on a parameter: what is written, `x[0]`.
        reused_keys: Second uses of one key.
        draws: All uses of keys.
        global_keys: Keys from outside the function.
        checks: Calls of checkify.check.
        custom_rules: `custom_vjp` and `custom_jvp` on this function or one that it calls.
        loops_of_jax: `while_loop`, `fori_loop`, `scan`, `cond`, `switch`, `map`.
        compiled: `jit`, `pmap` and the like made inside the function.
        constraints: Calls of with_sharding_constraint.
        statistics: Means and variances over axis 0.
        sizes: Parameters that decide a shape.
        frozen_reads: Module-level names that the function reads and the module changes.
    """

    name: str
    place: Place
    parameters: tuple[inspect.Parameter, ...] | None
    decorator: str = ""
    method: bool = False
    returns_scalar: bool | None = None
    returns_mean: bool | None = None
    returns: int | None = None
    collectives: tuple[Collective, ...] = ()
    derivatives: tuple[Derivative, ...] = ()
    branches: tuple[Branch, ...] = ()
    loops: tuple[Loop, ...] = ()
    prints: tuple[Spot, ...] = ()
    globals: tuple[Spot, ...] = ()
    host_random: tuple[Spot, ...] = ()
    numpy_calls: tuple[Spot, ...] = ()
    outer_writes: tuple[Spot, ...] = ()
    argument_writes: tuple[Spot, ...] = ()
    reused_keys: tuple[Draw, ...] = ()
    draws: tuple[Draw, ...] = ()
    global_keys: tuple[Spot, ...] = ()
    checks: tuple[Spot, ...] = ()
    custom_rules: tuple[Spot, ...] = ()
    loops_of_jax: tuple[Spot, ...] = ()
    compiled: tuple[Spot, ...] = ()
    constraints: tuple[Spot, ...] = ()
    statistics: tuple[Spot, ...] = ()
    sizes: tuple[Spot, ...] = ()
    frozen_reads: tuple[Spot, ...] = ()
