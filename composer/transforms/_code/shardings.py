"""Shardings and meshes as Python text, for `composer code`."""

from __future__ import annotations

from typing import Any

from composer._imports import is_spec
from composer.plugin import Context, Page


def mesh_name(ctx: Context, page: Page) -> str:
    """The name of the pipeline's mesh; a mesh of JAX's own has no text."""
    if isinstance(ctx.mesh, dict):
        return page.mesh(ctx.mesh)
    return page.literal(ctx.mesh, ctx, "mesh")


def shardings(specs: Any, ctx: Context, page: Page, field: str) -> str:
    """A tree of specs as a tree of names of shardings."""
    if specs is None:
        return "None"
    if is_spec(specs):
        wanted = "_".join(["split", *_axes(specs)]) if _axes(specs) else "replicated"
        return page.sharding(mesh_name(ctx, page), page.literal(specs, ctx, field), wanted)
    if isinstance(specs, tuple):
        items = [shardings(item, ctx, page, field) for item in specs]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(specs, dict):
        pairs = [
            f"{page.literal(key, ctx, field)}: {shardings(item, ctx, page, field)}"
            for key, item in specs.items()
        ]
        return f"{{{', '.join(pairs)}}}"
    return page.literal(specs, ctx, field)


def _axes(spec: Any) -> list[str]:
    """Names of the mesh axes in a spec."""
    names: list[str] = []
    for item in spec:
        names += [item] if isinstance(item, str) else item or ()
    return names
