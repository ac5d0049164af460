"""`composer code`: a pipeline as a module of plain JAX that needs no composer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from composer._builder import Builder
from composer._context import Context
from composer._freeze import thawed
from composer._page import Page, cannot_write
from composer._pipeline import Layer, Pipeline, SubPipeline
from composer._recipe import Recipe
from composer._registry import default_registry
from composer._signature import signature_of
from composer._sources import Call, Value
from composer.errors import fail
from composer.plugin import ComposeError


def write_code(
    pipeline: Pipeline,
    function: Callable[..., Any],
    recipe: Recipe,
    subs: Mapping[str, tuple[Callable[..., Any], Recipe]],
    name: str | None = None,
) -> str:
    """The text of a module whose last name is the composed callable.

    Args:
        pipeline: What is written.
        function: The user's function.
        recipe: All else that decides what is composed.
        subs: Function and recipe of each argument that is a sub-pipeline.
        name: What the callable is called; None: after the pipeline.

    Raises:
        ComposeError: CMP609, a layer or a value has no plain text.
    """
    builder = Builder(function, recipe, default_registry(recipe.plugins))
    inner = {key: Builder(f, r, default_registry(r.plugins)) for key, (f, r) in subs.items()}
    taken = {n for one in (builder, *inner.values()) for sig in one.signatures for n in sig.names}
    page = Page(sorted(taken), builder.name)
    made = {}
    for key, sub in inner.items():
        source = pipeline.sources[key]
        assert isinstance(source, SubPipeline)
        reference = _function_text(source.function, sub.function, page, pipeline)
        wanted = f"{key}_function" if key in taken else key
        made[key] = _Stack(sub, page, {}).write(reference, page.fresh(wanted))
    reference = _function_text(pipeline.function, builder.function, page, pipeline)
    final = page.fresh(name) if name is not None else _name_for(pipeline, page)
    if name is not None and final != name:
        raise fail(
            ComposeError,
            "CMP609",
            f"--function {name}: that name is taken",
            cure=f"--function {final}",
        )
    stack = _Stack(builder, page, pipeline.sources)
    stack.write(reference, final)
    return page.text(_head(pipeline, page, stack, made), _setup(pipeline, page))


def _name_for(pipeline: Pipeline, page: Page) -> str:
    """The pipeline's title as a name; `composed` where that is the user function's."""
    wanted = re.sub(r"\W+", "_", pipeline.title).lstrip("_0123456789")
    return page.fresh(wanted if wanted and not page.has(wanted) else "composed")


def _function_text(
    function: str | Call, found: Callable[..., Any], page: Page, pipeline: Pipeline
) -> str:
    """The expression of a user's function, imported or made by its factory."""
    ctx = Context(signature_of(found), word="function")
    if isinstance(function, Call):
        texts = {}
        for key, source in function.arguments.items():
            if not isinstance(source, Value):
                raise cannot_write(
                    f"function: the argument {key} of {function.call} comes from"
                    f" {{{source.word}: ...}}, which is read when composer runs",
                    None,
                    "plain numbers and words as arguments of the factory",
                )
            texts[key] = page.literal(source.value, ctx, key)
        factory = page.reference(function.call)
        return page.assign("function", page.call(factory, **texts))
    if pipeline.functions is None:
        return page.reference(function)
    return page.callable(found, ctx, "function")


