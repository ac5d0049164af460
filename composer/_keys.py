"""Random keys that a layer hands to every row or device as they are. No JAX."""

from __future__ import annotations

from collections.abc import Iterator

from composer._order import split_names
from composer._sources import Key
from composer._view import LayerView


def shared_keys(view: LayerView) -> Iterator[tuple[str, set[str]]]:
    """Arguments that the function draws with and that the layer does not map, though others.

    Yields:
        The key's name, and the names of the arguments that are mapped or split.
    """
    stack = view.stack
    split = split_names(view) if view.word != "map" else _rows_of_map(view)
    if stack.facts is None or not split:
        return
    if any(fact.op == "axis_index" for fact in stack.facts.collectives):
        return
    drawn = {draw.parameter for draw in stack.facts.draws} - {None}
    for name in view.signature.positional:
        if name not in drawn or name in split or name in stack.static:
            continue
        source = stack.sources.get(name)
        if isinstance(source, Key) and source.split is not None:
            continue
        if not any(_remakes(layer, name) for layer in view.inside):
            yield name, split


def _remakes(layer: LayerView, name: str) -> bool:
    """Whether a layer inside makes keys of this one, or maps it."""
    if layer.word == "split_key":
        return name in layer.names(layer.get("key"))
    mapped = split_names(layer) if layer.word in ("vmap", "pmap", "shard_map") else None
    return bool(mapped) and name in (mapped or set())


def _rows_of_map(view: LayerView) -> set[str]:
    xs = view.get("xs")
    return set(view.signature.positional) if xs is None else set(view.names(xs))
