"""What installed distributions offer: found by their metadata, imported when it is named.

A plugin is a stranger's code: whatever goes wrong in it becomes an error of ours that
names it, with its own exception as the cause.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from importlib import metadata
from typing import Final

from composer import _hooks
from composer.errors import ComposerError, Place, PluginError, fail, nearest
from composer.plugin import Transform

TRANSFORMS: Final = "composer.transforms"
PLUGINS: Final = "composer.plugins"


def entry_points(group: str) -> list[metadata.EntryPoint]:
    """What all installed distributions offer in a group; takes tens of milliseconds."""
    return list(metadata.entry_points(group=group))


def matching(group: str, name: str) -> list[metadata.EntryPoint]:
    """Those with this name, or with this `distribution:name`."""
    distribution, _, bare = name.rpartition(":")
    return [
        entry
        for entry in entry_points(group)
        if entry.name == bare and distribution in ("", distribution_of(entry))
    ]


def target_of(entry: metadata.EntryPoint) -> str:
    """`module:name`, as `imported` takes it."""
    return f"{entry.module}:{entry.attr or ''}"


def distribution_of(entry: metadata.EntryPoint) -> str:
    """The name of the distribution, as pip knows it."""
    return entry.dist.name if entry.dist is not None else "unknown"


def transform_class(
    found: object, word: str, owner: str, place: Place | None = None
) -> type[Transform]:
    """What was found for a word, if it is a transform class.

    Raises:
        PluginError: CMP606.
    """
    if isinstance(found, type) and issubclass(found, Transform):
        return found
    raise fail(
        PluginError,
        "CMP606",
        f"{word!r} of {owner} is {found!r}, which is no transform class",
        place=place,
        cure="a class that inherits composer.plugin.Transform",
    )


def load_plugin(name: str) -> object:
    """The plugin of the group `composer.plugins` with this name.

    Raises:
        PluginError: CMP601 two distributions claim the name, CMP602 it is not installed
            or cannot be imported.
    """
    entries = matching(PLUGINS, name)
    if len(entries) > 1:
        raise claimed(name, entries, None)
    if entries:
        return imported(distribution_of(entries[0]), target_of(entries[0]))
    known = [entry.name for entry in entry_points(PLUGINS)]
    raise fail(
        PluginError,
        "CMP602",
        f"there is no plugin {name!r}",
        notes=[f"installed: {', '.join(known) or 'none'}"],
        cure=nearest(name, known) or f"pip install jax-composer-{name}",
    )


def imported(owner: str, target: str, place: Place | None = None) -> object:
    """Import `module:name`, or a whole module where no name is given.

    Raises:
        PluginError: CMP602, with what the plugin itself raised as the cause.
    """
    module, _, name = target.partition(":")
    try:
        found = importlib.import_module(module.strip())
        return functools.reduce(getattr, filter(None, name.split(".")), found)
    except ComposerError:
        raise
    # Whatever a stranger's module raises while it is imported.
    except Exception as error:
        raise broken(f"{target} of {owner}", owner, error, place) from error


def broken(what: str, owner: str, error: Exception, place: Place | None = None) -> Exception:
    """The error for a plugin whose own code raised."""
    return fail(
        PluginError,
        "CMP602",
        f"{what} cannot be loaded: {type(error).__name__}: {error}",
        place=place,
        cure=f"pip install --upgrade {owner}, or tell its author",
    )


def claimed(word: str, entries: list[metadata.EntryPoint], place: Place | None) -> Exception:
    """The error for a word, or the name of a plugin, that several distributions offer."""
    owners = sorted(distribution_of(entry) for entry in entries)
    return fail(
        PluginError,
        "CMP601",
        f"{word!r} is claimed by {len(owners)} distributions: {', '.join(owners)}",
        place=place,
        cure="\n".join(f"{owner}:{word}" for owner in owners),
    )


def check_hooks(plugin: object, name: str) -> None:
    """Refuse what pluggy takes in silence: misspelt hooks, and hooks without their mark.

    Raises:
        PluginError: CMP603 a hook that does not exist, CMP607 one that is not marked.
    """
    known = [hook for hook in dir(_hooks) if hook.startswith("composer_")]
    for attribute in dir(plugin):
        value = inspect.getattr_static(plugin, attribute)
        if not inspect.isroutine(value):
            continue
        marked = getattr(value, "composer_impl", None)
        hook = (marked or {}).get("specname") or attribute
        if marked is None and not hook.startswith("composer_"):
            continue
        if hook not in known:
            raise fail(
                PluginError,
                "CMP603",
                f"plugin {name!r} implements {hook!r}, but there is no such hook",
                notes=[f"hooks: {', '.join(known)}"],
                cure=nearest(hook, known),
            )
        if marked is None:
            raise wrong_hook(name, f"{hook} is not marked, so it would never be called")


def wrong_hook(name: str, what: str) -> Exception:
    """The error for an implementation that the hook could not be called with."""
    return fail(
        PluginError,
        "CMP607",
        f"plugin {name!r} implements a hook wrongly: {what}",
        cure="@composer.plugin.hookimpl, and argument names as in the hook's description",
    )
