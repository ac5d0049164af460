"""A function and a stack become one callable.

Zero cost: everything here runs when JAX traces. Where the outermost layer compiles, its
own JAX object is what comes out.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from composer._context import with_name
from composer._freeze import Uncacheable, canonical_key
from composer._notes import Chain, add_note
from composer._pipeline import Layer
from composer._registry import Registry, default_registry
from composer._retrace import MaxTraces, counted
from composer._signature import UNKNOWN_OUTPUT, Output, Signature, output_from_names, signature_of
from composer.errors import ComposeError, Place, fail, nearest
from composer.plugin import Context, Transform

if TYPE_CHECKING:
    import jax

Fn = Callable[..., Any]
CACHE: Final = "__composer_cache__"


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides what is composed, but the function.

    Attributes:
        layers: Innermost first.
        static: Arguments that hold no arrays, by name.
        mesh: Sizes by axis name, a `jax.sharding.Mesh`, or None.
        output: Names of the function's outputs.
        plugins: Names of plugins to load.
        folder: Where references in parameters are looked up first.
        max_traces: How often JAX may trace the stack; None: as often as it likes.
        static_places: Where each static argument is declared.
    """

    layers: tuple[Layer, ...]
    static: tuple[str, ...] = ()
    mesh: Mapping[str, int] | jax.sharding.Mesh | None = None
    output: Output = UNKNOWN_OUTPUT
    plugins: tuple[str, ...] = ()
    folder: Path | None = None
    max_traces: MaxTraces | None = None
    static_places: Mapping[str, Place | None] = field(default_factory=dict)

    def key(self) -> object:
        """Equal for recipes that compose the same callable.

        Raises:
            Uncacheable: a layer holds an array, or something else without a key.
        """
        mesh = tuple(self.mesh.items()) if isinstance(self.mesh, Mapping) else self.mesh
        # Places too: the notes of a stack must not name another file's lines.
        layers = tuple((layer.transform.stack_key(), layer.place) for layer in self.layers)
        return (
            layers,
            self.static,
            canonical_key(mesh),
            self.output,
            self.plugins,
            self.folder,
            self.max_traces,
        )


def compose(
    function: Fn,
    *layers: Transform | Layer,
    static: str | tuple[str, ...] | list[str] = (),
    mesh: Mapping[str, int] | jax.sharding.Mesh | None = None,
    returns: object = None,
    plugins: tuple[str, ...] = (),
    max_traces: int | MaxTraces | None = None,
) -> Callable[..., Any]:
    """Wrap a function with transforms, innermost first.

    Args:
        function: A pure function of arrays.
        layers: `Grad()`, `Vmap(in_axes={"x": 0})`, `Jit()` is `jit(vmap(grad(function)))`.
        static: Arguments that hold no arrays, by name; for every layer.
        mesh: Sizes by axis name, or a `jax.sharding.Mesh`.
        returns: Names of the function's outputs, nested as they are.
        plugins: Names of plugins to load, such as watchers.
        max_traces: Warn when JAX traces the stack more often, naming what changed.

    Returns:
        The composed callable; JAX's own object where the outermost layer is `Jit`. Equal
        layers around the same plain function give the same callable. Bound methods,
        other callable objects and layers that hold arrays are composed anew each time.

    Raises:
        ComposeError: the stack does not fit the function's arguments.
    """
    recipe = Recipe(
        tuple(_layer(item, number) for number, item in enumerate(layers)),
        (static,) if isinstance(static, str) else tuple(static),
        mesh,
        Output() if returns is None else output_from_names(returns),
        tuple(plugins),
        max_traces=MaxTraces(max_traces) if isinstance(max_traces, int) else max_traces,
    )
    return composed(function, recipe)


