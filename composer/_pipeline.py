"""Pipelines and layers: frozen data that can be written down again as the same text."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Protocol

import msgspec

from composer._freeze import canonical_key, frozen, thawed
from composer._retrace import MaxTraces
from composer._signature import Output, output_from_names
from composer._sources import Call, Ref, Source
from composer._yaml import Document, dump
from composer.errors import ComposeError, Place, fail
from composer.plugin import Transform

LANGUAGE: Final = 1
"""The version of the pipeline language that this composer reads and writes."""


class Run(msgspec.Struct, frozen=True):
    """How to run a pipeline.

    Attributes are the keys of `run:`.
    """

    simulate_devices: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=512)] | None, "Simulate so many CPU devices."
    ] = None
    enable_x64: Annotated[bool, "Use 64-bit numbers, JAX's jax_enable_x64."] = False


class Write(msgspec.Struct, frozen=True):
    """Where outputs are written; the ending of the name says the format."""

    file: Annotated[str, "A path inside the project: .npz, .npy, .json or .safetensors."]


@dataclass(frozen=True, slots=True)
class Layer:
    """One transform with its parameters, at a place in a stack.

    Attributes:
        transform: The transform with its parameters.
        id: A name for this layer, to address it where its word stands twice.
        place: Where it is written; None in Python. Not part of equality.
    """

    transform: Transform
    id: str | None = None
    place: Place | None = field(default=None, compare=False)

    @property
    def word(self) -> str:
        """The transform's word."""
        return self.transform.word

    def to_data(self) -> object:
        """The layer as YAML writes it: a bare word, or one key with its parameters."""
        values = {name: thawed(value) for name, value in self.transform.items()}
        if self.id is not None:
            values["id"] = self.id
        return {self.word: values} if values else self.word


class SubPipeline(Source, frozen=True, eq=False, kw_only=True):
    """A function argument with a stack of its own: `{function: heat:u, stack: [hessian]}`.

    Attributes:
        function: As of a pipeline.
        static: Arguments of that function that hold no arrays.
        returns: Names of its outputs.
        stack: Its layers, innermost first.
    """

    word: ClassVar[str] = "function"

    function: str | Call
    static: tuple[str, ...] = ()
    returns: object = None
    stack: tuple[Layer, ...] = ()

    def to_data(self) -> object:
        """As it is written."""
        whole: dict[str, object] = {
            "function": function_data(self.function),
            "static": list(self.static) or None,
            "returns": thawed(self.returns),
            "stack": [layer.to_data() for layer in self.stack],
        }
        return {key: value for key, value in whole.items() if value is not None}


def function_data(function: str | Call) -> object:
    """A pipeline's function as YAML writes it."""
    return function if isinstance(function, str) else function.to_data()


_MAPPINGS: Final = ("sources", "mesh")


