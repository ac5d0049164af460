"""Parts of outputs and arguments as Python text, for `composer code`."""

from __future__ import annotations

from collections.abc import Iterable

from composer.plugin import Context, Page
from composer.transforms._outputs import Path

PART = '''
    def NAME(tree, key):
        """An item of a sequence or mapping, or a field of another object."""
        if isinstance(key, str) and not isinstance(tree, dict):
            return getattr(tree, key)
        return tree[key]
'''

NEAREST = '''
    def NAME(tree, *entries):
        """Leaf numbers with the value of the nearest (path, value) at or above each."""
        leaves, treedef = jax.tree.flatten(tree)
        numbers = treedef.unflatten(range(len(leaves)))
        found = {}
        for path, value in entries:
            for number in jax.tree.leaves(functools.reduce(PART, path, numbers)):
                found.pop(number, None)
                found[number] = value
        return found
'''

CHANGE = '''
    def NAME(tree, *entries):
        """A tree with the leaves changed that stand at or below the paths of entries."""
        leaves, treedef = jax.tree.flatten(tree)
        for number, function in ORDER(NEAREST(tree, *entries).items()):
            if function is not None:
                leaves[number] = function(leaves[number])
        return treedef.unflatten(leaves)
'''


def part_at(page: Page, tree: str, path: Path, ctx: Context) -> str:
    """The part of a tree at a path: indexed, as far as positions go."""
    for key in path:
        shown = page.literal(key, ctx, "output")
        if isinstance(key, int):
            tree = f"{tree}[{shown}]"
        else:
            tree = f"{page.helper('part', PART)}({tree}, {shown})"
    return tree


def nearest_helper(page: Page) -> str:
    """The name of the function that finds each leaf's nearest entry."""
    text = NEAREST.replace("PART", page.helper("part", PART))
    text = text.replace("functools.", f"{page.use('functools')}.")
    return page.helper("nearest", text.replace("jax.", f"{page.use('jax')}."))


def change_helper(page: Page, in_turn: bool) -> str:
    """The name of the function that changes leaves at paths."""
    text = CHANGE.replace("NEAREST", nearest_helper(page))
    text = text.replace("ORDER(", "" if in_turn else "sorted(", 1)
    text = text.replace(".items()):", ".items():") if in_turn else text
    return page.helper("change_at", text.replace("jax.", f"{page.use('jax')}."))


def changed(
    page: Page,
    tree: str,
    entries: Iterable[tuple[Path, str | None]],
    ctx: Context,
    *,
    in_turn: bool = False,
) -> str:
    """A tree after functions on the leaves at or below paths; later entries go first.

    Args:
        page: Where helpers go.
        tree: An expression.
        entries: A path and the expression of a function of one leaf; None: as it is.
        ctx: The layer's.
        in_turn: Leaves change entry after entry, not in their own order.
    """
    several = list(entries)
    if len(several) == 1 and several[0][0] == ():
        return f"{page.use('jax')}.tree.map({several[0][1]}, {tree})"
    shown = [f"({page.literal(path, ctx, 'outputs')}, {fn})" for path, fn in several]
    return f"{change_helper(page, in_turn)}({tree}, {', '.join(shown)})"


def in_leaf_order(paths: Iterable[Path]) -> list[Path]:
    """Paths in the order in which JAX flattens what stands there, each once."""
    return sorted(dict.fromkeys(paths), key=lambda path: [(isinstance(k, str), k) for k in path])
