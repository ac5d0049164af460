"""Pipelines that know how to build themselves: what `import composer` offers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer._freeze import frozen
from composer._load import KEYS, pipeline_from
from composer._overlay import KEYS as OVERLAY_KEYS
from composer._pipeline import Layer, Pipeline
from composer._registry import Registry, default_registry
from composer._yaml import Document, parse, read
from composer.errors import Diagnostic, PipelineError, PluginError
from composer.plugin import Transform
from composer.transforms import CATALOGUE

if TYPE_CHECKING:
    import jax

    from composer._overlay.edits import Edit
    from composer._overlay.resolve import Resolved


class BuildsHere:
    """The engine behind `load` and `loads`: composes, and reads arguments, in this process."""

    def build(self, pipeline: Pipeline) -> Callable[..., Any]:
        """Import the function and compose the stack around it."""
        from composer._run.functions import build

        return build(pipeline)

    def args(self, pipeline: Pipeline) -> tuple[Any, ...]:
        """Values of the positional arguments, in the order of the composed callable."""
        from composer._run.arguments import read_arguments

        return read_arguments(pipeline, self.build(pipeline)).args

    def kwargs(self, pipeline: Pipeline) -> dict[str, Any]:
        """Values of the keyword-only arguments."""
        from composer._run.arguments import read_arguments

        return read_arguments(pipeline, self.build(pipeline)).kwargs

    def check(self, pipeline: Pipeline, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Check a call of the composed callable."""
        from composer._check import check_call

        return check_call(
            self.build(pipeline),
            args,
            kwargs,
            static=pipeline.constants,
            layers=pipeline.stack,
            mesh=pipeline.mesh or None,
        )


