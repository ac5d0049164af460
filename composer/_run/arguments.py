"""Sources -> the arguments of a call, by position and by keyword."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from composer._pipeline import Pipeline, SubPipeline
from composer._reference import inside_project, resolve
from composer._run.dtypes import Loss, cast, device_dtype, on_device
from composer._run.files import read_file
from composer._run.numbers import make_numbers
from composer._run.values import NotAnArray, ShapeCheck, arrays, literal, loss
from composer._sources import Call, File, Ref, Shape, ShapeOnly, Source, Value
from composer._sources.shapes import parse_dtype
from composer._yaml import Document
from composer.errors import ComposeError, Diagnostic, InputError, Place, fail, nearest

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where relative names in sources begin, and where the sources are written.

    Attributes:
        folder: The folder of the pipeline's file; None for text without a file.
        document: The text of the pipeline; None if it was made in Python.
        allow_outside: Whether files may lie outside the project.
        functions: For sealed text: the only functions that exist, by name.
    """

    folder: Path | None = None
    document: Document | None = None
    allow_outside: bool = False
    functions: Mapping[str, Callable[..., object]] | None = None

    def place(self, *path: str) -> Place | None:
        """The place of a value below `args:`."""
        return None if self.document is None else self.document.place("args", *path)


class Arguments(NamedTuple):
    """The arguments of one call.

    Attributes:
        args: Those that are passed by position.
        kwargs: Those that are passed by keyword: keyword-only ones, and all behind an
            omitted default.
        values: All of them by name, those passed by position first.
        static: Names of the static ones.
    """

    args: tuple[object, ...]
    kwargs: dict[str, object]
    values: Mapping[str, object]
    static: frozenset[str]

    def traced(self) -> tuple[tuple[object, ...], dict[str, object]]:
        """The call without its static arguments, as a compiled function takes it."""
        args = [v for n, v in zip(self.values, self.args, strict=False) if n not in self.static]
        return tuple(args), {n: v for n, v in self.kwargs.items() if n not in self.static}


def read_arguments(
    pipeline: Pipeline, fn: Callable[..., object], *, allow_outside: bool = False
) -> Arguments:
    """Make the value of every argument of the composed `fn`, and check the declared shapes.

    Arguments that are not static become arrays without weak types, so that a literal
    compiles as data does. Where `fn` does not tell its arguments, or has `*args`, the
    sources are passed by position, in their order.

    Raises:
        InputError: CMP066 or CMP067, if sources and arguments do not fit; CMP065, if a
            value does not have its declared shape; whatever `read_value` raises.
    """
    sources = pipeline.sources
    origin = Origin(pipeline.folder, pipeline.document, allow_outside, pipeline.functions)
    static = static_names(pipeline, fn)
    names, keywords = _order(sources, fn, origin)
    check = ShapeCheck()
    values: dict[str, object] = {}
    for name in [*names, *keywords]:
        values[name] = read_value((name,), sources[name], name in static, origin)
        if name in static:
            _check_hashable(name, values[name], origin)
        else:
            check.check(name, values[name], sources[name].shape, origin.place(name, "shape"))
    if check.found:
        raise InputError(*check.found)
    args = tuple(values[name] for name in names)
    return Arguments(args, {name: values[name] for name in keywords}, values, static)


def static_names(pipeline: Pipeline, fn: Callable[..., object]) -> frozenset[str]:
    """Names of the arguments of the composed `fn` that hold no arrays.

    `static:` of the pipeline, and what layers declare themselves; positions count
    for the outermost layer only, whose arguments are those of `fn`.
    """
    found = set(pipeline.constants)
    positions = _parameters(fn) or {}
    for layer in pipeline.stack:
        for parameter, value in layer.transform.items():
            if not parameter.startswith("static_"):
                continue
            items = value if isinstance(value, tuple) else (value,)
            found |= {item for item in items if isinstance(item, str)}
            if layer is pipeline.stack[-1]:
                numbers = [item for item in items if isinstance(item, int)]
                found |= {
                    list(positions)[i] for i in numbers if -len(positions) <= i < len(positions)
                }
    return frozenset(found)


def read_value(path: tuple[str, ...], source: Source, static: bool, origin: Origin) -> object:
    """The value of the source at a path below `args:`, as its function gets it.

    Raises:
        InputError: the file, reference or call does not give a value that fits; each
            with its own code and the argument's place.
        SetupError: CMP091, if a package is missing.
    """
    name, place = path[-1], origin.place(*path)
    try:
        if isinstance(source, Value):
            return source.value if static else literal(source.value, source.shape)
        if isinstance(source, SubPipeline):
            from composer._run.functions import build_sub

            return build_sub(source, path, origin)
        if isinstance(source, Call | Ref):
            found = _object(path, source, origin)
            return found if static else arrays(found)
        if isinstance(source, File):
            file = inside_project(
                source.file, origin.folder, origin.place(*path, "file"), origin.allow_outside
            )
            array = read_file(source, file, place)
            wanted = source.dtype or _declared_for_text(source)
            return cast(array, device_dtype(parse_dtype(wanted))) if wanted else on_device(array)
        return make_numbers(source)
    except (Loss, NotAnArray) as error:
        raise loss(name, error, place) from None


