"""Which transforms exist, and who answers for them.

Built-ins are offered through the same hook as a stranger's transforms. A word that is
not built-in is looked up in the metadata of installed distributions (entry-point group
`composer.transforms`, the name is the word); the plugin is imported only then.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Generator, Mapping
from importlib import metadata
from typing import Any, Final

import pluggy

from composer import _hooks, transforms
from composer._pipeline import Layer
from composer.errors import ComposerError, PipelineError, Place, PluginError, fail, nearest
from composer.plugin import Context, Transform, hookimpl

Fn = Callable[..., Any]

TRANSFORMS: Final = "composer.transforms"
PLUGINS: Final = "composer.plugins"


class Owner:
    """Answers `composer_wrap` for the transform classes of one plugin, and no others."""

    def __init__(self) -> None:
        self.classes: set[type[Transform]] = set()

    @hookimpl
    def composer_wrap(
        self, fn: Callable[..., Any], layer: Layer, ctx: Context
    ) -> Callable[..., Any] | None:
        """The layer's own `build`, for the plugin's own layers."""
        if type(layer.transform) not in self.classes:
            return None
        return layer.transform.build(fn, ctx)


class Registry:
    """The transforms and plugins of one session.

    Args:
        plugins: Names of plugins (entry-point group `composer.plugins`) to load at once.
        built_in_only: Whether words of installed plugins are unknown here.

    Raises:
        PluginError: CMP602 a plugin that is not installed or fails to import, CMP603 a
            hook that does not exist.
    """

    def __init__(self, plugins: tuple[str, ...] = (), *, built_in_only: bool = False) -> None:
        self._built_in_only = built_in_only
        self._manager = pluggy.PluginManager("composer")
        self._manager.add_hookspecs(_hooks)
        self._offered: dict[str, str | type[Transform]] = {}
        self._offered_by: dict[str, str] = {}
        self._owners: dict[str, Owner] = {}
        self.add(transforms, "built-in")
        for name in plugins:
            self.add(_load_plugin(name), name)

    def add(self, plugin: object, name: str) -> None:
        """Register a plugin object: its transforms, and its other hooks.

        Raises:
            PluginError: CMP601 a word that another plugin offers too, CMP603.
        """
        self._manager.register(plugin, name)
        self._check_hooks(plugin, name)
        for offer in self._manager.subset_hook_caller(
            "composer_transforms", [p for p in self._manager.get_plugins() if p is not plugin]
        )():
            for word, target in offer.items():
                self._offer(word, target, name)

    def words(self) -> Mapping[str, str]:
        """Every word with the plugin or distribution that offers it; imports no plugin."""
        found = {entry.name: _distribution(entry) for entry in self._installed()}
        return dict(sorted((found | self._offered_by).items()))

    def _installed(self) -> list[metadata.EntryPoint]:
        return [] if self._built_in_only else _entry_points(TRANSFORMS)

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
                target = self._own(_import(target), self._offered_by[word])
            return target
        distribution, _, bare = word.rpartition(":")
        entries = [
            entry
            for entry in self._installed()
            if entry.name == bare and distribution in ("", _distribution(entry))
        ]
        if not entries:
            raise self._unknown(word, place)
        if len(entries) > 1:
            raise _claimed(word, entries, place)
        return self._own(_load_transform(entries[0], place), _distribution(entries[0]))

    def wrap(self, fn: Callable[..., Any], layer: Layer, ctx: Context) -> Callable[..., Any]:
        """One layer around `fn`, through the hook `composer_wrap`.

        Raises:
            PluginError: CMP605, a watcher returned another function than it was given.
        """
        # A class that was never offered, defined in a script, answers for itself.
        if not any(type(layer.transform) in owner.classes for owner in self._owners.values()):
            self._own(type(layer.transform), f"class {type(layer.transform).__qualname__}")
        built: list[Callable[..., Any]] = []
        recorder = _Recorder(built)
        self._manager.register(recorder)
        try:
            result = self._manager.hook.composer_wrap(fn=fn, layer=layer, ctx=ctx)
        finally:
            self._manager.unregister(recorder)
        if not built or result is not built[0]:
            raise self._changed(layer)
        return result

    @property
    def observes(self) -> bool:
        """Whether a plugin wants to hear of traces."""
        return bool(self._manager.hook.composer_traced.get_hookimpls())

    def traced(self, layer: Layer, ctx: Context, seconds: float) -> None:
        """Tell the watchers that a layer was traced."""
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
            self._owners[name] = Owner()
            self._manager.register(self._owners[name], f"transforms of {name}")
        self._owners[name].classes.add(cls)
        return cls

    def _check_hooks(self, plugin: object, name: str) -> None:
        known = [hook for hook in dir(_hooks) if hook.startswith("composer_")]
        for attribute in dir(plugin):
            if attribute.startswith("composer_") and attribute not in known:
                close = nearest(attribute, known)
                raise fail(
                    PluginError,
                    "CMP603",
                    f"plugin {name!r} implements {attribute!r}, but there is no such hook",
                    notes=[f"hooks: {', '.join(known)}"],
                    cure=close,
                )

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

    def _changed(self, layer: Layer) -> Exception:
        return fail(
            PluginError,
            "CMP605",
            f"a plugin changed or replaced the function while {layer.word} was wrapped",
            place=layer.place,
            notes=[f"loaded: {', '.join(name for name, _ in self._manager.list_name_plugin())}"],
            cure="return from composer_wrap what the wrapper was given",
        )


class _Recorder:
    """Keeps what the owner built, before any watcher could change it."""

    def __init__(self, built: list[Callable[..., Any]]) -> None:
        self._built = built

    @hookimpl(wrapper=True, trylast=True)
    def composer_wrap(self) -> Generator[None, Fn | None, Fn | None]:
        """Innermost of the wrappers: sees the owner's answer first."""
        result = yield
        if result is not None:
            self._built.append(result)
        return result


