"""The hooks that composer calls. Implement them with `composer.plugin.hookimpl`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pluggy

from composer.plugin import Context, Transform

if TYPE_CHECKING:
    from composer._pipeline import Layer

hookspec = pluggy.HookspecMarker("composer")


@hookspec
def composer_transforms() -> Mapping[str, str | type[Transform]]:  # type: ignore[empty-body]  # a specification
    """Which words the plugin offers.

    Called once, when the plugin is registered.

    Returns:
        A transform class, or the text `module:Class` to be imported on use, by word.
    """


@hookspec(firstresult=True)
def composer_wrap(fn: Callable[..., Any], layer: Layer, ctx: Context) -> Callable[..., Any] | None:
    """Wrap a function with one layer; called for each layer, innermost first.

    Transforms don't implement this: composer answers for them with `Transform.build`, and
    another answer is an error. Watchers implement it with `hookimpl(wrapper=True)`, and
    return what they were given.

    Args:
        fn: The layers so far, as one callable. Never call it here.
        layer: The layer with its parameters and its place.
        ctx: What the layer is told.
    """


@hookspec
def composer_tracing(layer: Layer | None, ctx: Context) -> None:
    """A layer or the user's function begins to be traced, or to run where no jit stands outside.

    Called each time JAX goes through what the layer built, outer layers before inner
    ones; never while a compiled function runs. An outermost layer that compiles is handed
    out as JAX's own object, which nothing may stand around: what is told of it is the
    call of the function that it traces, without its own work in JAX.

    Args:
        layer: The layer; None for the user's function.
        ctx: What the layer was told; for the function, what its innermost layer was told.
    """


@hookspec
def composer_traced(layer: Layer | None, ctx: Context, seconds: float) -> None:
    """What `composer_tracing` told of has ended, by an exception or not; in the same thread.

    Args:
        layer: The layer; None for the user's function.
        ctx: What `composer_tracing` was given.
        seconds: Wall time, with everything inside it.
    """
