"""`pmap` with `split: true` written out as a jitted shard_map: for `composer code`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from composer.plugin import Context, Page
from composer.transforms._code.axes import ALIKE, argument_axes, has_sequence
from composer.transforms._code.pmap import Sync, devices_of

if TYPE_CHECKING:
    from composer.transforms.pmap import Pmap

SPECS = '''
    def NAME(axes, tree):
        """How an argument is split: its axes over the devices."""

        def spec(axis, leaf):
            return P() if axis is None else P(*[None] * (axis % leaf.ndim), AXIS)

        def below(axis, part):
            return jax.tree.map(lambda leaf: spec(axis, leaf), part)

        return jax.tree.map(below, axes, tree, is_leaf=lambda node: node is None)
'''

EACH = '''
    def NAME(change, axes, tree):
        """A tree after `change(leaf, axis)` on the leaves below axes that are not None."""

        def below(axis, part):
            if axis is None:
                return part
            return jax.tree.map(lambda leaf: change(leaf, axis), part)

        return jax.tree.map(below, axes, tree, is_leaf=lambda node: node is None)
'''

CUT = '''
    def NAME(leaf, axis):
        """Rows left off at the end until they divide over the devices."""
        rest = leaf.shape[axis] % mesh.size
        if not rest:
            return leaf
        return lax.slice_in_dim(leaf, 0, leaf.shape[axis] - rest, axis=axis)
'''

PAD = '''
    def NAME(leaf, axis):
        """The last row repeated until the rows divide over the devices.

        Made-up zeros could turn a loss into NaN; the weights say that these do not count.
        """
        rows = leaf.shape[axis]
        missing = -rows % mesh.size
        if not missing:
            return leaf
        last = lax.slice_in_dim(leaf, rows - 1, rows, axis=axis)
        return jnp.concatenate([leaf, *[last] * missing], axis=axis)
'''

WEIGHTS = '''
    def NAME(weights, axis):
        """The weights of the rows, 0 for the rows that padding adds."""
        rows = weights.shape[axis]
        missing = -rows % mesh.size
        if not missing:
            return weights
        last = lax.slice_in_dim(weights, rows - 1, rows, axis=axis)
        zero = jnp.zeros_like(last)
        return jnp.concatenate([weights, *[zero] * missing], axis=axis)
'''

UNPAD = '''
    def NAME(leaf, axis, rows):
        """An output without the rows that padding added."""
        if rows % mesh.size == 0 or leaf.shape[axis] != rows + -rows % mesh.size:
            return leaf
        return lax.slice_in_dim(leaf, 0, rows, axis=axis)
'''


def split_code(layer: Pmap, fn: str, ctx: Context, page: Page) -> str:
    """A jitted shard_map; without the jit where a layer outside compiles anyway."""
    return _Writer(layer, ctx, page).write(fn)


class _Writer:
    """What one split pmap writes.

    Attributes:
        fit: Statements that fit the arguments to the devices.
        finish: What becomes of a leaf that comes back from the devices; None: nothing.
    """

    def __init__(self, layer: Pmap, ctx: Context, page: Page) -> None:
        self.layer, self.ctx, self.page = layer, ctx, page
        self.parameters = page.parameters(ctx)
        self.names = page.arguments(ctx)
        axes = argument_axes(layer.in_axes, ctx, page)
        self.axes: tuple[Any, ...] = axes if isinstance(axes, tuple) else (axes,) * len(self.names)
        self.jax, self.spec = page.use("jax"), page.use("jax.sharding", "PartitionSpec", "P")
        self.axis = page.literal(layer.axis, ctx, "axis_name")
        self.mesh = self._mesh()
        self.sync = Sync(layer, ctx, page) if layer.sync is not None else None
        self.grouped = self.sync is not None and self.sync.grouped

    def write(self, fn: str) -> str:
        block = self._block(self.page.short(fn, f"local_{self.page.name}"))
        fit = self._fit()
        out = self._finish("out")
        runtime = any(self._at_run_time(axes) for axes in self.axes)
        if not fit and out == "out" and not self.grouped and not runtime:
            mapped = self._shard_map(block, runtime)
            if self.ctx.compiled_outside:
                return mapped
            return self._jitted(self.page.short(mapped, f"split_{self.page.name}"))
        mapped = self._shard_map(block, runtime)
        body = [*self._rows(), *fit]
        if runtime:
            body += [f"in_specs = {self._in_specs(runtime)}", f"mapped = {mapped}"]
            call = self.page.calls("mapped", self.parameters)
        else:
            call = self.page.calls(
                self.page.short(mapped, f"split_{self.page.name}"), self.parameters
            )
        body += self._after(call, out)
        doc = "The rows fitted to the devices, mapped, and put together again."
        glue = self.page.glue(f"pmap_{self.page.name}", self.parameters, body, doc)
        return glue if self.ctx.compiled_outside else self._jitted(glue)

    def _after(self, call: str, out: str) -> list[str]:
        if self.grouped:
            assert self.sync is not None
            others = self._finish("others")
            return [
                f"synced, others = {call}",
                *([f"others = {others}"] if others != "others" else []),
                f"return {self.sync.together('synced', 'others')}",
            ]
        return [f"return {call}"] if out == "out" else [f"out = {call}", f"return {out}"]

    def _jitted(self, fn: str) -> str:
        from composer.transforms._pmap_plain import _numbers

        numbers = _numbers(self.layer.donate_argnums, "donate_argnums", self.ctx)
        shown = numbers[0] if len(numbers) == 1 else numbers
        donated = self.page.literal(shown, self.ctx, "donate_argnums") if numbers else None
        return self.page.call(f"{self.jax}.jit", fn, donate_argnums=donated)

    # The mesh and the specs

    def _mesh(self) -> str:
        devices = devices_of(self.layer, self.ctx, self.page)
        if self.layer.devices is None and self.layer.axis_size is not None:
            return self.page.mesh({self.layer.axis: self.layer.axis_size}, devices)
        return self.page.mesh_of(devices, (self.layer.axis,))

    def _shard_map(self, block: str, runtime: bool) -> str:
        return self.page.call(
            f"{self.jax}.shard_map",
            block,
            mesh=self.mesh,
            in_specs="in_specs" if runtime else self._in_specs(runtime),
            out_specs=self._out_specs(),
            check_vma="False",
        )

    def _at_run_time(self, axes: Any) -> bool:
        return has_sequence(axes) or _has_negative(axes)

    def _in_specs(self, runtime: bool) -> str:
        specs = []
        for axes, name in zip(self.axes, self.names, strict=False):
            if self._at_run_time(axes):
                text = SPECS.replace("jax.", f"{self.jax}.").replace("P(", f"{self.spec}(")
                helper = self.page.helper("specs", text.replace("AXIS", self.axis))
                specs.append(f"{helper}({self._followed(axes, name)}, {name})")
            else:
                specs.append(self._spec_tree(axes))
        return f"({', '.join(specs)}{',' if len(specs) == 1 else ''})"

    def _followed(self, axes: Any, name: str) -> str:
        """The axes of an argument in its own sequence types."""
        text = self.page.literal(axes, self.ctx, "in_axes")
        if not has_sequence(axes):
            return text
        return f"{self.page.helper('alike', ALIKE)}({text}, {name})"

    def _spec_tree(self, axes: Any) -> str:
        if isinstance(axes, dict):
            pairs = [
                f"{self.page.literal(key, self.ctx, 'axes')}: {self._spec_tree(item)}"
                for key, item in axes.items()
            ]
            return f"{{{', '.join(pairs)}}}"
        if isinstance(axes, tuple):
            items = [self._spec_tree(item) for item in axes]
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if axes is None:
            return f"{self.spec}()"
        # A negative axis of an output stands in front until it comes back.
        return f"{self.spec}({', '.join([*['None'] * max(axes, 0), self.axis])})"

    def _out_specs(self) -> str:
        if self.sync is not None and not self.grouped:
            return f"{self.spec}()"
        spec = self._spec_tree(self.layer.out_axes)
        return f"({self.spec}(), {spec})" if self.grouped else spec

    # What one device does

    def _block(self, local: str) -> str:
        call = self.page.calls(local, self.parameters)
        weight = []
        if self.layer.weights is not None:
            jnp = self.page.use("jax.numpy", alias="jnp")
            weight = [f"weight = {jnp}.sum({self.layer.weights})"]
        if self.sync is None:
            placed = self._placed("out")
            if placed == "out":
                return local
            body = [f"out = {call}", *weight, f"return {placed}"]
        elif not self.grouped:
            body = [f"out = {call}", *weight, f"return {self.sync.done('out')}"]
        else:
            # The leaves that stay get the device axis in their turn, as the others sync.
            stays = self._stays()
            self.sync.entries = [(path, fn or stays) for path, fn in self.sync.entries]
            done = self.sync.done("out")
            words = list(self._synced_marks())
            self.sync.entries = words
            body = [f"out = {call}", *weight, f"out = {done}"]
            body.append(f"return {self.sync.separate('out')}")
        if self.sync is None and weight:
            body.remove(weight[0])
        doc = "What one device does with its part of the rows."
        return self.page.glue(f"block_of_{self.page.name}", self.parameters, body, doc)

    def _synced_marks(self) -> list[tuple[Any, str | None]]:
        fresh = Sync(self.layer, self.ctx, self.page)
        return fresh.entries

    def _stays(self) -> str | None:
        """The function of a leaf that is not synced; None: it stays as it is."""
        axis = self.layer.out_axes
        assert axis is None or isinstance(axis, int), "one axis where sync is given"
        return _function(self._leaf_placed(axis))

    def _leaf_placed(self, axis: int | None) -> str | None:
        """What becomes of a leaf on its device; None: nothing."""
        if axis is None or (self.layer.merge and axis >= 0):
            return None
        jnp = self.page.use("jax.numpy", alias="jnp")
        if self.layer.merge:
            return f"{jnp}.moveaxis(leaf, {axis}, 0)"
        return f"{jnp}.expand_dims(leaf, {max(axis, 0)})"

    def _placed(self, tree: str) -> str:
        """The outputs with the device axis put in."""
        return self._mapped_over_out_axes(tree, self._leaf_placed)

    # Before and after

    def _fit(self) -> list[str]:
        if self.layer.remainder == "error":
            return []
        lax = self.page.use("jax", "lax")
        if self.layer.remainder == "pad":
            self.page.use("jax.numpy", alias="jnp")
        found = []
        for axes, name in zip(self.axes, self.names, strict=False):
            if not _any_mapped(axes):
                continue
            change = self._fitting(name, lax)
            if isinstance(axes, int):
                found.append(f"{name} = {self._on_leaves(change, axes, name)}")
            else:
                each = self.page.helper("each", EACH.replace("jax.", f"{self.jax}."))
                found.append(f"{name} = {each}({change}, {self._followed(axes, name)}, {name})")
        return found

    def _fitting(self, name: str, lax: str) -> str:
        def fixed(text: str) -> str:
            return text.replace("lax.", f"{lax}.").replace("mesh.", f"{self.mesh}.")

        if self.layer.remainder == "drop":
            return self.page.helper("without_rest", fixed(CUT))
        if name == self.layer.weights:
            return self.page.helper("padded_weights", fixed(WEIGHTS))
        return self.page.helper("padded", fixed(PAD))

    def _on_leaves(self, change: str, axis: int, name: str) -> str:
        if name == self.layer.weights:
            return f"{change}({name}, {axis})"
        return f"{self.jax}.tree.map(lambda leaf: {change}(leaf, {axis}), {name})"

    def _rows(self) -> list[str]:
        """How many rows there are before padding, where that is needed afterwards."""
        if self.layer.remainder != "pad" or not self.layer.merge:
            return []
        if self.sync is not None and not self.grouped:
            return []
        axes = dict(zip(self.names, self.axes, strict=False))
        return [f"rows = {self.layer.weights}.shape[{axes[self.layer.weights or '']}]"]

    def _finish(self, tree: str) -> str:
        """Padding cut off again, and a negative axis moved where it was asked for."""
        if self.sync is not None and not self.grouped:
            return tree
        return self._mapped_over_out_axes(tree, self._leaf_finished)

    def _leaf_finished(self, axis: int | None) -> str | None:
        if axis is None:
            return None
        leaf = "leaf"
        if self.layer.merge and self.layer.remainder == "pad":
            lax = self.page.use("jax", "lax")
            text = UNPAD.replace("lax.", f"{lax}.").replace("mesh.", f"{self.mesh}.")
            leaf = f"{self.page.helper('unpadded', text)}({leaf}, {max(axis, 0)}, rows)"
        if axis < 0:
            leaf = f"{self.page.use('jax.numpy', alias='jnp')}.moveaxis({leaf}, 0, {axis})"
        return None if leaf == "leaf" else leaf

    def _mapped_over_out_axes(self, tree: str, change: Callable[[int | None], str | None]) -> str:
        axes = self.layer.out_axes
        if axes is None or isinstance(axes, int):
            function = _function(change(axes))
            return tree if function is None else f"{self.jax}.tree.map({function}, {tree})"
        texts = {axis: change(axis) for axis in sorted(_leaves(axes))}
        if all(text is None for text in texts.values()):
            return tree
        each = self.page.helper("each", EACH.replace("jax.", f"{self.jax}."))
        function = self.page.helper(f"at_{change.__name__.rpartition('_')[2]}", _by_axis(texts))
        return f"{each}({function}, {self.page.literal(axes, self.ctx, 'out_axes')}, {tree})"


def _function(text: str | None) -> str | None:
    return None if text is None else f"lambda leaf: {text}"


def _by_axis(texts: Mapping[int, str | None]) -> str:
    """A function of a leaf and its axis, which does for each axis what its text says."""
    lines = ["def NAME(leaf, axis):", '    """What becomes of a leaf with its device axis."""']
    *firsts, (_, last) = texts.items()
    for axis, text in firsts:
        lines += [f"    if axis == {axis}:", f"        return {text or 'leaf'}"]
    return "\n".join([*lines, f"    return {last or 'leaf'}"])


def _leaves(axes: Any) -> set[int]:
    if isinstance(axes, dict):
        return set().union(*map(_leaves, axes.values()))
    if isinstance(axes, tuple):
        return set().union(*map(_leaves, axes))
    return set() if axes is None else {axes}


def _has_negative(axes: Any) -> bool:
    return any(axis < 0 for axis in _leaves(axes))


def _any_mapped(axes: Any) -> bool:
    return bool(_leaves(axes))
