"""`compose`: a function and layers become one callable, the same one for equal layers."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from composer._builder import Builder
from composer._freeze import Uncacheable
from composer._pipeline import Layer
from composer._recipe import Recipe
from composer._registry import default_registry
from composer._retrace import MaxTraces
from composer._signature import Output, output_from_names
from composer.errors import ComposeError, ComposerError, fail
from composer.plugin import Transform

if TYPE_CHECKING:
    import jax

Fn = Callable[..., Any]
CACHE: Final = "__composer_cache__"


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
    _check_options(static, mesh, max_traces)
    recipe = Recipe(
        tuple(_layer(item, number) for number, item in enumerate(layers)),
        (static,) if isinstance(static, str) else tuple(static),
        mesh,
        _output(returns),
        tuple(plugins),
        max_traces=MaxTraces(max_traces) if isinstance(max_traces, int) else max_traces,
    )
    return composed(function, recipe)


def _check_options(static: object, mesh: object, max_traces: object) -> None:
    """Refuse options of a wrong type, which would fail far from here, or be ignored.

    Raises:
        ComposeError: CMP033.
    """
    names = (static,) if isinstance(static, str) else static
    if not isinstance(names, tuple | list | set | frozenset) or not all(
        isinstance(name, str) for name in names
    ):
        raise _wrong("static", static, "names of arguments", 'static=("n",)')
    if not (mesh is None or isinstance(mesh, Mapping) or hasattr(mesh, "axis_names")):
        raise _wrong("mesh", mesh, "sizes by axis name, or a mesh of JAX", 'mesh={"data": 4}')
    whole = isinstance(max_traces, int) and not isinstance(max_traces, bool)
    if not (max_traces is None or whole or isinstance(max_traces, MaxTraces)):
        raise _wrong("max_traces", max_traces, "a whole number, or MaxTraces", "max_traces=1")


def _wrong(option: str, value: object, wanted: str, cure: str) -> ComposerError:
    return fail(ComposeError, "CMP033", f"compose: {option} is {value!r}, not {wanted}", cure=cure)


def _output(returns: object) -> Output:
    """Output names.

    Raises:
        ComposeError: CMP033.
    """
    if returns is None:
        return Output()
    try:
        return output_from_names(returns)
    except ValueError as error:
        raise fail(ComposeError, "CMP033", f"compose: {error}") from None


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
