"""Which transforms exist, and who answers for them.

Built-ins are offered through the same hook as a stranger's transforms. A word that is
not built-in is looked up in the metadata of installed distributions (entry-point group
`composer.transforms`, the name is the word); the plugin is imported only then.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

import pluggy

from composer import _hooks, transforms
from composer._entry_points import (
    TRANSFORMS,
    broken,
    check_hooks,
    claimed,
    distribution_of,
    entry_points,
    imported,
    load_plugin,
    matching,
    target_of,
    transform_class,
    wrong_hook,
)
from composer._pipeline import Layer
from composer.errors import PipelineError, Place, PluginError, fail, nearest
from composer.plugin import Context, Transform, hookimpl

Fn = Callable[..., Any]


class Owner:
    """Answers `composer_wrap` for the transform classes of one plugin, and no others.

    Args:
        answers: Where it notes what it built, by the identity of the context that it was
            called with: each call has its own.
    """

    def __init__(self, answers: dict[int, object]) -> None:
        self.classes: set[type[Transform]] = set()
        self._answers = answers

    @hookimpl
    def composer_wrap(
        self, fn: Callable[..., Any], layer: Layer, ctx: Context
    ) -> Callable[..., Any] | None:
        """The layer's own `build`, for the plugin's own layers."""
        if type(layer.transform) not in self.classes:
            return None
        made = layer.transform.build(fn, ctx)
        self._answers[id(ctx)] = made
        return made


class Registry:
    """The transforms and plugins of one session.

    Args:
        plugins: Names of plugins (entry-point group `composer.plugins`) to load at once.
        built_in_only: Whether words of installed plugins are unknown here.

    Raises:
        PluginError: CMP602 a plugin that is not installed or fails to import, CMP603 a
            hook that does not exist, CMP607 a hook that is implemented wrongly.
    """

    def __init__(self, plugins: tuple[str, ...] = (), *, built_in_only: bool = False) -> None:
        self._built_in_only = built_in_only
        self._manager = pluggy.PluginManager("composer")
        self._manager.add_hookspecs(_hooks)
        self._offered: dict[str, str | type[Transform]] = {}
        self._offered_by: dict[str, str] = {}
        self._owners: dict[str, Owner] = {}
        self._owned: set[type[Transform]] = set()
        self._answers: dict[int, object] = {}
        self.add(transforms, "built-in")
        for name in plugins:
            self.add(load_plugin(name), name)

    def add(self, plugin: object, name: str) -> None:
        """Register a plugin object: its transforms, and its other hooks.

        Raises:
            PluginError: CMP601 a word that another plugin offers too, CMP603, CMP607.
        """
        check_hooks(plugin, name)
        try:
            self._manager.register(plugin, name)
        except pluggy.PluginValidationError as error:
            raise wrong_hook(name, str(error).splitlines()[-1]) from error
        for word, target in self._offers_of(plugin, name):
            self._offer(word, target, name)

    def _offers_of(self, plugin: object, name: str) -> list[tuple[str, str | type[Transform]]]:
        others = [other for other in self._manager.get_plugins() if other is not plugin]
        offers = self._manager.subset_hook_caller("composer_transforms", others)
        try:
            return [pair for offer in offers() for pair in offer.items()]
        # Whatever a stranger's hook raises or returns.
        except Exception as error:
            raise broken(f"composer_transforms of {name}", name, error) from error

    def words(self) -> Mapping[str, str]:
        """Every word with the plugins or distributions that offer it; imports no plugin."""
        found: dict[str, set[str]] = {word: {name} for word, name in self._offered_by.items()}
        for entry in [] if self._built_in_only else entry_points(TRANSFORMS):
            found.setdefault(entry.name, set()).add(distribution_of(entry))
        return {word: ", ".join(sorted(names)) for word, names in sorted(found.items())}

    def load(self, word: str, place: Place | None = None) -> type[Transform]:
        """The transform class of a word, or of `distribution:word`.

        Raises:
            PipelineError: CMP034, no such word.
            PluginError: CMP601 two distributions claim the word, CMP602 its plugin
                cannot be imported.
        """
        if word in self._offered:
            target = self._offered[word]
            if isinstance(target, str):
                name = self._offered_by[word]
                target = self._own(transform_class(imported(name, target, place), word, name), name)
            return target
        entries = [] if self._built_in_only else matching(TRANSFORMS, word)
        if not entries:
            raise self._unknown(word, place)
        if len(entries) > 1:
            raise claimed(word, entries, place)
        owner = distribution_of(entries[0])
        found = imported(owner, target_of(entries[0]), place)
        return self._own(transform_class(found, word, owner, place), owner)

    def wrap(self, fn: Callable[..., Any], layer: Layer, ctx: Context) -> Callable[..., Any]:
        """One layer around `fn`, through the hook `composer_wrap`.

        Raises:
            PluginError: CMP604 a plugin answered in the place of the layer's own `build`,
                CMP605 a watcher returned another function than it was given, CMP606
                `build` returned no callable.
        """
        # A class that was never offered, defined in a script, answers for itself.
        if type(layer.transform) not in self._owned:
            self._own(type(layer.transform), f"class {type(layer.transform).__qualname__}")
        try:
            result = self._manager.hook.composer_wrap(fn=fn, layer=layer, ctx=ctx)
        finally:
            built = self._answers.pop(id(ctx), _NOT_ASKED)
        if built is _NOT_ASKED:
            raise self._answered(layer)
        if not callable(built):
            raise _built_nothing(layer, built)
        if result is not built:
            raise self._changed(layer)
        answer: Fn = built
        return answer

    @property
    def observes(self) -> bool:
        """Whether a plugin wants to hear of traces."""
        hook = self._manager.hook
        return bool(hook.composer_tracing.get_hookimpls() or hook.composer_traced.get_hookimpls())

    @contextlib.contextmanager
    def observed(self, layer: Layer | None, ctx: Context) -> Generator[None]:
        """Tell the watchers when a trace begins and ends: of a layer, or of the function (None)."""
        self._manager.hook.composer_tracing(layer=layer, ctx=ctx)
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self._manager.hook.composer_traced(layer=layer, ctx=ctx, seconds=seconds)

    def _offer(self, word: str, target: str | type[Transform], name: str) -> None:
        if word in self._offered:
            raise fail(
                PluginError,
                "CMP601",
                f"plugin {name!r} offers the word {word!r}, which exists already",
                cure="another word in the plugin",
            )
        self._offered_by[word] = name
        self._offered[word] = target if isinstance(target, str) else self._own(target, name)

    def _own(self, cls: type[Transform], name: str) -> type[Transform]:
        if name not in self._owners:
            self._owners[name] = Owner(self._answers)
            self._manager.register(self._owners[name], f"transforms of {name}")
        self._owners[name].classes.add(cls)
        self._owned.add(cls)
        return cls

    def _unknown(self, word: str, place: Place | None) -> Exception:
        known = list(self.words())
        close = nearest(word, known)
        return fail(
            PipelineError,
            "CMP034",
            f"there is no transform {word!r}",
            place=place,
            notes=[f"transforms: {', '.join(known)}"],
            cure=f"- {close}" if close else None,
        )

    def _answered(self, layer: Layer) -> Exception:
        return fail(
            PluginError,
            "CMP604",
            f"{self._implementing(wrapper=False)} answered composer_wrap for {layer.word},"
            " which only the transform itself may build",
            place=layer.place,
            cure="@hookimpl(wrapper=True) to watch, or a Transform with its own build",
        )

    def _changed(self, layer: Layer) -> Exception:
        return fail(
            PluginError,
            "CMP605",
            f"{self._implementing(wrapper=True)} changed or replaced the function while"
            f" {layer.word} was wrapped",
            place=layer.place,
            cure="return from composer_wrap what the wrapper was given",
        )

    def _implementing(self, *, wrapper: bool) -> str:
        """The plugins that implement composer_wrap, as watchers or with answers of their own."""
        names = [
            repr(item.plugin_name)
            for item in self._manager.hook.composer_wrap.get_hookimpls()
            if (item.wrapper or item.hookwrapper) == wrapper and not isinstance(item.plugin, Owner)
        ]
        return f"plugin {names[0]}" if len(names) == 1 else f"one of {', '.join(sorted(names))}"


_NOT_ASKED: Final = object()


def _built_nothing(layer: Layer, built: object) -> Exception:
    cls = type(layer.transform).__qualname__
    return fail(
        PluginError,
        "CMP606",
        f"{cls}.build returned {built!r}, which cannot be called",
        place=layer.place,
        cure="return from build the function that it made",
    )


@functools.cache
def default_registry(plugins: tuple[str, ...] = ()) -> Registry:
    """The registry for these plugins, made once."""
    return Registry(plugins)
