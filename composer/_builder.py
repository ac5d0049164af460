"""The wrapping of one function, layer by layer.

Zero cost: everything here runs when JAX traces. Where the outermost layer compiles, its
own JAX object is what comes out.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from composer._context import with_name
from composer._notes import Chain, add_note
from composer._pipeline import Layer
from composer._recipe import Recipe
from composer._registry import Registry
from composer._retrace import counted
from composer._signature import Signature, signature_of
from composer._statics import check_max_traces, check_static, static_key, take_static
from composer.plugin import Context

Fn = Callable[..., Any]


class Builder:
    """Composes one function: signatures and checks at once, wrapping when values are known."""

    def __init__(self, function: Fn, recipe: Recipe, registry: Registry) -> None:
        self.function, self.recipe, self.registry = function, recipe, registry
        self.names = _names(function, recipe.layers)
        self.base = signature_of(function, recipe.output)
        check_static(recipe, self.base)
        self.signatures = self._signatures()
        self.fixed = self._fixed()
        outer = self.signatures[-1]
        check_max_traces(recipe)
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
            annotate=functools.partial(self._annotate, number + 1),
        )

    def _annotate(
        self, number: int, error: Exception, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        """Add the line of the callable with `number` layers inside to an exception's note."""
        sig = self.signatures[number].without(*self.closed)
        add_note(error, self.chain, number, sig, args, kwargs)

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
        fn.__composer__ = (weakref.ref(fn), self)  # type: ignore[attr-defined]  # see builder_of
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

        def built(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
            args, kwargs = sig.bind(args, kwargs)
            static, args, kwargs = take_static(self.static, sig, args, kwargs)
            key = static_key(static)
            if key not in kept:
                kept[key] = self.stack_with(static | self.fixed, count)
            return kept[key], args, kwargs

        def choose(*args: Any, **kwargs: Any) -> Any:
            made, args, kwargs = built(args, kwargs)
            try:
                return made(*args, **kwargs)
            except Exception as error:
                add_note(error, self.chain, count, others, args, kwargs)
                raise

        def lower(*args: Any, **kwargs: Any) -> Any:
            made, args, kwargs = built(args, kwargs)
            return made.lower(*args, **kwargs)

        others = sig.without(*self.static)
        if count == len(self.recipe.layers) and self.compiling == count - 1:
            choose.lower = lower  # type: ignore[attr-defined]  # a function may carry attributes
        return choose


def builder_of(fn: object) -> Builder | None:
    """What composed a callable; None for any other, also for one that wraps such a callable.

    JAX's jitted object has our function beneath it. functools.wraps copies attributes, hence
    the owner.
    """
    for candidate in (fn, getattr(fn, "__wrapped__", None)):
        owner, builder = getattr(candidate, "__composer__", (None, None))
        if owner is not None and owner() is candidate and isinstance(builder, Builder):
            return builder
    return None


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
