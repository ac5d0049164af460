"""`jit`: compile the function once for each kind of argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import Context, Page, Transform
from composer.transforms._code.shardings import shardings
from composer.transforms._derivative import Argnums
from composer.transforms._specs import (
    axis_names,
    check_specs,
    is_one_spec,
    output_specs,
    spec_tree,
    to_spec,
)

Names = str | tuple[str, ...] | None


class Jit(Transform, frozen=True):
    """Compile the function once for each kind of argument, as `jax.jit`.

    As the outermost layer this hands out JAX's own jitted object, with `lower`,
    `trace` and the rest. Shardings are lists of mesh axis names over the pipeline's
    `mesh:`, by position or by argument name (an unlisted argument is left to JAX), or
    JAX's own objects in Python. Donate on the outermost layer only.

    Source: `jax.jit`.
    """

    word: ClassVar[str] = "jit"
    marks_static: ClassVar[bool] = True
    # XLA's options can name files and folders to write to, such as xla_dump_to.
    unsealed: ClassVar[tuple[str, ...]] = ("compiler_options",)

    in_shardings: Annotated[object, "How the arguments are laid out: axis names, by name."] = None
    out_shardings: Annotated[object, "How the outputs are laid out."] = None
    static_argnums: Annotated[Argnums | None, "Arguments that are compile-time constants."] = None
    static_argnames: Annotated[Names, "The same, by name only."] = None
    donate_argnums: Annotated[Argnums | None, "Arguments whose memory the call may reuse."] = None
    donate_argnames: Annotated[Names, "The same, by name only."] = None
    keep_unused: Annotated[bool, "Keep arguments that the function does not use."] = False
    device: Annotated[object, "The device to run on (JAX advises shardings instead)."] = None
    backend: Annotated[str | None, "The backend to compile for, such as cpu."] = None
    inline: Annotated[bool, "Inline this function into an outer jit's program."] = False
    compiler_options: Annotated[dict[str, object] | None, "Options for XLA, by name."] = None

    def check(self) -> None:
        """Shardings are lists of axis names."""
        check_specs(self, "in_shardings", self.in_shardings)
        check_specs(self, "out_shardings", self.out_shardings)

    def validate(self, ctx: Context) -> None:
        """Resolve all argument names and positions, and the mesh axes."""
        for what in ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames"):
            for item in _several(getattr(self, what)):
                name = ctx.resolve(item, what)
                # By keyword only there is no position, and JAX needs none.
                if what.startswith("donate") and name not in ctx.signature.keyword_only:
                    ctx.argnum(item, what)
        if isinstance(self.in_shardings, dict):
            ctx.by_argument(self.in_shardings, "in_shardings")
        ctx.check_mesh_axes(axis_names((self.in_shardings, self.out_shardings)))

    def compiles(self) -> bool:
        """Always: what is built is JAX's jitted object."""
        return True

    def build(self, fn: Callable[..., Any], ctx: Context) -> Any:
        """`jax.jit(fn, ...)`: JAX's own object."""
        import jax

        options = self._plain() | self._static(ctx) | self._donated(ctx) | self._shardings(ctx)
        return jax.jit(fn, **options)

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """`jax.jit(fn, ...)`."""
        texts = {n: page.literal(value, ctx, n) for n, value in self._plain().items()}
        for kind, found in (("static", self._static(ctx)), ("donate", self._donated(ctx))):
            # Names are enough where the function has them: those that are exposed have a def.
            named = kind == "static" and bool(ctx.exposed)
            option = f"{kind}_argnames" if named else f"{kind}_argnums"
            value = found.get(option, ())
            if value:
                texts[option] = page.literal(value[0] if len(value) == 1 else value, ctx, option)
        if self.in_shardings is not None:
            texts["in_shardings"] = shardings(self.specs_of_call(ctx), ctx, page, "in_shardings")
        if self.out_shardings is not None:
            specs = output_specs(self.out_shardings, ctx.signature.output)
            texts["out_shardings"] = shardings(specs, ctx, page, "out_shardings")
        return page.call(f"{page.use('jax')}.jit", fn, **texts)

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """The function itself, uncompiled."""
        return fn

    def _plain(self) -> dict[str, Any]:
        """Options that go to JAX as they are, defaults left out."""
        plain: dict[str, Any] = {
            "keep_unused": self.keep_unused,
            "inline": self.inline,
            "compiler_options": self.compiler_options,
            "device": self.device,
            "backend": self.backend,
        }
        return {name: value for name, value in plain.items() if value not in (None, False)}

    def _static(self, ctx: Context) -> dict[str, Any]:
        return _numbers_and_names("static", self._constants(ctx) - ctx.static, ctx)

    def _constants(self, ctx: Context) -> set[str | int]:
        """Arguments that the call gives, but that hold no arrays."""
        items = [*_several(self.static_argnums), *_several(self.static_argnames)]
        return {ctx.resolve(item, "static_argnums") for item in items} | ctx.exposed

    def _donated(self, ctx: Context) -> dict[str, Any]:
        items = [*_several(self.donate_argnums), *_several(self.donate_argnames)]
        names = {ctx.resolve(item, "donate_argnums") for item in items}
        return _numbers_and_names("donate", names, ctx)

    def _shardings(self, ctx: Context) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self.in_shardings is not None:
            options["in_shardings"] = _placed(self.specs_of_call(ctx), ctx)
        if self.out_shardings is not None:
            specs = output_specs(self.out_shardings, ctx.signature.output)
            options["out_shardings"] = _placed(specs, ctx)
        return options

    def specs_of_call(self, ctx: Context) -> Any:
        """The specs of `in_shardings`: one for all arguments, or one for each by position."""
        constant = self._constants(ctx)
        names = [name for name in ctx.arguments if name not in constant]
        if isinstance(self.in_shardings, dict):
            return tuple(spec_tree(self.in_shardings.get(name)) for name in names)
        if is_one_spec(self.in_shardings):
            return to_spec(self.in_shardings)  # type: ignore[arg-type]  # a tuple, seen above
        if isinstance(self.in_shardings, tuple):
            given = self.in_shardings
            # Positions count the full signature; JAX's own tuples leave static arguments out.
            if len(given) == len(ctx.signature.positional):
                pairs = zip(ctx.signature.positional, given, strict=True)
                given = tuple(item for name, item in pairs if name in names)
            return tuple(spec_tree(item) for item in given)
        return self.in_shardings


def _several(value: Argnums | None) -> tuple[int | str, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _numbers_and_names(kind: str, names: set[Any], ctx: Context) -> dict[str, Any]:
    """JAX infers one form from the other only where a single one is given: give both."""
    numbers = sorted(
        n if isinstance(n, int) else ctx.arguments.index(n)
        for n in names
        if n not in ctx.signature.keyword_only
    )
    by_name = sorted(
        n for n in names if isinstance(n, str) and n not in ctx.signature.positional_only
    )
    options: dict[str, Any] = {}
    if numbers:
        options[f"{kind}_argnums"] = tuple(numbers)
    if by_name:
        options[f"{kind}_argnames"] = tuple(by_name)
    return options


def _placed(specs: Any, ctx: Context) -> Any:
    """Specs laid on the pipeline's mesh; JAX's own shardings stay."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    def is_leaf(node: Any) -> bool:
        return node is None or isinstance(node, PartitionSpec)

    def place(node: Any) -> Any:
        return NamedSharding(ctx.device_mesh(), node) if isinstance(node, PartitionSpec) else node

    return jax.tree.map(place, specs, is_leaf=is_leaf)
