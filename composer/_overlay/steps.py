"""One edit applied: a value set, a layer dropped, layers inserted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from composer._findings import kind_of
from composer._overlay import Kind
from composer._overlay.address import (
    Address,
    Part,
    World,
    check_elsewhere,
    find_layer,
    is_stack,
    no_layer,
    word_of,
)
from composer._overlay.nodes import Node
from composer._yaml import Path, dump
from composer.errors import ComposerError, PipelineError, fail, nearest

Parts: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """An edit with places.

    Attributes:
        kind: What is done.
        address: Where.
        new: The value that is set, or the layers that are inserted.
    """

    kind: Kind
    address: Address
    new: tuple[Node, ...] = ()


def layers_from(node: Node) -> tuple[Node, ...]:
    """One layer, or a list of them.

    Raises:
        PipelineError: CMP053.
    """
    layers = tuple(node.items) if isinstance(node.value, list) else (node,)
    for layer in layers:
        if word_of(layer) is None:
            raise fail(
                PipelineError,
                "CMP053",
                f"a layer is a word or a word with parameters, not {kind_of(layer.plain())}",
                place=layer.place,
                cure="jit, or {vmap: {in_axes: {x: 0}}}",
            )
    if not layers:
        message = "there is no layer in this list"
        raise fail(PipelineError, "CMP053", message, place=node.place, cure="[jit]")
    # A layer in a list has no key, wherever it was written.
    return tuple(replace(layer, key=None) for layer in layers)


def apply_step(root: Node, step: Step, world: World) -> Node:
    """The pipeline with one edit applied.

    Raises:
        PipelineError: CMP054 to CMP057.
        BroughtElsewhere: a name is not here, but stands in `world.elsewhere`.
    """
    if step.kind == "set":
        return _put(root, (), step.address.parts, step.new[0], world)
    path, part = _stack_and_layer(step.address)
    return _edit_stack(root, path, (), part, step, world)


def _stack_and_layer(address: Address) -> tuple[Path, Part]:
    """The path of the stack, and the layer in it; a lone word is one of the pipeline's stack."""
    *above, part = address.parts
    path = tuple(item.key for item in above) or ("stack",)
    if not is_stack(path):
        raise fail(
            PipelineError,
            "CMP056",
            f"{address.text} is no layer",
            place=address.place,
            cure="a word, an id, stack[2], or args.NAME.stack.WORD in a sub-pipeline",
        )
    return path, part


def _edit_stack(node: Node, rest: Path, path: Path, part: Part, step: Step, world: World) -> Node:
    if rest:
        key, *below = rest
        if key not in node.mapping:
            check_elsewhere(key, world)
            message = f"there is no {'.'.join(map(str, (*path, key)))} here"
            raise fail(PipelineError, "CMP054", message, place=step.address.place)
        inner = _edit_stack(node.mapping[key], tuple(below), (*path, key), part, step, world)
        return node.with_part(key, inner)
    at = find_layer(node, part, world)
    first, last = {"drop": (at, at + 1), "insert_before": (at, at)}.get(step.kind, (at + 1, at + 1))
    return replace(node, value=[*node.items[:first], *step.new, *node.items[last:]])


def _put(node: Node, path: Path, parts: Parts, new: Node, world: World) -> Node:
    """The node with a value at the end of the remaining parts of an address."""
    part, *more = parts
    rest = tuple(more)
    if is_stack(path) and isinstance(node.value, list):
        return _put_layer(node, path, parts, new, world)
    if isinstance(node.value, list):
        return node.with_item(_position(node, path, part), _below(node, path, parts, new, world))
    if node.value is not None and not isinstance(node.value, dict):
        raise _no_parts(node, path, part)
    if part.key not in node.mapping:
        _check_known(node, path, part, rest, world)
    return node.with_part(part.key, _below(node, path, parts, new, world))