def _layer(item: object, number: int) -> Layer:
    if isinstance(item, Layer):
        return item
    if isinstance(item, Transform):
        return Layer(item)
    shown = item.__name__ if isinstance(item, type) else repr(item)
    is_class = isinstance(item, type) and issubclass(item, Transform)
    raise fail(
        ComposeError,
        "CMP035",
        f"layer {number} is {shown}, which is no layer",
        cure=f"{shown}()" if is_class else "compose(function, Grad(), Vmap(), Jit())",
    )


def composed(function: Fn, recipe: Recipe) -> Callable[..., Any]:
    """The callable for a function and a recipe, from the cache where it has one.

    The cache lies in the function's own `__dict__`, so it lives as long as the function
    and no longer: a weak dictionary would never let go, since the composed callable
    holds the function. `functools.wraps` copies `__dict__`, hence the owner.
    """
    if not callable(function):
        raise fail(
            ComposeError,
            "CMP204",
            f"compose takes a function first, not a {type(function).__name__}",
            cure="compose(function, Grad(), Jit())",
        )
    if not isinstance(function, types.FunctionType):
        return _build(function, recipe)
    try:
        key = recipe.key()
    except Uncacheable:
        return _build(function, recipe)
    owner, kept = function.__dict__.get(CACHE, (None, {}))
    if owner is None or owner() is not function:
        kept = {}
        function.__dict__[CACHE] = (weakref.ref(function), kept)
    if key not in kept:
        kept[key] = _build(function, recipe)
    return kept[key]  # type: ignore[no-any-return]  # functions have untyped dictionaries


def _build(function: Fn, recipe: Recipe) -> Callable[..., Any]:
    return Builder(function, recipe, default_registry(recipe.plugins)).outermost()


