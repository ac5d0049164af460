"""Finding parts of an output by name, key or position. Imports no JAX at the top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from composer.plugin import ComposeError, Context, Output, fail, nearest

Path = tuple[int | str, ...]


def find_path(item: int | str | None, output: Output, ctx: Context | None) -> Path:
    """The path of positions and keys that an output's name, key or position means.

    Raises:
        ComposeError: CMP207, the name stands for nothing, or for two outputs.
    """
    if not isinstance(item, str):
        return () if item is None else (item,)
    found = output.find(item)
    if len(found) == 1:
        return found[0]
    names = output.names()
    if len(found) > 1:
        places = ", ".join(".".join(map(str, path)) or "the whole" for path in found)
        raise _no_output(item, f"names {len(found)} outputs: {places}", names, ctx)
    keys = tuple(int(key) if key.lstrip("-").isdigit() else key for key in item.split("."))
    if output.parts is not None and output.at(keys[:1]) == Output() and isinstance(keys[0], str):
        raise _no_output(item, "is no output", names, ctx)
    return keys


def _no_output(item: str, problem: str, names: Sequence[str], ctx: Context | None) -> Exception:
    close = nearest(item, names)
    return fail(
        ComposeError,
        "CMP207",
        f"{ctx.word if ctx else 'select'}: {item!r} {problem}",
        place=ctx.place if ctx else None,
        notes=[f"outputs: {', '.join(names) or 'not named'}"],
        cure=close,
    )


def pick(out: Any, path: Path, ctx: Context, argument: str | None = None) -> Any:
    """The part of an output at a path; with `argument`, of the argument of that name.

    Raises:
        ComposeError: CMP207, the output has no such part (CMP201 for an argument).
    """
    for depth, key in enumerate(path):
        try:
            out = _step(out, key)
        except (KeyError, IndexError, TypeError, AttributeError):
            shown = ".".join(map(str, path[: depth + 1]))
            have = [str(k) for k, _ in children(out)]
            missing = (
                f"there is no output {shown!r}"
                if argument is None
                else f"argument {argument!r} has no part {shown!r}"
            )
            raise fail(
                ComposeError,
                "CMP207" if argument is None else "CMP201",
                f"{ctx.word}: {missing}; what stands there is {describe(out)}",
                place=ctx.place,
                notes=[f"parts: {', '.join(have)}"] if have else [],
                cure=nearest(str(key), have),
            ) from None
    return out


def _step(out: Any, key: int | str) -> Any:
    if isinstance(key, str) and not isinstance(out, dict):
        return getattr(out, key) if not hasattr(out, "shape") else out[key]
    if hasattr(out, "shape"):
        raise TypeError("an array has no parts")
    return out[key]


def describe(out: Any) -> str:
    """A few words on an output: its kind, and the number of its parts or its shape."""
    if isinstance(out, list | tuple):
        return f"a {type(out).__name__} of {len(out)}"
    if hasattr(out, "shape") and hasattr(out, "dtype"):
        return f"one array {out.dtype}[{', '.join(map(str, out.shape))}]"
    return f"a {type(out).__name__}"


def children(out: Any) -> list[tuple[int | str, Any]]:
    """The direct parts of an output with their keys; none for a leaf."""
    import jax

    found, _ = jax.tree_util.tree_flatten_with_path(out, is_leaf=lambda node: node is not out)
    return [(key_of(path[0]), part) for path, part in found if path]


def key_of(entry: Any) -> int | str:
    """The plain key or position of one entry of a JAX key path."""
    for attribute in ("idx", "key", "name"):
        if hasattr(entry, attribute):
            key = getattr(entry, attribute)
            return key if isinstance(key, int | str) else str(key)
    return str(entry)


def leaves_with_paths(out: Any) -> Iterator[tuple[Path, Any]]:
    """Every leaf with its path of plain keys and positions."""
    import jax

    for path, leaf in jax.tree_util.tree_flatten_with_path(out)[0]:
        yield tuple(key_of(entry) for entry in path), leaf


def leaf_numbers(out: Any, path: Path, ctx: Context, argument: str | None = None) -> list[int]:
    """Which leaves of `out`, counted from 0, stand at or below a path.

    Raises:
        ComposeError: as `pick`.
    """
    pick(out, path, ctx, argument)
    real: list[str] = []
    here = out
    for key in path:
        # JAX's paths name the parts of a named tuple.
        fields = getattr(here, "_fields", None)
        if isinstance(key, int):
            number = key % len(here)
            real.append(str(number) if fields is None else fields[number])
        else:
            real.append(key)
        here = _step(here, key)
    found = enumerate(leaves_with_paths(out))
    return [number for number, (at, _) in found if [str(key) for key in at[: len(real)]] == real]


def tree_without(out: Any, paths: Sequence[Path], ctx: Context) -> Any:
    """An output without some of its parts; a tuple with one part left becomes that part.

    Raises:
        ComposeError: CMP207, there is no such part, or nothing would be left.
    """
    for path in paths:
        pick(out, path, ctx)
    here = {path[0] for path in paths if len(path) == 1}
    if isinstance(out, list | tuple):
        here = {key % len(out) for key in here if isinstance(key, int)}
    kept = []
    for key, part in children(out):
        if key in here:
            continue
        below = [path[1:] for path in paths if len(path) > 1 and str(path[0]) == str(key)]
        kept.append((key, tree_without(part, below, ctx) if below else part))
    if not kept:
        raise fail(ComposeError, "CMP207", f"{ctx.word}: drop leaves no output", place=ctx.place)
    if isinstance(out, dict):
        return dict(kept)
    return kept[0][1] if len(kept) == 1 else tuple(part for _, part in kept)