def _below(node: Node, path: Path, parts: Parts, new: Node, world: World) -> Node:
    """The new part of a mapping or of a list."""
    part, rest = parts[0], parts[1:]
    if isinstance(node.value, list):
        present: Node | None = node.items[_position(node, path, part)]
        key = None
    else:
        present = node.mapping.get(part.key)
        key = part.place if present is None else present.key
    if not rest:
        return replace(new, key=key)
    inner = present or Node({}, part.place, key, new.origin)
    return _put(inner, (*path, part.key), rest, new, world)


def _put_layer(stack: Node, path: Path, parts: Parts, new: Node, world: World) -> Node:
    """The stack with a parameter of one layer set, or with all of them."""
    part, rest = parts[0], parts[1:]
    at = find_layer(stack, part, world)
    layer = stack.items[at]
    word = word_of(layer)
    if word is None:
        raise no_layer(stack, part)
    behind = layer.mapping.get(word) or Node({}, layer.place, layer.place, layer.origin)
    if rest and not isinstance(behind.value, dict | None):
        raise _short_form(word, behind, (*path, part.key), rest, new)
    if rest:
        behind = _put(behind, (*path, part.key), rest, new, world)
    else:
        behind = replace(new, key=behind.key)
    bare = replace(layer, value={}) if isinstance(layer.value, str) else layer
    return stack.with_item(at, bare.with_part(word, behind))


def _position(node: Node, path: Path, part: Part) -> int:
    if isinstance(part.key, int) and part.key < len(node.items):
        return part.key
    message = f"{_spelled(path)} is a list of {len(node.items)}, which has no {part.key!r}"
    raise fail(
        PipelineError, "CMP056", message, place=part.place, cure="a position in the list, from 0"
    )


def _check_known(node: Node, path: Path, part: Part, rest: Parts, world: World) -> None:
    """Whether what is not there may be made: all but keys, stacks, and arguments to set in."""
    if path == () and part.key not in world.keys:
        message, known, notes = f"a pipeline has no key {part.key!r}", world.keys, "keys"
    elif path == ("args",) and rest:
        known = tuple(str(name) for name in node.mapping)
        message, notes = f"args: has no argument {part.key!r}", "arguments"
    elif part.key == "stack" and rest and is_stack((*path, "stack")):
        message, known, notes = f"there is no {_spelled((*path, 'stack'))} here", (), ""
    else:
        return
    check_elsewhere(part.key, world)
    raise fail(
        PipelineError,
        "CMP056",
        message,
        place=part.place,
        notes=[f"{notes}: {', '.join(known)}"] if known else [],
        cure=nearest(str(part.key), known),
    )


def _no_parts(node: Node, path: Path, part: Part) -> ComposerError:
    where = _spelled(path)
    return fail(
        PipelineError,
        "CMP057",
        f"{where} is {kind_of(node.plain())}, which has no part {part.key!r}",
        place=part.place,
        notes=[f"written at {node.place}"],
        cure=f"{where}={{{part.key}: VALUE}}     # the whole of it",
    )


def _short_form(word: str, behind: Node, path: Path, rest: Parts, new: Node) -> ComposerError:
    text, name = _flow(behind.plain()), rest[0].key
    value = _flow(new.plain()) if len(rest) == 1 else "..."
    return fail(
        PipelineError,
        "CMP057",
        f"{word}: {text} is the short form, to which {name!r} cannot be added",
        place=rest[0].place,
        notes=[
            f"written at {behind.place}",
            f"names of its parameters: composer transforms {word}",
        ],
        cure=f"{_spelled(path)}={{PARAMETER: {text}, {name}: {value}}}",
    )


def _flow(value: object) -> str:
    """The value in one line, cut where it is long."""
    text = dump({"v": {"v": value}}).strip()
    text = text.removeprefix("v: {v: ").removesuffix("}") if "\n" not in text else "..."
    return text if len(text) <= 40 else "..."


def _spelled(path: Path) -> str:
    """A path as an address.

    >>> _spelled(("stack", 2, "in_axes"))
    'stack[2].in_axes'
    """
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")
