"""`stop_gradient`: arguments or outputs through which no derivative goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import Context, Page, Transform
from composer.transforms._arguments import Which, argument_path, change_arguments, several
from composer.transforms._code.chosen import chosen_names
from composer.transforms._code.paths import changed, in_leaf_order
from composer.transforms._outputs import Path, find_path, leaf_numbers


class StopGradient(Transform, frozen=True):
    """Arguments or outputs through which no derivative goes, as `jax.lax.stop_gradient`.

    Never changes a value; derivatives taken outside see a constant in its place.
    Arguments go by name or position, outputs by name, key or position; a dot goes
    inside (`params.embedding`, `aux.0`).

    Source: `jax.lax.stop_gradient`.
    """

    word: ClassVar[str] = "stop_gradient"
    shorthand: ClassVar[str | None] = "arguments"

    arguments: Annotated[Which | None, "The arguments to hold constant."] = None
    outputs: Annotated[Which | None, "The outputs to hold constant."] = None

    def check(self) -> None:
        """Something must be stopped."""
        if not several(self.arguments) and not several(self.outputs):
            raise self.wrong(
                "arguments",
                "and outputs: at least one of them says what is held constant",
                cure="stop_gradient: {arguments: target}",
            )

    def validate(self, ctx: Context) -> None:
        """Names of arguments and outputs must exist."""
        for item in several(self.arguments):
            argument_path(item, ctx, "arguments")
        for item in several(self.outputs):
            find_path(item, ctx.signature.output, ctx)

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A function with `jax.lax.stop_gradient` around what was named."""
        inside: dict[str | int, list[Path]] = {}
        for item in several(self.arguments):
            name, path = argument_path(item, ctx, "arguments")
            inside.setdefault(name, []).append(path)
        outputs = [find_path(item, ctx.signature.output, ctx) for item in several(self.outputs)]

        def change(name: str | int) -> Callable[[Any], Any]:
            return lambda value: _stopped(value, inside[name], ctx, str(name))

        changes = {name: change(name) for name in inside}

        def stopped(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = change_arguments(args, kwargs, ctx, changes)
            return _stopped(fn(*args, **kwargs), outputs, ctx)

        return ctx.named(stopped)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function with `jax.lax.stop_gradient` around what was named."""
        parameters = page.parameters(ctx)
        fn = page.short(fn, f"free_{page.name}")
        stop = f"{page.use('jax', 'lax')}.stop_gradient"
        inside: dict[str, list[Path]] = {}
        for item in several(self.arguments):
            name, path = argument_path(item, ctx, "arguments")
            inside.setdefault(chosen_names([name], ctx, page, "arguments")[0], []).append(path)
        body = [f"{name} = {_stop(page, name, paths, stop, ctx)}" for name, paths in inside.items()]
        call = page.calls(fn, parameters)
        outputs = [find_path(item, ctx.signature.output, ctx) for item in several(self.outputs)]
        if outputs:
            body += [f"out = {call}", f"return {_stop(page, 'out', outputs, stop, ctx)}"]
        else:
            body.append(f"return {call}")
        doc = "No derivative goes through what is stopped here."
        return page.glue(f"stop_{page.name}", parameters, body, doc)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """The function itself: no value changes."""
        return fn


def _stopped(tree: Any, paths: list[Path], ctx: Context, argument: str | None = None) -> Any:
    """A tree whose leaves at or below the paths are constants for derivatives."""
    import jax

    chosen = {number for path in paths for number in leaf_numbers(tree, path, ctx, argument)}
    leaves, treedef = jax.tree.flatten(tree)
    held = [
        jax.lax.stop_gradient(leaf) if number in chosen else leaf
        for number, leaf in enumerate(leaves)
    ]
    return jax.tree.unflatten(treedef, held)


def _stop(page: Page, tree: str, paths: list[Path], stop: str, ctx: Context) -> str:
    """A tree with the parts at the paths stopped, as text."""
    return changed(page, tree, [(path, stop) for path in in_leaf_order(paths)], ctx)
