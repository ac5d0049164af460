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

    Transforms don't implement this: composer answers for them with `Transform.build`.
    Watchers implement it with `hookimpl(wrapper=True)`, and return what they were given.

    Args:
        fn: The layers so far, as one callable. Never call it here.
        layer: The layer with its parameters and its place.
        ctx: What the layer is told.
    """


@hookspec
def composer_traced(layer: Layer, ctx: Context, seconds: float) -> None:
    """A layer was traced, or run where no jit stands outside.

    Called each time JAX went through the function that the layer built; never while
    a compiled function runs.

    Args:
        layer: The layer.
        ctx: What the layer was told.
        seconds: Wall time with all layers inside it.
    """