def check(target: Pipeline | Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Say what is wrong with a call before making it; nothing is computed or compiled.

    Args:
        target: A pipeline, or any callable of JAX.
        args: The arguments of the call; for a pipeline, none: those that `args:` says.
        kwargs: The keyword arguments.

    Returns:
        Shapes and dtypes of the outputs, as `jax.eval_shape`.

    Raises:
        ComposeError: with all that JAX would refuse before tracing.
        Exception: whatever tracing raises, with a note of the layers.
    """
    if isinstance(target, Pipeline):
        return target.check(*args, **kwargs)
    from composer._check import check_call

    return check_call(target, args, kwargs)


def lint(
    target: Pipeline | Stack | str | Path | Callable[..., Any],
    function: Callable[..., Any] | None = None,
) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with a stack before it runs; no user code runs, JAX stays out.

    Args:
        target: A pipeline, the path of a file, a `Stack`, or what `compose` made.
        function: The function that a `Stack` is meant for.

    Returns:
        All findings, in the order of the file. A file that cannot be read is a finding.
    """
    from composer._builder import builder_of
    from composer._lint import as_diagnostics, lint_pipeline, lint_stack, stack_around
    from composer._recipe import Recipe

    if isinstance(target, str | Path):
        try:
            target = load(target)
        except (PipelineError, PluginError) as error:
            return as_diagnostics(error)
    if isinstance(target, Pipeline):
        return tuple(lint_pipeline(target))
    if isinstance(target, Stack):
        layers = tuple(i if isinstance(i, Layer) else Layer(i) for i in target.layers)
        recipe = Recipe(layers, target.static, target.mesh)
        return tuple(lint_stack(stack_around(function, recipe)))
    builder = builder_of(target)
    if builder is None:
        raise TypeError(f"lint takes a Pipeline, a path, a Stack or what compose made: {target!r}")
    return tuple(lint_stack(stack_around(builder.function, builder.recipe)))


def code(pipeline: Pipeline, *, function: str | None = None) -> str:
    """A pipeline as a module of plain JAX: formatted, importable, without composer.

    The module's last name is a callable with the jaxpr of the composed one. It imports
    JAX, NumPy where meshes need it, and the user's own module.

    Args:
        pipeline: As `load` reads it.
        function: What the callable is called; None: after the pipeline.

    Raises:
        TypeError: it is no pipeline: what `compose` made does not say where its function is.
        ComposeError: CMP609, a layer or a value has no text in plain JAX.
        InputError: CMP069, the pipeline's function cannot be imported.
    """
    from composer._code import write_code
    from composer._pipeline import SubPipeline
    from composer._run.arguments import Origin
    from composer._run.functions import parts, sub_parts

    if not isinstance(pipeline, Pipeline):
        raise TypeError(f"code writes a Pipeline, from load or loads, not {pipeline!r}")
    origin = Origin(pipeline.folder, pipeline.document, False, pipeline.functions)
    subs = {
        name: sub_parts(source, (name,), origin)
        for name, source in pipeline.sources.items()
        if isinstance(source, SubPipeline)
    }
    return write_code(pipeline, *parts(pipeline), subs, function)


def load(
    path: str | Path,
    *,
    plugins: tuple[str, ...] = (),
    profiles: Sequence[str] = (),
    edits: Sequence[Edit] = (),
) -> Pipeline:
    """Read a pipeline file. Imports neither the function it names nor JAX.

    Args:
        path: The file; modules and data are looked up beside it.
        plugins: Plugins to load besides those that the file names.
        profiles: Profiles of the file, applied in this order.
        edits: `Set`, `Drop`, `InsertBefore`, `InsertAfter`, applied in this order after them.

    Raises:
        PipelineError: the file cannot be read, with every problem in it.
        PluginError: a plugin that a word needs cannot be imported.
    """
    document = _overlaid(read(Path(path), str(path)), Path(path), profiles, edits)
    return _loaded(document, Path(path), plugins)


def load_resolved(
    path: str | Path,
    *,
    plugins: tuple[str, ...] = (),
    profiles: Sequence[str] = (),
    edits: Sequence[Edit] = (),
) -> tuple[Pipeline, Resolved]:
    """As `load`, and who wrote each value."""
    resolved = _resolve(read(Path(path), str(path)), Path(path), profiles, edits)
    return _loaded(resolved.document, Path(path), plugins), resolved


def _loaded(document: Document, path: Path, plugins: tuple[str, ...]) -> Pipeline:
    pipeline = pipeline_from(document, _registry_for(document, plugins).load)
    named = tuple(dict.fromkeys((*pipeline.plugins, *plugins)))
    folder = path.resolve().parent
    return replace(pipeline, plugins=named, folder=folder, engine=BuildsHere())


def _overlaid(
    document: Document, path: Path | None, profiles: Sequence[str], edits: Sequence[Edit]
) -> Document:
    """The document with everything applied that is laid over it."""
    data = document.data
    has_own = isinstance(data, dict) and any(key in data for key in OVERLAY_KEYS)
    if not (profiles or edits or has_own):
        return document
    return _resolve(document, path, profiles, edits).document


def _resolve(
    document: Document, path: Path | None, profiles: Sequence[str], edits: Sequence[Edit]
) -> Resolved:
    from composer._overlay.resolve import resolve

    names = (profiles,) if isinstance(profiles, str) else profiles
    return resolve(document, path=path, keys=KEYS, targets=CATALOGUE, profiles=names, edits=edits)


def _registry_for(document: Document, plugins: tuple[str, ...]) -> Registry:
    """The registry with the plugins that the file names, so that their words are known.

    Raises:
        PluginError: CMP602 and others, at the place where the file names the plugin.
    """
    data = document.data if isinstance(document.data, dict) else {}
    written = data.get("plugins", [])
    several = [written] if isinstance(written, str) else written
    names = [name for name in several if isinstance(name, str)] if isinstance(several, list) else []
    for name in names:
        try:
            default_registry((name,))
        except PluginError as error:
            place = document.place("plugins")
            raise PluginError(*(replace(d, place=place) for d in error.diagnostics)) from error
    return default_registry(tuple(dict.fromkeys((*names, *plugins))))


def loads(
    text: str,
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    profiles: Sequence[str] = (),
    edits: Sequence[Edit] = (),
) -> Pipeline:
    r"""Read sealed pipeline text: names resolve in `functions` only.

    Everything that would read a file, import a module or write is refused, so text from
    elsewhere can do no more than call the functions passed here.

    Args:
        text: The pipeline.
        functions: The functions that exist, by name.
        profiles: Profiles of the text, applied in this order.
        edits: Single edits, applied in this order after them.

    Raises:
        PipelineError: the text cannot be read, or reaches outside (CMP040).

    >>> p = loads("composer: 1\nfunction: f\nstack: [grad]", functions={"f": lambda x: x * x})
    >>> p.build()(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    document = _overlaid(parse(text), None, profiles, edits)
    pipeline = pipeline_from(document, _sealed_registry().load, sealed=True)
    return replace(pipeline, functions=dict(functions or {}), engine=BuildsHere())


@functools.cache
def _sealed_registry() -> Registry:
    return Registry(built_in_only=True)


@dataclass(frozen=True, init=False)
class Stack:
    """Layers to wrap functions with, innermost first: a decorator.

    Args:
        layers: `Stack(ValueAndGrad(), Jit())` is `lambda f: jit(value_and_grad(f))`.
        static: Arguments that hold no arrays, by name.
        mesh: Sizes by axis name, or a `jax.sharding.Mesh`.
        returns: Names of the function's outputs.
        plugins: Names of plugins to load.

    >>> from composer import Grad
    >>> @Stack(Grad())
    ... def slope(x):
    ...     return x * x
    >>> slope(3.0)
    Array(6., dtype=float32, weak_type=True)
    """

    layers: tuple[Transform | Layer, ...]
    static: tuple[str, ...]
    mesh: Mapping[str, int] | jax.sharding.Mesh | None
    returns: object
    plugins: tuple[str, ...]

    def __init__(
        self,
        *layers: Transform | Layer,
        static: str | tuple[str, ...] | list[str] = (),
        mesh: Mapping[str, int] | jax.sharding.Mesh | None = None,
        returns: object = None,
        plugins: tuple[str, ...] = (),
    ) -> None:
        names = (static,) if isinstance(static, str) else tuple(static)
        values = {"layers": layers, "static": names, "mesh": mesh, "returns": frozen(returns)}
        for name, value in {**values, "plugins": tuple(plugins)}.items():
            object.__setattr__(self, name, value)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with this stack around it; as `composer.compose`."""
        from composer._compose import compose

        return compose(
            function,
            *self.layers,
            static=self.static,
            mesh=self.mesh,
            returns=self.returns,
            plugins=self.plugins,
        )