def _entry_points(group: str) -> list[metadata.EntryPoint]:
    return list(metadata.entry_points(group=group))


def _distribution(entry: metadata.EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "unknown"


def _import(target: str) -> type[Transform]:
    module, _, name = target.partition(":")
    cls: type[Transform] = getattr(importlib.import_module(module), name)
    return cls


def _load_transform(entry: metadata.EntryPoint, place: Place | None) -> type[Transform]:
    cls = _guarded_load(entry, place)
    if isinstance(cls, type) and issubclass(cls, Transform):
        return cls
    raise fail(
        PluginError,
        "CMP606",
        f"{entry.name!r} of {_distribution(entry)} is {cls!r}, which is no transform class",
        place=place,
        cure="a class that inherits composer.plugin.Transform",
    )


def _load_plugin(name: str) -> object:
    entries = [entry for entry in _entry_points(PLUGINS) if entry.name == name]
    if len(entries) > 1:
        raise _claimed(name, entries, None)
    if entries:
        return _guarded_load(entries[0], None)
    known = [entry.name for entry in _entry_points(PLUGINS)]
    raise fail(
        PluginError,
        "CMP602",
        f"there is no plugin {name!r}",
        notes=[f"installed: {', '.join(known) or 'none'}"],
        cure=nearest(name, known) or f"pip install jax-composer-{name}",
    )


def _guarded_load(entry: metadata.EntryPoint, place: Place | None) -> object:
    """Import what an entry point names; a plugin's own failure becomes our error with its cause."""
    try:
        return entry.load()
    except ComposerError:
        raise
    # Whatever a stranger's module raises while it is imported.
    except Exception as error:
        raise fail(
            PluginError,
            "CMP602",
            f"plugin {entry.name!r} of {_distribution(entry)} cannot be imported:"
            f" {type(error).__name__}: {error}",
            place=place,
            notes=[f"entry point: {entry.value}"],
            cure=f"pip install --upgrade {_distribution(entry)}",
        ) from error


def _claimed(word: str, entries: list[metadata.EntryPoint], place: Place | None) -> Exception:
    owners = sorted(_distribution(entry) for entry in entries)
    return fail(
        PluginError,
        "CMP601",
        f"{word!r} is claimed by {len(owners)} distributions: {', '.join(owners)}",
        place=place,
        cure="\n".join(f"{owner}:{word}" for owner in owners),
    )


@functools.cache
def default_registry(plugins: tuple[str, ...] = ()) -> Registry:
    """The registry for these plugins, made once."""
    return Registry(plugins)