class _Stack:
    """One function with its layers.

    Attributes:
        shown: How the callable is called.
        by_position: Whether JAX would take keywords for something else.
        has_defaults: Whether the user's function could be called with fewer arguments.
    """

    def __init__(self, builder: Builder, page: Page, sources: Mapping[str, object]) -> None:
        self.builder, self.page, self.sources = builder, page, sources
        self.layers = builder.recipe.layers
        self.outer = builder.signatures[-1]
        self.shown, self.by_position, self.has_defaults = "", False, False

    def write(self, reference: str, final: str) -> str:
        """Define `final`, the composed callable; its name."""
        page, builder = self.page, self.builder
        page.function, page.name, page.printed = reference, builder.name, builder.name
        page.named = getattr(builder.function, "__name__", None) == builder.name
        page.base = builder.base.positional if not builder.base.keyword_only else ()
        page.omitted, page.extra = self._omitted(), self._extra()
        outside = Context(self.outer, static=frozenset(self.builder.fixed))
        placed, behind = page.split_arguments(outside)
        many = ["*args"] if self.outer.open_ended else []
        parameters = self._outer_parameters(placed, many, behind)
        self.shown = f"{final}({', '.join(parameters)})"
        kept = [n for n in self.outer.names if n not in (*page.omitted, *builder.fixed)]
        self.has_defaults = not all(map(self.outer.required, kept))
        if builder.static:
            self._with_static(reference, final, parameters)
        elif behind:
            self._by_keyword(reference, final, parameters)
        else:
            self.by_position = any(layer.word != "jit" for layer in self.layers)
            self._plain(reference, final)
        return final

    # The three forms

    def _plain(self, reference: str, final: str) -> None:
        fn = self._inner(reference, len(self.layers))
        self.page.write(f"{final} = {fn}")

    def _by_keyword(self, reference: str, final: str, parameters: list[str]) -> None:
        """Keyword-only arguments: JAX's transforms go by position, so a def stands around."""
        count, last = len(self.layers), self._compiling_last()
        inner = self._inner(reference, count - last)
        inner = self.page.short(inner, f"step_{self.page.name}", whole=True)
        call = self._call(inner, count - last)
        if not last:
            doc = "Keywords in their positions."
            self.page.define(final, parameters, [f"return {call}"], doc)
            return
        self.page.printed = self.builder.names[count - 1][0]
        fn = self.page.glue(f"call_{self.page.name}", parameters, [f"return {call}"])
        self.page.write(f"{final} = {self._layer(count - 1, fn, self.builder.closed)}")

    def _with_static(self, reference: str, final: str, parameters: list[str]) -> None:
        """Static arguments are closed over: the stack is made where their values are known."""
        page, count = self.page, len(self.layers)
        marked = self._compiling_last()
        if marked and count == 1 and not page.omitted and not self.builder.fixed:
            self._jitted(reference, final)
            return
        with page.scope() as text:
            fn = self._inner(reference, count - marked)
            if not marked:
                page.write(f"return {fn}")
                inside = text()
            else:
                fn = page.short(fn, f"step_{page.name}", whole=True)
                inside = text()
                call = self._call(fn, count - marked)
        if marked:
            doc = "What JAX traces, with the static arguments known."
            page.printed = self.builder.names[count - 1][0]
            made = page.glue(
                f"call_{page.name}", parameters, [f"return {call}"], doc, nested=inside
            )
            self._jitted(made, final)
            return
        static = [name for name in self.outer.names if name in self.builder.static]
        cached = page.helper("with_static", _cached(page, static, inside))
        call = self._call(f"{cached}({', '.join(static)})", count)
        doc = "The stack of these static values, called with the others."
        page.define(final, parameters, [f"return {call}"], doc)

    def _jitted(self, fn: str, final: str) -> None:
        """The outermost layer, which marks the static arguments for JAX."""
        number = len(self.layers) - 1
        ctx = self.builder.context(number, frozenset(self.builder.fixed), self.builder.static)
        self._comment(self.layers[number])
        made = self.layers[number].transform.code(fn, ctx, self.page)
        self.page.write(f"{final} = {made}")

    # Layers

    def _inner(self, reference: str, count: int) -> str:
        """The innermost layers around the function; static arguments are closed over."""
        closed = self.builder.closed
        fn = self._base(reference, closed)
        for number in range(count):
            fn = self._layer(number, fn, closed)
        return fn

    def _layer(self, number: int, fn: str, closed: frozenset[str]) -> str:
        layer = self.layers[number]
        if len(fn) > 70:
            fn = self.page.short(fn, f"{self.layers[number - 1].word}_{self.page.name}", whole=True)
        self._comment(layer)
        ctx = self.builder.context(number, closed)
        self.page.printed = ctx.name
        return layer.transform.code(fn, ctx, self.page)

    def _comment(self, layer: Layer) -> None:
        self.page.layer(flow(layer.to_data()))

    def _base(self, reference: str, closed: frozenset[str]) -> str:
        """The user's function, called by position with what holds arrays."""
        builder, page = self.builder, self.page
        ctx = Context(builder.base, static=closed)
        _, behind = page.split_arguments(ctx)
        if not closed and not behind:
            return reference
        given = []
        by_keyword = False
        for parameter in builder.base.parameters or ():
            name = parameter.name
            if name in page.omitted:
                by_keyword = True
                continue
            if parameter.kind is parameter.VAR_POSITIONAL:
                given.append("*args")
                by_keyword = True
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            by_keyword = by_keyword or parameter.kind is parameter.KEYWORD_ONLY
            value = name
            if name in builder.fixed:
                value = page.literal(builder.fixed[name], ctx, name)
            given.append(f"{name}={value}" if by_keyword else value)
        given += [f"{name}={name}" for name in page.extra]
        statement = f"return {reference}({', '.join(given)})"
        return page.glue(f"{page.name}_of_arrays", page.parameters(ctx), [statement])

    def _compiling_last(self) -> bool:
        return bool(self.layers) and self.layers[-1].transform.marks_static

    # Arguments

    def _outer_parameters(
        self, placed: tuple[str, ...], many: list[str], behind: tuple[str, ...]
    ) -> list[str]:
        star = [] if many or not behind else ["*"]
        return [*placed, *many, *star, *behind]

    def _call(self, fn: str, count: int) -> str:
        """A call of the innermost layers with what the callable got."""
        signature = self.builder.signatures[count]
        ctx = Context(signature, static=self.builder.closed)
        return self.page.calls(fn, self.page.parameters(ctx))

    def _omitted(self) -> frozenset[str]:
        """Arguments with defaults that the pipeline has no source for."""
        if not self.sources or self.outer.open_ended:
            return frozenset()
        return frozenset(
            name
            for name in self.outer.names
            if name not in self.sources and not self.outer.required(name)
        )

    def _extra(self) -> tuple[str, ...]:
        if self.outer.parameters is None or not self.outer.takes_any_keyword:
            return ()
        return tuple(name for name in self.sources if name not in self.outer.names)