class Builder:
    """Composes one function: signatures and checks at once, wrapping when values are known."""

    def __init__(self, function: Fn, recipe: Recipe, registry: Registry) -> None:
        self.function, self.recipe, self.registry = function, recipe, registry
        self.names = _names(function, recipe.layers)
        self.base = signature_of(function, recipe.output)
        _check_static(recipe, self.base)
        self.signatures = self._signatures()
        self.fixed = self._fixed()
        outer = self.signatures[-1]
        if recipe.max_traces is not None and self.compiling is None:
            raise fail(
                ComposeError,
                "CMP410",
                "max_traces counts what is traced beneath a jit, but no layer compiles",
                cure="- jit     # as the last layer",
            )
        self.chain = Chain(self.base.title, recipe.layers)
        self.static = frozenset(n for n in recipe.static if n in outer.names)
        for number in range(len(recipe.layers)):
            layer = recipe.layers[number]
            layer.transform.validate(self.context(number, self.closed))

    @property
    def name(self) -> str:
        """What JAX calls the function."""
        return self.names[0][0]

    @property
    def closed(self) -> frozenset[str]:
        """Arguments that no layer sees: static ones, given outside or by a layer."""
        return self.static | frozenset(self.fixed)

    def _signatures(self) -> list[Signature]:
        """The signature below each layer, and that of the whole as the last."""
        found = [self.base]
        for layer in self.recipe.layers:
            found.append(layer.transform.signature(found[-1]))
        return found

    def _fixed(self) -> dict[str, object]:
        """Static arguments whose values a layer supplies (partial)."""
        found: dict[str, object] = {}
        for layer, below in zip(self.recipe.layers, self.signatures, strict=False):
            bound = layer.transform.binds(below)
            found |= {n: v for n, v in bound.items() if n in self.recipe.static}
        return found

    def context(
        self, number: int, static: frozenset[str], exposed: frozenset[str] = frozenset()
    ) -> Context:
        layer = self.recipe.layers[number]
        outside = self.recipe.layers[number + 1 :]
        return Context(
            signature=self.signatures[number],
            word=layer.word,
            place=layer.place,
            static=static,
            exposed=exposed,
            compiled_outside=any(other.transform.compiles() for other in outside),
            axes_outside=tuple(n for other in outside for n in other.transform.binds_axes()),
            mesh=self.recipe.mesh or None,
            name=self.names[number][0],
            qualname=self.names[number][1],
            folder=self.recipe.folder,
            number=number,
            outermost=not outside,
            composition=self.chain,
        )

    def outermost(self) -> Callable[..., Any]:
        """The composed callable."""
        count = len(self.recipe.layers)
        outer = self.signatures[-1]
        if not self.static:
            made = self.stack_with(self.fixed, count)
            if count and self.recipe.layers[-1].transform.compiles():
                return made
            return self._dress(self._bound(made, outer.without(*self.fixed), count), outer, count)
        if count and self.recipe.layers[-1].transform.marks_static:
            inside = self._per_static_value(count - 1)
            ctx = self.context(count - 1, frozenset(self.fixed), self.static)
            inside = self._limited(inside, count - 1, self.signatures[count - 1])
            return self._wrap(inside, self.signatures[count - 1], ctx)
        return self._dress(self._per_static_value(count), outer, count)

    def stack_with(self, static: Mapping[str, object], count: int) -> Callable[..., Any]:
        """The innermost `count` layers around the function with static values closed over."""
        names = frozenset(static)
        made = self._base(static)
        if count and self.registry.observes:
            made = self._observed(made, None, self.context(0, names))
        for number in range(count):
            ctx = self.context(number, names)
            below = ctx.signature.without(*names)
            frame = self._bound(made, below, number)
            made = self._wrap(self._limited(frame, number, below), below, ctx)
        return made

    def _limited(self, fn: Fn, number: int, sig: Signature) -> Callable[..., Any]:
        """Traces counted, beneath the outermost layer that compiles."""
        allowed = self.recipe.max_traces
        if allowed is None or number != self.compiling:
            return fn
        layer = self.recipe.layers[number]
        return counted(fn, allowed, sig, self.base.title, layer.place)

    @functools.cached_property
    def compiling(self) -> int | None:
        """The number of the outermost layer that compiles."""
        numbered = enumerate(self.recipe.layers)
        return max((n for n, layer in numbered if layer.transform.compiles()), default=None)

    def _wrap(self, fn: Fn, sig: Signature, ctx: Context) -> Callable[..., Any]:
        """One layer around `fn`, which takes the arguments of `sig`."""
        layer = self.recipe.layers[ctx.number]
        if not self.registry.observes:
            return self.registry.wrap(self._dress(fn, sig, ctx.number), layer, ctx)
        # JAX's own object is handed out as it is, so what it traces is observed instead.
        if ctx.number == len(self.recipe.layers) - 1 and layer.transform.compiles():
            fn = self._observed(fn, layer, ctx)
            return self.registry.wrap(self._dress(fn, sig, ctx.number), layer, ctx)
        made = self.registry.wrap(self._dress(fn, sig, ctx.number), layer, ctx)
        return self._observed(made, layer, ctx)

    def _observed(self, fn: Fn, layer: Layer | None, ctx: Context) -> Callable[..., Any]:
        def observed(*args: Any, **kwargs: Any) -> Any:
            with self.registry.observed(layer, ctx):
                return fn(*args, **kwargs)

        return with_name(observed, ctx.name, ctx.qualname)

    def _base(self, static: Mapping[str, object]) -> Callable[..., Any]:
        """The function itself, or with its static arguments put in where they belong."""
        if not static:
            return self.function
        order = self.base.positional
        function = self.function

        def closed(*args: Any, **kwargs: Any) -> Any:
            given = iter(args)
            positional: list[Any] = []
            for name in order:
                if name in static:
                    positional.append(static[name])
                    continue
                try:
                    positional.append(next(given))
                except StopIteration:
                    break
            behind = order[: len(positional)]
            rest = {name: value for name, value in static.items() if name not in behind}
            return function(*positional, *given, **rest, **kwargs)

        return with_name(closed, *self.names[0])

    def _bound(self, fn: Fn, sig: Signature, number: int) -> Callable[..., Any]:
        """`fn` called with keyword arguments moved to their positions.

        `fn` has `number` layers inside; what it raises gets its line of the note.
        """
        bind, chain = sig.bind, self.chain

        def bound(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                args, kwargs = bind(args, kwargs)
            try:
                return fn(*args, **kwargs)
            except Exception as error:
                add_note(error, chain, number, sig, args, kwargs)
                raise

        return bound

    def _dress(self, fn: Fn, sig: Signature, number: int) -> Callable[..., Any]:
        """Names, documentation and signature, one by one.

        functools.wraps would copy `__dict__` too, and with it another wrapper's fields.
        """
        with_name(fn, *self.names[number])
        fn.__doc__ = self.function.__doc__
        fn.__module__ = getattr(self.function, "__module__", None) or __name__
        signature = sig.to_inspect()
        if signature is not None:
            fn.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect
        return fn

    def _per_static_value(self, count: int) -> Callable[..., Any]:
        """A callable that builds the stack once for each set of static values, and keeps it."""
        sig = self.signatures[count]
        kept: dict[object, Callable[..., Any]] = {}

        def choose(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = sig.bind(args, kwargs)
            static, args, kwargs = _take_static(self.static, sig, args, kwargs)
            key = self._static_key(static)
            if key not in kept:
                kept[key] = self.stack_with(static | self.fixed, count)
            try:
                return kept[key](*args, **kwargs)
            except Exception as error:
                add_note(error, self.chain, count, others, args, kwargs)
                raise

        others = sig.without(*self.static)
        return choose

    def _static_key(self, static: Mapping[str, object]) -> object:
        for name, value in static.items():
            try:
                hash(value)
            except TypeError:
                raise fail(
                    ComposeError,
                    "CMP401",
                    f"static argument {name!r} is a {type(value).__name__}, which is not hashable",
                    cure="a tuple instead of a list, a frozen dataclass instead of a dict",
                ) from None
        return tuple((name, _static_value_key(value)) for name, value in sorted(static.items()))


def _static_value_key(value: object) -> object:
    """Tells 1, 1.0 and True apart, which are equal in Python but give different programs."""
    try:
        return canonical_key(value)
    except Uncacheable:
        return (type(value), value)


def _take_static(
    names: frozenset[str], sig: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[str, Any], tuple[Any, ...], dict[str, Any]]:
    """Static values by name, and the other arguments as they stand."""
    order = sig.positional
    static = {name: value for name, value in zip(order, args, strict=False) if name in names}
    others = tuple(
        value for i, value in enumerate(args) if i >= len(order) or order[i] not in names
    )
    static |= {name: value for name, value in kwargs.items() if name in names}
    return static, others, {n: v for n, v in kwargs.items() if n not in names}


def _check_static(recipe: Recipe, sig: Signature) -> None:
    for name in recipe.static:
        if sig.parameters is None:
            raise fail(
                ComposeError,
                "CMP203",
                f"static names {name!r}, but {sig.title} does not tell the names of its arguments",
                place=recipe.static_places.get(name),
                cure="a function of your own around it, with named arguments",
            )
        if name not in sig.names:
            close = nearest(name, sig.names)
            raise fail(
                ComposeError,
                "CMP201",
                f"static names {name!r}, but {sig.title} has no such argument",
                place=recipe.static_place,
                notes=[f"arguments: {', '.join(sig.names) or 'none'}"],
                cure=f"static: [{close}]" if close else None,
            )


def _names(function: Fn, layers: tuple[Layer, ...]) -> list[tuple[str, str]]:
    """What JAX calls the function, and what is around it after each layer."""
    found = [_jax_name(function)]
    for layer in layers:
        name, qualname = found[-1]
        after = layer.transform.name_after(name)
        found.append((name, qualname) if after == name else (after, after))
    return found


def _jax_name(function: Fn) -> tuple[str, str]:
    """The name that JAX prints for a callable, which for objects without one is JAX's own."""
    if isinstance(function, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
        return function.__name__, function.__qualname__
    import jax

    named = jax.vmap(function)
    return named.__name__, named.__qualname__
