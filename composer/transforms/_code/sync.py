"""Collectives of single leaves as Python text, for `composer code`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from composer.plugin import Context, Page

if TYPE_CHECKING:
    from composer.transforms.collective import Collective

SUMMED = '''
    def NAME(leaf):
        """The sum over AXIS; bools count as whole numbers."""
        leaf = jnp.asarray(leaf)
        return lax.psum(leaf.astype(jnp.int32) if leaf.dtype == bool else leaf, AXIS)
'''

EXTREME = '''
    def NAME(leaf):
        """The OPERATION over AXIS, in the dtype of the leaf, bools too."""
        leaf = jnp.asarray(leaf)
        whole = leaf.astype(jnp.int32) if leaf.dtype == bool else leaf
        return lax.OPERATION(whole, AXIS).astype(leaf.dtype)
'''

WEIGHTED = '''
    def NAME(leaf, weight):
        """The mean over AXIS, in which each counts with its weight.

        A device with padding only has no mean of its own: 0/0 must not reach the sum.
        """
        wide = jnp.float32 if leaf.dtype.itemsize < 4 else leaf.dtype
        share, value = weight.astype(wide), leaf.astype(wide)
        if leaf.dtype.kind == "c":
            kept = share * value
        else:
            kept = jnp.where(share > 0, share * value, jnp.zeros_like(value))
        return (lax.psum(kept, AXIS) / lax.psum(share, AXIS)).astype(leaf.dtype)
'''

DEVICE0 = '''
    def NAME(leaf):
        """The value of the first device, on all of them."""
        typed = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        every = lax.all_gather(jax.random.key_data(leaf) if typed else leaf, AXIS)
        impl = jax.random.key_impl(leaf) if typed else None
        return jax.random.wrap_key_data(every[0], impl=impl) if typed else every[0]
'''

SAME = '''
    def NAME(leaf):
        """The one value of all devices; an error at run time if they differ."""
        typed = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        every = lax.all_gather(jax.random.key_data(leaf) if typed else leaf, AXIS)
        equal = (every == every[:1]) | ((every != every) & (every[:1] != every[:1]))
        lax.cond(
            jnp.all(equal) | (lax.axis_index(AXIS) != 0),
            lambda: None,
            lambda: jax.debug.callback(DIFFER),
        )
        impl = jax.random.key_impl(leaf) if typed else None
        return jax.random.wrap_key_data(every[0], impl=impl) if typed else every[0]
'''

DIFFER = '''
    def NAME():
        """Called where devices hold different values of what must be the same."""
        raise ValueError("an output that must be the same differs between devices")
'''

EXCHANGED = '''
    def NAME(leaf):
        """OPERATION over AXIS; keys travel as their data."""
        typed = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        data = jax.random.key_data(leaf) if typed else leaf
        data = CALL
        impl = jax.random.key_impl(leaf) if typed else None
        return jax.random.wrap_key_data(data, impl=impl) if typed else data
'''

SCATTERED = '''
    def NAME(leaf):
        """This row's share of the sum over AXIS; bools count as whole numbers."""
        data = leaf.astype(jnp.int32) if leaf.dtype == bool else leaf
        return CALL
'''

_TEXTS = {
    "psum": SUMMED,
    "pmax": EXTREME,
    "pmin": EXTREME,
    "device0": DEVICE0,
    "same": SAME,
}


def leaf_collective(
    word: str, axis: str | tuple[str, ...], page: Page, ctx: Context, *, weighted: bool = False
) -> str:
    """The name of a function of one leaf that runs the collective."""
    shown = page.literal(axis, ctx, "axis_name")
    suffix = "" if axis == "devices" else "_" + "_".join([axis] if isinstance(axis, str) else axis)
    lax = page.use("jax", "lax")
    if word == "pmean" and not weighted:
        text = f'''
            def NAME(leaf):
                """The mean over {_words(axis)}."""
                return lax.pmean(leaf, AXIS)
        '''
    else:
        page.use("jax.numpy", alias="jnp")
        text = WEIGHTED if word == "pmean" else _TEXTS[word]
    if word == "same":
        text = text.replace("DIFFER", page.helper("differ", DIFFER))
    if word in ("same", "device0"):
        page.use("jax")
    text = text.replace("over AXIS", f"over {_words(axis)}").replace("AXIS", shown)
    text = text.replace("OPERATION", word).replace("lax.", f"{lax}.")
    names = {"pmean": "mean", "psum": "total", "pmax": "largest", "pmin": "smallest"}
    kind = "weighted_mean" if weighted and word == "pmean" else names.get(word, word)
    return page.helper(f"{kind}_over{suffix or '_devices'}", text)


def leaf_exchange(layer: Collective, page: Page, ctx: Context) -> str:
    """The name of a function of one leaf that gathers, scatters or permutes."""
    jax, lax = page.use("jax"), page.use("jax", "lax")
    page.use("jax.numpy", alias="jnp")
    name = page.literal(layer.axis_name, ctx, "axis_name")
    tiled = "True" if layer.tiled else None
    call = f"{lax}.{layer.op}"
    if layer.op == "all_gather":
        more = 0 if layer.tiled else 1
        axis = _axis(layer.axis, more)
        made = page.call(call, "data", name, axis=None if axis == "0" else axis, tiled=tiled)
    elif layer.op == "psum_scatter":
        dimension = _axis(layer.scatter_dimension, 0)
        shown = None if dimension == "0" else dimension
        made = page.call(call, "data", name, scatter_dimension=shown, tiled=tiled)
    elif layer.op == "all_to_all":
        axes = [_axis(axis or 0, 0) for axis in (layer.split_axis, layer.concat_axis)]
        made = page.call(call, "data", name, *axes, tiled=tiled)
    else:
        made = page.call(call, "data", name, page.literal(layer.perm, ctx, "perm"))
    text = SCATTERED if layer.op == "psum_scatter" else EXCHANGED
    text = text.replace("jax.", f"{jax}.") if jax != "jax" else text
    text = text.replace("OPERATION", layer.op).replace(
        "over AXIS", f"over {_words(layer.axis_name)}"
    )
    return page.helper(f"{layer.op}_leaf", text.replace("CALL", made))


def _axis(axis: int, more: int) -> str:
    """An axis counted from the front, where it is counted from the back."""
    if axis >= 0:
        return str(axis)
    return f"{axis} % leaf.ndim" if not more else f"{axis} % (leaf.ndim + {more})"


def _words(axis: str | tuple[str, ...]) -> str:
    names = [axis] if isinstance(axis, str) else list(axis)
    return " and ".join(names)
