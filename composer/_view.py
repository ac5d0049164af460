"""A stack as rules look at it: each layer with what stands inside and outside. No JAX."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import overload

from composer._change import Edit
from composer._context import Context
from composer._pipeline import Layer, Run
from composer._signature import UNKNOWN_OUTPUT, Output, Signature
from composer._source import Facts
from composer._sources import Source
from composer.errors import ComposeError, Place
from composer.plugin import Transform

DERIVATIVES = frozenset({"grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "jvp", "vjp"})
REVERSE = frozenset({"grad", "value_and_grad", "jacrev", "hessian", "vjp"})
SCALAR_ONLY = frozenset({"grad", "value_and_grad"})
ROWS = frozenset({"vmap", "map", "scan"})
DEVICES = frozenset({"pmap", "shard_map"})
OPAQUE = frozenset({"then", "apply"})
TRACES = DERIVATIVES | DEVICES | {"vmap", "map", "scan", "repeat", "jit", "checkpoint", "checkify"}
"""Layers beneath which the function sees tracers, not values."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What is known of the output at one place of the stack, without running anything.

    Attributes:
        known: Whether everything below is understood; False above a `then`, an `apply` or
            a plugin's layer.
        scalar_row: Whether one row's output is one scalar; None where that is not known.
        rows: Numbers of the layers whose mapped axis still stands in the output, the
            outermost axis last.
        derivative: Number of the layer that took a derivative last; None if none did.
    """

    known: bool = True
    scalar_row: bool | None = None
    rows: tuple[int, ...] = ()
    derivative: int | None = None

    @property
    def scalar(self) -> bool | None:
        """Whether the whole output is one scalar; None where that is not known."""
        if not self.known:
            return None
        return False if self.rows else self.scalar_row


@dataclass(frozen=True)
class Around(Sequence["LayerView"]):
    """The layers on one side of a layer, innermost first."""

    layers: tuple[LayerView, ...]

    @overload
    def __getitem__(self, index: int) -> LayerView: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LayerView]: ...
    def __getitem__(self, index: int | slice) -> LayerView | Sequence[LayerView]:
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)

    @property
    def words(self) -> tuple[str, ...]:
        """Their words."""
        return tuple(layer.word for layer in self.layers)

    def of(self, *words: str) -> list[LayerView]:
        """Those with one of these words."""
        return [layer for layer in self.layers if layer.word in words]

    def has(self, *words: str) -> bool:
        """Whether one of these words stands there."""
        return bool(self.of(*words))

    @property
    def differentiates(self) -> bool:
        """Whether one of them takes a derivative."""
        return self.has(*DERIVATIVES)

    @property
    def compiles(self) -> bool:
        """Whether one of them compiles."""
        return any(layer.transform.compiles() for layer in self.layers)

    @property
    def axes(self) -> tuple[str, ...]:
        """Axis names that they bind, the nearest first."""
        return tuple(name for layer in self.layers for name in layer.transform.binds_axes())


@dataclass(frozen=True)
class LayerView:
    """One layer at its place in a stack.

    Attributes:
        layer: The layer.
        number: Its place, counted from the innermost, 0.
        below: What is known of the output of what it wraps.
        signature: Arguments and outputs of what it wraps.
        stack: The whole stack.
    """

    layer: Layer
    number: int
    below: Flow
    signature: Signature
    stack: StackView = field(repr=False)

    @property
    def word(self) -> str:
        """The transform's word."""
        return self.layer.word

    @property
    def transform(self) -> Transform:
        """The transform with its parameters."""
        return self.layer.transform

    @property
    def place(self) -> Place | None:
        """Where it is written."""
        return self.layer.place

    @property
    def title(self) -> str:
        """The layer in a sentence: its word, and its line where there is one."""
        return f"{self.word} (line {self.place.line})" if self.place else self.word

    @property
    def inside(self) -> Around:
        """The layers that it wraps, innermost first."""
        return Around(self.stack.layers[: self.number])

    @property
    def outside(self) -> Around:
        """The layers around it, the nearest first."""
        return Around(self.stack.layers[self.number + 1 :])

    @property
    def context(self) -> Context:
        """What the layer would be told, as far as the file and the source say."""
        return self.stack.context(self)

    def get(self, name: str) -> object:
        """A parameter's value; None where the transform has no such parameter."""
        return getattr(self.transform, name, None)

    def names(self, value: object) -> list[str]:
        """Argument names of a parameter such as `argnums`, given by names or positions.

        Positions that do not exist, or whose names are not known, are left out.
        """
        order = self.signature.positional
        several = value if isinstance(value, tuple) else (value,)
        found = []
        for item in several:
            if isinstance(item, str):
                found.append(item)
            elif isinstance(item, int) and -len(order) <= item < len(order):
                found.append(order[item])
        return found

    @property
    def after(self) -> Flow:
        """What is known of its output."""
        layers = self.stack.layers
        return layers[self.number + 1].below if self.number + 1 < len(layers) else self.stack.flow

    def set(self, parameter: str, value: object) -> Edit:
        """The edit that gives a parameter another value."""
        return Edit("set", ("stack", self.number, parameter), value)

    def unset(self, parameter: str) -> Edit:
        """The edit that takes a parameter away."""
        return Edit("remove", ("stack", self.number, parameter))

    def removed(self) -> Edit:
        """The edit that takes the layer away."""
        return Edit("remove", ("stack", self.number))

    def insert_inside(self, layer: object) -> Edit:
        """The edit that puts a layer directly inside this one."""
        return Edit("insert", ("stack", self.number), layer)

    def insert_outside(self, layer: object) -> Edit:
        """The edit that puts a layer directly around this one."""
        return Edit("insert", ("stack", self.number + 1), layer)


