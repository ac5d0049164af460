"""`split_key`: a fresh random key for each row, device or step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import ComposeError, Context, Page, Transform, fail
from composer.transforms._arguments import change_arguments, find_argument
from composer.transforms._code.chosen import chosen_names

AxisName = str | tuple[str, ...] | None
WAYS = ("axis_name", "num", "like", "fold")


class SplitKey(Transform, frozen=True):
    """A fresh random key for each row, device or step.

    The caller passes one key; without this layer a vmap draws the same numbers for
    every row. Exactly one of four ways:

    - `axis_name`, inside the vmap, pmap or shard_map that binds it and does not map the
      key: `fold_in(key, axis_index(axis_name))`;
    - `num` or `like`, outside a vmap that maps the key on axis 0: `split(key, num)`,
      where `like` counts the rows of another argument along `axis`;
    - `fold`, for a step number: `fold_in(key, step)`. The function gets the step too.

    Typed keys (`jax.random.key`) and raw ones (`jax.random.PRNGKey`) alike.

    Source: `jax.random.split`, `jax.random.fold_in`.
    """

    word: ClassVar[str] = "split_key"

    key: Annotated[int | str, "The argument that holds the key."]
    axis_name: Annotated[AxisName, "The axis whose rows or devices get keys of their own."] = None
    num: Annotated[int | None, "How many keys to make, for a vmap inside."] = None
    like: Annotated[int | str | None, "The argument with as many rows as keys are needed."] = None
    axis: Annotated[int, "The axis of `like` that counts."] = 0
    fold: Annotated[int | str | None, "The argument with the step number."] = None

    def check(self) -> None:
        """Exactly one of the four ways, and a count that makes sense."""
        ways = [way for way in WAYS if getattr(self, way) is not None]
        if len(ways) != 1:
            written = f"{' and '.join(ways)} are" if ways else "none is"
            raise self.wrong(
                ways[1] if ways else "axis_name",
                f"exactly one of {', '.join(WAYS)} says how to split; {written} written",
                cure="split_key: {key: key, axis_name: batch}",
            )
        if self.num is not None and self.num < 1:
            raise self.wrong("num", f"is {self.num}; at least one key is made")
        if self.axis != 0 and self.like is None:
            raise self.wrong("axis", "goes with like: the argument whose rows are counted")

    def validate(self, ctx: Context) -> None:
        """The arguments must exist."""
        for what in ("key", "like", "fold"):
            item = getattr(self, what)
            if item is not None:
                find_argument(item, ctx, what)

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """A function that makes the keys and hands them on in the key's place."""
        from composer.transforms._split_keys import split

        return ctx.named(self._around(fn, ctx, split))

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """A function that makes the keys and hands them on in the key's place."""
        parameters = page.parameters(ctx)
        call = page.calls(page.short(fn, f"keyed_{page.name}"), parameters)
        random = f"{page.use('jax')}.random"
        other = self.like if self.like is not None else self.fold
        which = [self.key] if other is None else [self.key, other]
        found = [find_argument(item, ctx, "key") for item in which]
        key, *beside = chosen_names(found, ctx, page, "key")
        if self.axis_name is not None:
            index = f"{page.use('jax', 'lax')}.axis_index"
            name = page.literal(self.axis_name, ctx, "axis_name")
            made, doc = f"{random}.fold_in({key}, {index}({name}))", "A key of its own for each."
        elif self.fold is not None:
            made, doc = f"{random}.fold_in({key}, {beside[0]})", f"A key for each {beside[0]}."
        elif self.num is not None:
            made, doc = f"{random}.split({key}, {self.num})", f"{self.num} keys from one."
        else:
            rows = f"{page.use('jax')}.tree.leaves({beside[0]})[0].shape[{self.axis}]"
            made, doc = f"{random}.split({key}, {rows})", f"A key for each row of {beside[0]}."
        return page.glue(
            f"split_key_{page.name}", parameters, [f"{key} = {made}", f"return {call}"], doc
        )

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """The same keys, one after the other in a Python loop."""
        from composer.transforms._split_keys import split_in_a_loop

        return self._around(fn, ctx, split_in_a_loop)

    def _around(
        self,
        fn: Callable[..., Any],
        ctx: Context,
        make: Callable[[SplitKey, Context, Any, Any], Any],
    ) -> Callable[..., Any]:
        which = find_argument(self.key, ctx, "key")
        other = self.like if self.like is not None else self.fold

        def fresh(*args: Any, **kwargs: Any) -> Any:
            beside = None if other is None else self._value(other, ctx, args, kwargs)
            self._value(self.key, ctx, args, kwargs)
            changes = {which: lambda key: make(self, ctx, key, beside)}
            args, kwargs = change_arguments(args, kwargs, ctx, changes)
            return fn(*args, **kwargs)

        return fresh

    def _value(
        self, item: int | str, ctx: Context, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """An argument of a call.

        Raises:
            ComposeError: CMP220, the call leaves it to its default.
        """
        which = find_argument(item, ctx, "key")
        if which in kwargs:
            return kwargs[str(which)]
        names = ctx.arguments
        number = which if isinstance(which, int) else len(args)
        if which in names:
            number = names.index(str(which))
        if number < len(args):
            return args[number]
        raise fail(
            ComposeError,
            "CMP220",
            f"split_key: the call does not pass {which!r}, so there is nothing to split",
            place=ctx.place,
            cure=f"a value for {which} in the call",
        )