class Engine(Protocol):
    """Who builds and runs pipelines; lower floors describe them only."""

    def build(self, pipeline: Pipeline) -> Callable[..., Any]:
        """The composed callable."""
        ...

    def args(self, pipeline: Pipeline) -> tuple[Any, ...]:
        """Values of the positional arguments."""
        ...

    def kwargs(self, pipeline: Pipeline) -> dict[str, Any]:
        """Values of the keyword-only arguments."""
        ...

    def check(self, pipeline: Pipeline, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Check a call without running it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline:
    """A function, its arguments, a stack, and how to run it.

    Equal by content, wherever it is written: the order of arguments and of mesh axes
    counts, places and folders do not.

    Attributes:
        function: `module:function` or `file.py:function`; or a call of a factory that
            makes it, for models and methods.
        stack: The layers, innermost first.
        name: What runs are filed under.
        static: Arguments that hold no arrays, for every layer.
        returns: Names of the outputs, nested as they are.
        sources: Where each argument's value comes from, by name (`args:` in YAML).
        mesh: The device mesh: sizes by axis name, in order.
        plugins: Plugins to load besides those that the words of the stack need.
        run: How to run.
        write: Where outputs go; None: nowhere.
        max_traces: How often JAX may trace the stack; None: as often as it likes.
        document: The text that it was read from; None if made in Python.
        folder: The folder that paths and modules are looked up in.
        functions: For sealed text: the only functions that exist, by name.
    """

    function: str | Call
    stack: tuple[Layer, ...]
    name: str | None = None
    static: tuple[str, ...] = ()
    returns: object = None
    sources: Mapping[str, Source] = field(default_factory=dict)
    mesh: Mapping[str, int] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    run: Run = field(default_factory=Run)
    write: Write | None = None
    max_traces: MaxTraces | None = None
    document: Document | None = field(default=None, repr=False)
    folder: Path | None = field(default=None, repr=False)
    functions: Mapping[str, Callable[..., Any]] | None = field(default=None, repr=False)
    engine: Engine | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # The caller's mappings and lists stay the caller's: what is frozen is a copy.
        given = {"returns": frozen(self.returns)}
        given |= {name: MappingProxyType(dict(getattr(self, name))) for name in _MAPPINGS}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Pipeline) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views of mappings cannot be pickled.
        values = ((part.name, getattr(self, part.name)) for part in fields(self))
        return Pipeline, tuple(dict(v) if n in _MAPPINGS else v for n, v in values)

    def _key(self) -> tuple[object, ...]:
        return (
            self.function,
            self.stack,
            self.name,
            self.static,
            canonical_key(self.returns),
            tuple(self.sources.items()),
            tuple(self.mesh.items()),
            self.plugins,
            self.run,
            self.write,
            self.max_traces,
        )

    def to_data(self) -> dict[str, object]:
        """The pipeline as plain data, defaults left out; reading it gives an equal pipeline."""
        whole: dict[str, object] = {
            "composer": LANGUAGE,
            "name": self.name,
            "function": function_data(self.function),
            "static": list(self.static) or None,
            "returns": thawed(self.returns),
            "mesh": dict(self.mesh) or None,
            "plugins": list(self.plugins) or None,
            "args": {name: source.to_data() for name, source in self.sources.items()} or None,
            "stack": [layer.to_data() for layer in self.stack],
            "max_traces": self.max_traces.to_data() if self.max_traces else None,
            "run": _struct_data(self.run) or None,
            "write": _struct_data(self.write) if self.write else None,
        }
        return {key: value for key, value in whole.items() if value is not None}

    def to_yaml(self) -> str:
        """The pipeline as text.

        Raises:
            PipelineError: CMP041, a layer holds a Python object.
        """
        return dump(self.to_data())

    @property
    def output(self) -> Output:
        """The names in `returns`."""
        return Output() if self.returns is None else output_from_names(self.returns)

    @property
    def title(self) -> str:
        """The name, or the file's name without its ending, or the function's."""
        if self.name is not None:
            return self.name
        if self.document is not None and self.document.file is not None:
            return os.path.splitext(os.path.basename(self.document.file))[0]
        reference = self.function if isinstance(self.function, str) else self.function.call
        return reference.rpartition(":")[2]

    @property
    def constants(self) -> tuple[str, ...]:
        """Arguments that hold no arrays: `static:`, and those that are functions or objects."""
        objects = (n for n, s in self.sources.items() if isinstance(s, SubPipeline | Ref))
        return tuple(dict.fromkeys((*self.static, *objects)))

    def build(self) -> Callable[..., Any]:
        """The composed callable; JAX's own object where the outermost layer is jit.

        Raises:
            InputError: the function cannot be found.
            ComposeError: the stack does not fit the function.
        """
        return self._engine().build(self)

    def args(self) -> tuple[Any, ...]:
        """Values of the positional arguments, read or made as `args:` says.

        Raises:
            InputError: a value cannot be had, or does not have the declared shape.
        """
        return self._engine().args(self)

    def kwargs(self) -> dict[str, Any]:
        """Values of the keyword-only arguments; as `args`."""
        return self._engine().kwargs(self)

    def check(self, *args: Any, **kwargs: Any) -> Any:
        """Check a call without running it; without arguments, with those that `args:` says.

        Returns:
            Shapes and dtypes of the outputs, as `jax.eval_shape`.

        Raises:
            ComposeError: with all that JAX would refuse before tracing.
            Exception: whatever tracing raises, with a note of the layers.
        """
        if not args and not kwargs:
            args, kwargs = self.args(), self.kwargs()
        return self._engine().check(self, args, kwargs)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Check a call, then make it; without arguments, with those that `args:` says.

        Raises:
            ComposeError: as `check`.
        """
        if not args and not kwargs:
            args, kwargs = self.args(), self.kwargs()
        self._engine().check(self, args, kwargs)
        return self.build()(*args, **kwargs)

    def _engine(self) -> Engine:
        if self.engine is None:
            raise fail(
                ComposeError,
                "CMP030",
                "this pipeline was put together by hand, so nothing builds it",
                cure="composer.load(path), composer.loads(text) or composer.compose(function, ...)",
            )
        return self.engine


def _struct_data(value: msgspec.Struct) -> dict[str, object]:
    """The fields that differ from their defaults."""
    fields = msgspec.structs.fields(type(value))
    found = ((f.encode_name, getattr(value, f.name), f.default) for f in fields)
    return {name: thawed(item) for name, item, default in found if item != default}