def _cached(page: Page, static: list[str], inside: str) -> str:
    indented = "\n".join(f"    {line}" if line else "" for line in inside.splitlines())
    return (
        f"@{page.use('functools')}.lru_cache(maxsize=None, typed=True)\n"
        f"def NAME({', '.join(static)}):\n"
        f'    """The stack for one set of static values, made once."""\n\n{indented}'
    )


def _setup(pipeline: Pipeline, page: Page) -> list[str]:
    """What must happen before JAX is imported."""
    found = []
    if pipeline.run.simulate_devices is not None:
        count = pipeline.run.simulate_devices
        found.append(f'os.environ.setdefault("JAX_NUM_CPU_DEVICES", "{count}")')
    if pipeline.run.enable_x64:
        found.append('os.environ.setdefault("JAX_ENABLE_X64", "1")')
    if found:
        found.insert(0, "# JAX reads these once, when it is imported.")
    return found


def _head(pipeline: Pipeline, page: Page, stack: _Stack, subs: Mapping[str, str]) -> str:
    """The module's docstring: where it comes from, how to call it, what it needs."""
    document = pipeline.document
    source = document.file if document is not None and document.file is not None else None
    name, shown = pipeline.title, stack.shown
    how = ", arguments by position" if stack.by_position else ""
    how += ", each of them given" if stack.has_defaults else ""
    lines = [f"{name}: plain JAX{' for ' + source if source else ''}.", ""]
    lines.append(f"Written by `composer code`. Call {shown}{how}.")
    for argument, made in subs.items():
        lines.append(f"{argument} is a function: pass {made}.")
    for file in page.needs:
        lines.append(f"The folder of {file} must be on the Python path.")
    for module in page.user_modules():
        if pipeline.folder is not None and (pipeline.folder / f"{module}.py").is_file():
            lines.append(f"{module}.py must be beside this file, or on the Python path.")
    return "\n".join(lines)


def flow(value: object) -> str:
    """Data on one line as YAML writes it.

    >>> flow({"vmap": {"in_axes": {"x": 0, "y": None}}})
    'vmap: {in_axes: {x: 0, y: null}}'
    """
    if isinstance(value, dict) and len(value) == 1:
        [(word, inner)] = value.items()
        return f"{word}: {_flow(thawed(inner))}"
    return _flow(value)


def _flow(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_flow, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str | int | float):
        return str(value)
    return f"<{getattr(value, '__name__', type(value).__name__)}>"