def _check_hashable(name: str, value: object, origin: Origin) -> None:
    # Said here, since jit refuses it in words of its own, before it traces anything.
    try:
        hash(value)
    except TypeError:
        raise fail(
            ComposeError,
            "CMP401",
            f"static argument {name!r} is a {type(value).__name__}, which is not hashable",
            place=origin.place(name),
            cure="a list instead of a mapping, or an object with a hash",
        ) from None


def _declared_for_text(source: File) -> str | None:
    """The declared dtype, for files of text: their numbers have none of their own."""
    if source.ending == ".csv" and isinstance(source.shape, Shape):
        return source.shape.dtype
    return None


def _object(path: tuple[str, ...], source: Call | Ref, origin: Origin) -> object:
    """What a reference names, or what the call of it returns."""
    place = origin.place(*path, source.word)
    if isinstance(source, Call):
        return called(path, source, origin, place)
    return resolve(
        source.ref, folder=origin.folder, place=place, allow_outside=origin.allow_outside
    )


def called(path: tuple[str, ...], source: Call, origin: Origin, place: Place | None) -> object:
    """What the function of a `call` source returns.

    Raises:
        InputError: CMP061 it cannot be called, CMP069 it is not found, CMP071 it fails.
    """
    name, ref = path[-1], source.call
    found = resolve(ref, folder=origin.folder, place=place, allow_outside=origin.allow_outside)
    if not callable(found):
        message = f"{name}: {ref} is a {type(found).__name__}, which cannot be called"
        raise fail(InputError, "CMP061", message, place=place, cure=f"{{ref: {ref}}}")
    given = {
        word: read_value((*path, word), item, True, origin)
        for word, item in source.arguments.items()
    }
    try:
        return found(**given)
    # Whatever the user's function raises.
    except Exception as error:
        text = str(error).split("\n", 1)[0]
        message = f"{name}: {ref} fails when it is called: {type(error).__name__}: {text}"
        notes = [f"called with: {', '.join(given) or 'no arguments'}"]
        raise fail(InputError, "CMP071", message, place=place, notes=notes) from error


def _parameters(fn: Callable[..., object]) -> Mapping[str, inspect.Parameter] | None:
    """The parameters of a callable by name; None where it does not tell them."""
    try:
        return inspect.signature(fn).parameters
    except (ValueError, TypeError):
        return None


def _order(
    sources: Mapping[str, Source], fn: Callable[..., object], origin: Origin
) -> tuple[list[str], list[str]]:
    """Names of the arguments to pass by position, and by keyword."""
    bare = [name for name, source in sources.items() if isinstance(source, ShapeOnly)]
    parameters = _parameters(fn)
    if parameters is None:
        _complain([_without_value(name, origin) for name in bare])
        return list(sources), []
    missing = [
        name
        for name, parameter in parameters.items()
        if name not in sources and parameter.default is parameter.empty and _single(parameter)
    ]
    found = [_without_value(name, origin) for name in [*bare, *missing]]
    known = [name for name, parameter in parameters.items() if _single(parameter)]
    kinds = {parameter.kind for parameter in parameters.values()}
    extra = [name for name in sources if name not in known]
    if not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}:
        found += [_not_taken(name, known, origin) for name in extra]
    _complain(found)
    names: list[str] = []
    for name in known:
        if parameters[name].kind not in _POSITIONAL or name not in sources:
            break
        names.append(name)
    keywords = [name for name in known if name in sources and name not in names]
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return names, keywords + extra
    return names + extra, keywords


def _single(parameter: inspect.Parameter) -> bool:
    return parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


def _complain(found: list[Diagnostic]) -> None:
    if found:
        raise InputError(*found)


def _without_value(name: str, origin: Origin) -> Diagnostic:
    return Diagnostic(
        "CMP066",
        f"argument {name!r} has no value",
        origin.place(name),
        cure=f'{name}: {{random: normal, shape: "f32[8, 3]", seed: 0}}     # or another source',
    )


def _not_taken(name: str, known: list[str], origin: Origin) -> Diagnostic:
    close = nearest(name, known)
    return Diagnostic(
        "CMP067",
        f"the composed function takes no argument {name!r}",
        origin.place(name),
        (f"arguments: {', '.join(known) or 'none'}",),
        f"{close}: ..." if close else f"nothing: remove {name}",
    )
