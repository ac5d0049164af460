"""JAX's own pmap as Python text, and what sync adds to it: for `composer code`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from composer.plugin import Context, Page
from composer.transforms._code.axes import argument_axes, axes_text, fitted_axes
from composer.transforms._code.paths import changed, nearest_helper
from composer.transforms._code.sync import leaf_collective
from composer.transforms._sync import flatten_sync

if TYPE_CHECKING:
    from composer.transforms.pmap import Pmap

SEPARATE = '''
    def NAME(tree, *entries):
        """The synced leaves, and the others; None stands in the gaps of either."""
        leaves, treedef = jax.tree.flatten(tree)
        marks = NEAREST(tree, *entries)
        synced = [leaf if marks.get(n) else None for n, leaf in enumerate(leaves)]
        others = [None if marks.get(n) else leaf for n, leaf in enumerate(leaves)]
        return treedef.unflatten(synced), treedef.unflatten(others)
'''

TOGETHER = '''
    def NAME(synced, others):
        """The two halves of a tree as one tree again."""

        def either(first, second):
            return second if first is None else first

        return jax.tree.map(either, synced, others, is_leaf=lambda node: node is None)
'''


class Sync:
    """The collectives of one pmap as text.

    Attributes:
        entries: Paths with the expression of the function of a leaf, None for unsynced
            ones, the nearest path last; empty where one function serves all leaves.
        function: That one function.
    """

    def __init__(self, layer: Pmap, ctx: Context, page: Page) -> None:
        self.layer, self.ctx, self.page = layer, ctx, page
        self.function: str | None = None
        self.entries: list[tuple[Any, str | None]] = []
        self.mean: str | None = None
        if layer.sync == "pmean" and layer.weights is None:
            lax, name = page.use("jax", "lax"), page.literal(layer.axis, ctx, "axis_name")
            self.function = f"lambda leaf: {lax}.pmean(leaf, {name})"
            return
        if isinstance(layer.sync, str):
            self.function = self._of(layer.sync)
            return
        found = flatten_sync(layer.sync, ctx.signature.output, ctx)
        nearest_last = sorted(found, key=lambda entry: (len(entry.path), not entry.rest))
        self.entries = [(e.path, e.word and self._of(e.word)) for e in nearest_last]

    @property
    def grouped(self) -> bool:
        """Whether some leaves may be synced and others not."""
        return isinstance(self.layer.sync, dict | tuple)

    def _of(self, word: str) -> str:
        weighted = self.layer.weights is not None and word == "pmean"
        name = leaf_collective(word, self.layer.axis, self.page, self.ctx, weighted=weighted)
        # The weight of this device is a variable of the function that uses this.
        return f"lambda leaf: {name}(leaf, weight)" if weighted else name

    def done(self, tree: str) -> str:
        """The tree after the collectives."""
        if self.function is not None:
            return changed(self.page, tree, [((), self.function)], self.ctx)
        return changed(self.page, tree, in_leaf_terms(self.entries), self.ctx)

    def entries_text(self) -> str:
        """The entries as arguments, with true and None for synced and not."""
        return ", ".join(
            f"({self.page.literal(path, self.ctx, 'sync')}, {'True' if function else None})"
            for path, function in self.entries
        )

    def separate(self, tree: str) -> str:
        """Synced leaves and the others."""
        text = SEPARATE.replace("NEAREST", nearest_helper(self.page))
        text = text.replace("jax.", f"{self.page.use('jax')}.")
        return f"{self.page.helper('separate', text)}({tree}, {self.entries_text()})"

    def together(self, synced: str, others: str) -> str:
        """One tree of the two."""
        text = TOGETHER.replace("jax.", f"{self.page.use('jax')}.")
        return f"{self.page.helper('together', text)}({synced}, {others})"


def in_leaf_terms(entries: list[tuple[Any, str | None]]) -> list[tuple[Any, str | None]]:
    """The entries as they are; a lone one without a function changes nothing."""
    return [entry for entry in entries if entry[1] is not None or len(entries) > 1]


def plain_code(layer: Pmap, fn: str, ctx: Context, page: Page) -> str:
    """`jax.pmap(fn, ...)`, around a function that syncs where that is asked for."""
    parameters = page.parameters(ctx)
    sync = Sync(layer, ctx, page) if layer.sync is not None else None
    out_axes = page.literal(layer.out_axes, ctx, "out_axes") if layer.out_axes != 0 else None
    if sync is not None:
        call = page.calls(page.short(fn, f"local_{page.name}"), parameters)
        result = sync.separate("out") if sync.grouped else "out"
        body = [f"out = {call}", f"out = {sync.done('out')}", f"return {result}"]
        if not sync.grouped:
            body = [body[0], f"return {sync.done('out')}"]
        fn = page.glue(f"synced_{page.name}", parameters, body, "What one device does.")
        out_axes = "None" if not sync.grouped else f"(None, {layer.out_axes!r})"
    made = _pmap(layer, fn, ctx, page, out_axes)
    if sync is None or not sync.grouped:
        return made
    made = page.short(made, f"mapped_{page.name}")
    body = [f"synced, others = {page.calls(made, parameters)}"]
    body.append(f"return {sync.together('synced', 'others')}")
    return page.glue(f"pmap_{page.name}", parameters, body, "Synced outputs once, others stacked.")


def _pmap(layer: Pmap, fn: str, ctx: Context, page: Page, out_axes: str | None) -> str:
    from composer.transforms._pmap_plain import _numbers

    axes = argument_axes(layer.in_axes, ctx, page)
    fitted = fitted_axes(axes, ctx, page)
    name = layer.axis_name if layer.sync is None else layer.axis
    texts: dict[str, str | None] = {
        "axis_name": None if name is None else page.literal(name, ctx, "axis_name"),
        "in_axes": axes_text(axes, ctx, page) if fitted is None else "in_axes",
        "out_axes": out_axes,
        "backend": None if layer.backend is None else page.literal(layer.backend, ctx, "backend"),
        "axis_size": None if layer.axis_size is None else str(layer.axis_size),
        "devices": devices_of(layer, ctx, page) if layer.devices is not None else None,
    }
    if not page.split_arguments(ctx)[1]:
        for field in ("donate_argnums", "static_broadcasted_argnums"):
            numbers = _numbers(getattr(layer, field), field, ctx)
            shown = numbers[0] if len(numbers) == 1 else numbers
            texts[field] = page.literal(shown, ctx, field) if numbers else None
    jax = page.use("jax")
    if fitted is None:
        return page.call(f"{jax}.pmap", fn, **texts)
    parameters = page.parameters(ctx)
    made = page.call(f"{jax}.pmap", page.short(fn, f"local_{page.name}"), **texts)
    body = [f"in_axes = {fitted}", f"mapped = {made}"]
    body.append(f"return {page.calls('mapped', parameters)}")
    return page.glue(f"pmap_{page.name}", parameters, body)


def devices_of(layer: Pmap, ctx: Context, page: Page) -> str:
    """The devices as an expression: all of them, the first ones, or those of some ids."""
    jax = page.use("jax")
    if layer.devices is None:
        backend = "" if layer.backend is None else page.literal(layer.backend, ctx, "backend")
        first = "" if layer.axis_size is None else f"[:{layer.axis_size}]"
        return f"{jax}.devices({backend}){first}"
    several = layer.devices if isinstance(layer.devices, tuple) else (layer.devices,)
    ids = page.literal(several, ctx, "devices")
    text = f'''
        def NAME(*ids):
            """The devices of these ids, in their order."""
            known = {{device.id: device for device in {jax}.devices()}}
            return [known[number] for number in ids]
    '''
    return f"{page.helper('devices_by_id', text)}({ids[1:-1].rstrip(',')})"