@dataclass(frozen=True)
class StackView:
    """A whole stack around a function, as rules see it: a pipeline's, or a sub-pipeline's.

    Attributes:
        stack: The layers.
        title: What the function is called.
        facts: What the function's source says; None where it was not found.
        base: The function's own signature, where it is known without its source.
        output: Names of the function's outputs.
        static: Arguments that hold no arrays.
        sources: Where each argument's value comes from, by name.
        mesh: Sizes of the device mesh by axis name.
        run: How the pipeline runs.
        folder: Where references are looked up first.
        place: Where the function is named.
        static_place: Where `static:` is written.
        places: Where each argument is written, by name.
        path: Where it stands in the file: `("args", NAME)` for a sub-pipeline, which another
            function calls; empty for the pipeline itself.
    """

    stack: tuple[Layer, ...]
    title: str = "the function"
    facts: Facts | None = None
    base: Signature | None = None
    output: Output = UNKNOWN_OUTPUT
    static: tuple[str, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    mesh: Mapping[str, int] = field(default_factory=dict)
    run: Run = field(default_factory=Run)
    folder: Path | None = None
    place: Place | None = None
    static_place: Place | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    path: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the function's own arguments are known."""
        return self.signature.parameters is not None

    @functools.cached_property
    def signature(self) -> Signature:
        """The function's own arguments and outputs; `parameters` is None if not known."""
        if self.base is not None:
            return self.base
        parameters = self.facts.parameters if self.facts is not None else None
        return Signature(parameters, self.output, self.title)

    @functools.cached_property
    def _walk(self) -> tuple[tuple[LayerView, ...], Flow]:
        scalar = self.facts.returns_scalar if self.facts is not None else None
        flow, signature = Flow(scalar_row=scalar), self.signature
        found = []
        for number, layer in enumerate(self.stack):
            view = LayerView(layer, number, flow, signature, self)
            found.append(view)
            flow = step(flow, view)
            signature = after(layer.transform, signature)
        return tuple(found), flow

    @property
    def layers(self) -> tuple[LayerView, ...]:
        """The layers, innermost first."""
        return self._walk[0]

    @property
    def flow(self) -> Flow:
        """What is known of the composed callable's output."""
        return self._walk[1]

    @property
    def outer_signature(self) -> Signature:
        """Arguments and outputs of the composed callable."""
        last = self.layers[-1] if self.layers else None
        return self.signature if last is None else after(last.transform, last.signature)

    @property
    def whole(self) -> Around:
        """All layers."""
        return Around(self.layers)

    def of(self, *words: str) -> list[LayerView]:
        """The layers with one of these words."""
        return self.whole.of(*words)

    @property
    def devices(self) -> int | None:
        """How many devices there are, where the file says so."""
        return self.run.simulate_devices

    def context(self, view: LayerView) -> Context:
        """What a layer is told, as far as the file and the source say."""
        return Context(
            signature=view.signature,
            word=view.word,
            place=view.place,
            static=frozenset(self.static) & frozenset(view.signature.names),
            compiled_outside=view.outside.compiles,
            axes_outside=view.outside.axes,
            mesh=dict(self.mesh) or None,
            folder=self.folder,
            number=view.number,
            outermost=not view.outside,
        )


def after(transform: Transform, signature: Signature) -> Signature:
    """The signature after a layer; the one before where the layer does not fit it."""
    try:
        return transform.signature(signature)
    except ComposeError:
        return signature


def step(flow: Flow, view: LayerView) -> Flow:
    """What is known of the output after one more layer."""
    word = view.word
    if word in DERIVATIVES:
        return Flow(flow.known, None, (), view.number)
    if word in ROWS:
        dropped = word == "vmap" and view.get("out_axes") is None
        return flow if dropped else replace(flow, rows=(*flow.rows, view.number))
    if word == "pmap":
        once = view.get("sync") is not None or view.get("out_axes") is None
        if once or view.get("merge"):
            return flow
        return replace(flow, rows=(*flow.rows, view.number))
    if word == "reduce":
        if view.get("outputs") is not None:
            return replace(flow, scalar_row=None)
        if view.get("axis") is None:
            return replace(flow, rows=(), scalar_row=True)
        left = flow.rows[:-1]
        return replace(flow, rows=left, scalar_row=flow.scalar_row if flow.rows else None)
    if word in ("select", "shard_map", "checkify", "repeat"):
        return replace(flow, scalar_row=None)
    if word in TRANSPARENT:
        return flow
    return Flow(known=False)


TRANSPARENT = frozenset(
    {"jit", "checkpoint", "partial", "collective", "stop_gradient", "cast", "split_key"}
)
"""Layers that keep the shape of the outputs."""


def each(stacks: Sequence[StackView]) -> Iterator[LayerView]:
    """Every layer of several stacks."""
    for stack in stacks:
        yield from stack.layers
