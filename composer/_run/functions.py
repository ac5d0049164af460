"""The function that a pipeline or a sub-pipeline names, and the stack around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from composer._compose import composed
from composer._pipeline import Pipeline, SubPipeline
from composer._recipe import Recipe
from composer._reference import resolve
from composer._run.arguments import Origin, called
from composer._signature import Output, output_from_names
from composer._sources import Call
from composer.errors import InputError, Place, fail, nearest

Functions = Mapping[str, Callable[..., Any]]


def build(pipeline: Pipeline, *, allow_outside: bool = False) -> Callable[..., Any]:
    """Import the function of a pipeline and compose its stack around it.

    Raises:
        InputError: CMP069, the function cannot be found, or cannot be called.
        ComposeError: the stack does not fit the function.
    """
    function, recipe = parts(pipeline, allow_outside=allow_outside)
    return composed(function, recipe)


def parts(pipeline: Pipeline, *, allow_outside: bool = False) -> tuple[Callable[..., Any], Recipe]:
    """The function of a pipeline, imported, and all else that decides what is composed.

    Raises:
        InputError: CMP069, the function cannot be found, or cannot be called.
    """
    place = pipeline.document.place("function") if pipeline.document is not None else None
    origin = Origin(pipeline.folder, pipeline.document, allow_outside, pipeline.functions)
    recipe = Recipe(
        layers=pipeline.stack,
        static=pipeline.constants,
        mesh=dict(pipeline.mesh) or None,
        output=pipeline.output,
        plugins=pipeline.plugins,
        folder=pipeline.folder,
        max_traces=pipeline.max_traces,
        static_places={name: _static_place(pipeline, name) for name in pipeline.constants},
    )
    return function_of(pipeline.function, origin, place), recipe


def _static_place(pipeline: Pipeline, name: str) -> Place | None:
    if pipeline.document is None:
        return None
    if name in pipeline.static:
        return pipeline.document.place("static")
    return pipeline.document.key_place("args", name)


def build_sub(source: SubPipeline, path: tuple[str, ...], origin: Origin) -> Callable[..., Any]:
    """The composed callable that a sub-pipeline stands for.

    Raises:
        InputError: CMP069; ComposeError: the stack does not fit the function.
    """
    function, recipe = sub_parts(source, path, origin)
    return composed(function, recipe)


def sub_parts(
    source: SubPipeline, path: tuple[str, ...], origin: Origin
) -> tuple[Callable[..., Any], Recipe]:
    """The same two parts of a sub-pipeline.

    Raises:
        InputError: CMP069.
    """
    output = Output() if source.returns is None else output_from_names(source.returns)
    recipe = Recipe(source.stack, source.static, output=output, folder=origin.folder)
    return function_of(source.function, origin, origin.place(*path, "function")), recipe


def function_of(function: str | Call, origin: Origin, place: Place | None) -> Callable[..., Any]:
    """A function by reference, by a name passed to `loads`, or as a factory makes it.

    Raises:
        InputError: CMP069, it cannot be found, or cannot be called.
    """
    found = _found(function, origin, place)
    if callable(found):
        return found
    shown = function.call if isinstance(function, Call) else function
    made = "makes" if isinstance(function, Call) else "is"
    raise fail(
        InputError,
        "CMP069",
        f"{shown} {made} a {type(found).__name__}, not a function",
        place=place,
    )


def _found(function: str | Call, origin: Origin, place: Place | None) -> object:
    if isinstance(function, Call):
        return called(("function",), function, origin, place)
    if origin.functions is None:
        folder: Path | None = origin.folder
        return resolve(function, folder=folder, place=place, allow_outside=origin.allow_outside)
    if function in origin.functions:
        return origin.functions[function]
    close = nearest(function, origin.functions)
    raise fail(
        InputError,
        "CMP069",
        f"sealed text names the function {function!r}, which was not passed",
        place=place,
        notes=[f"functions: {', '.join(sorted(origin.functions)) or 'none'}"],
        cure=f"function: {close}" if close else f"loads(text, functions={{{function!r}: ...}})",
    )
