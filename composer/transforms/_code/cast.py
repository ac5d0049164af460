"""Casts as Python text, for `composer code`."""

from __future__ import annotations

from composer._dtypes import LONG_NAMES, short_name
from composer.plugin import Context, Output, Page, cannot_write
from composer.transforms._code.paths import changed
from composer.transforms._sync import flatten_sync

KIND = '''
    def NAME(leaf):
        """A KIND leaf as LONG; others as they are."""
        if not jnp.issubdtype(jnp.result_type(leaf), jnp.KIND):
            return leaf
        return jnp.asarray(leaf).astype("LONG")
'''

WHOLE = '''
    def NAME(leaf):
        """A whole number as LONG."""
        return jnp.asarray(leaf).astype("LONG")
'''


def cast_text(tree: str, spec: object, output: Output, ctx: Context, page: Page) -> str:
    """A tree after its casts.

    Raises:
        ComposeError: CMP609, a named leaf becomes complex: that depends on the values.
    """
    entries = sorted(
        flatten_sync(spec, output, ctx), key=lambda entry: (len(entry.path), not entry.rest)
    )
    jnp = page.use("jax.numpy", alias="jnp")
    found = []
    for entry in entries:
        function = None
        if entry.word is not None:
            short = short_name(entry.word)
            assert short is not None, "checked when the layer was made"
            if short[0] == "c" and not entry.rest:
                raise cannot_write(
                    f"cast: {entry.word} for one leaf casts complex and floating numbers alike",
                    ctx.place,
                    "the cast in the function itself",
                )
            text = WHOLE if short[0] in "iu" else KIND
            kind = "complexfloating" if short[0] == "c" else "floating"
            text = text.replace("KIND", kind).replace("LONG", LONG_NAMES[short])
            function = page.helper(f"as_{short}", text.replace("jnp.", f"{jnp}."))
        found.append((entry.path, function))
    if found and all(function is None for _, function in found):
        return tree
    return changed(page, tree, found, ctx, in_turn=True)
