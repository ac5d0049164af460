"""The conformance kit: what every transform promises, checked on cases of its own.

    from composer.testing import Case, check_transform

    def test_scale_keeps_every_promise():
        check_transform(Scale, [Case(Scale(by=2.0), lambda x: x + 1, (np.arange(3.0),))])

Built-ins pass the same checks as a stranger's transforms.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import numpy as np
from jax.experimental import checkify

from composer._builder import Builder
from composer._compose import compose
from composer._freeze import Uncacheable
from composer._load import pipeline_from
from composer._parameters import parameters
from composer._pipeline import Layer
from composer._recipe import Recipe
from composer._registry import Registry
from composer._signature import Output, output_from_names
from composer._yaml import dump, parse
from composer.plugin import Context, Transform
from composer.transforms._keys import is_key

__all__ = ["Case", "Outcome", "check_transform", "outcomes"]


@dataclass(frozen=True)
class Case:
    """One layer with a function and arguments on which its promises are checked.

    Attributes:
        layer: The transform with its parameters.
        function: A pure function that the layer can wrap.
        args: Positional arguments of the wrapped function.
        kwargs: Its keyword arguments.
        static: Arguments of `function` that hold no arrays.
        mesh: A device mesh, where the layer needs one.
        returns: Names of the function's outputs.
        rtol: Relative tolerance against the reference.
        atol: Absolute tolerance against the reference.
        not_text: Why the layer cannot be written as YAML; empty: it can.
        outer: Layers that stand outside, where the layer cannot be called without them:
            one that binds the axis of a collective. Its reference is called inside them.
        expected: The right values of the whole with `outer`, called with the same
            arguments: by NumPy, not by JAX. Checked besides the layer's reference.
        no_reference: Why the layer has no reference in this case; empty: it has one.
    """

    layer: Transform
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    static: tuple[str, ...] = ()
    mesh: Mapping[str, int] | None = None
    returns: object = None
    rtol: float = 1e-5
    atol: float = 1e-6
    not_text: str = ""
    outer: tuple[Transform, ...] = ()
    expected: Callable[..., Any] | None = None
    no_reference: str = ""

    __test__: ClassVar[bool] = False

    def compose(self, *outer: Transform, function: Callable[..., Any] | None = None) -> Any:
        """The case's function with the layer around it, and layers outside."""
        return compose(
            function or self.function,
            *self.layers,
            *outer,
            static=self.static,
            mesh=self.mesh,
            returns=self.returns,
        )

    @property
    def layers(self) -> tuple[Transform, ...]:
        """The layer and those outside it."""
        return (self.layer, *self.outer)

    def context(self, number: int = 0) -> Context:
        """What the layer is told in this case; with a number, what one outside it is told."""
        output = Output() if self.returns is None else output_from_names(self.returns)
        layers = tuple(Layer(layer) for layer in self.layers)
        recipe = Recipe(layers, self.static, self.mesh, output)
        builder = Builder(self.function, recipe, Registry())
        return builder.context(number, builder.closed)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one check came out.

    Attributes:
        check: The promise.
        case: Which case, counted from 0; None for checks of the class.
        problem: What is wrong; empty: nothing.
        skipped: Why the check did not run; empty: it ran.
    """

    check: str
    case: int | None = None
    problem: str = ""
    skipped: str = ""

    def __str__(self) -> str:
        where = "" if self.case is None else f" (case {self.case})"
        return f"{self.check}{where}: {self.problem or self.skipped or 'fine'}"


def check_transform(cls: type[Transform], cases: Sequence[Case]) -> list[Outcome]:
    """Check every promise of a transform class on the given cases.

    Args:
        cls: The transform.
        cases: At least one; each of an instance of `cls`.

    Returns:
        All outcomes, for those who want to count them.

    Raises:
        AssertionError: at least one promise is broken; the text lists all that are.
    """
    assert cases, f"{cls.__name__} needs at least one case"
    wrong = [case.layer for case in cases if type(case.layer) is not cls]
    assert not wrong, f"cases for {cls.__name__} hold another transform: {wrong[0]!r}"
    found = list(outcomes(cls, cases))
    broken = [str(outcome) for outcome in found if outcome.problem]
    assert not broken, "\n".join([f"{cls.__name__} breaks its promises:", *broken])
    return found


def outcomes(cls: type[Transform], cases: Sequence[Case]) -> Iterator[Outcome]:
    """Every check of the class and of each case, in order."""
    yield Outcome("declaration", None, declaration(cls))
    checks = (round_trip, build_does_not_call, names_kept, signature_fits, no_retrace, values)
    for number, case in enumerate(cases):
        reasons = {round_trip: case.not_text, values: case.no_reference}
        for check in checks:
            name = check.__name__.replace("_", " ")
            if reasons.get(check):
                yield Outcome(name, number, skipped=reasons[check])
                continue
            yield Outcome(name, number, _problem_of(check, case))


def _problem_of(check: Callable[[Case], str], case: Case) -> str:
    try:
        return check(case)
    # A check that raises has found a broken promise, whatever the exception.
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def declaration(cls: type[Transform]) -> str:
    """The class has a word and a docstring, and every parameter a type and a sentence."""
    if not cls.word or not cls.word.isidentifier():
        return f"word is {cls.word!r}; it must be an identifier"
    if not (cls.__doc__ or "").strip():
        return "the class has no docstring"
    for name in [parameter.name for parameter in parameters(cls)]:
        owner = next(base for base in cls.__mro__ if name in inspect.get_annotations(base))
        text = str(inspect.get_annotations(owner)[name])
        if "Annotated" not in text or not any(quote in text for quote in ("'", '"')):
            return f"parameter {name} has no sentence: Annotated[type, 'what it is']"
    for method in ("build", "reference"):
        if getattr(cls, method) is getattr(Transform, method):
            return f"{method} is not defined"
    return ""


def round_trip(case: Case) -> str:
    """Layer to text to layer gives an equal layer."""
    whole = {"composer": 1, "function": "m:f", "stack": [Layer(case.layer).to_data()]}
    read = pipeline_from(parse(dump(whole)), lambda word, place: type(case.layer))
    again = read.stack[0].transform
    if again != case.layer:
        return f"came back as {again!r}, was {case.layer!r}"
    try:
        case.layer.stack_key()
    except Uncacheable as error:
        return f"has no key: {error}"
    return ""


def build_does_not_call(case: Case) -> str:
    """Building the layer does not call the function."""
    called: list[object] = []

    def untouched(*args: Any, **kwargs: Any) -> Any:
        called.append(args)

    case.layer.build(untouched, case.context())
    return "build called the function" if called else ""


def names_kept(case: Case) -> str:
    """The user's function reaches JAX under its own name."""

    def seen_by_jax(*args: Any, **kwargs: Any) -> Any:
        return case.function(*args, **kwargs)

    seen_by_jax.__signature__ = inspect.signature(case.function)  # type: ignore[attr-defined]  # read by inspect
    made = case.compose(function=seen_by_jax)
    wanted = "seen_by_jax"
    for layer in case.layers:
        wanted = layer.name_after(wanted)
    if made.__name__ != wanted:
        return f"the wrapped function is called {made.__name__!r}"
    # A compiled layer is JAX's own object, and JAX names the programs of pmap itself.
    if case.layers[-1].compiles():
        return ""
    static = tuple(name for name in case.static if name in case.kwargs)
    text = jax.jit(made, static_argnames=static).lower(*case.args, **case.kwargs).as_text()
    return "" if f"@jit_{wanted}" in text else f"the program is called {text[:60]!r}"


def signature_fits(case: Case) -> str:
    """Names and number of arguments and outputs are as the transform declares them."""
    declared = case.context().signature
    for layer in case.layers:
        declared = layer.signature(declared)
    made = case.compose()
    names = tuple(inspect.signature(made).parameters)
    if declared.parameters is not None and names != tuple(p.name for p in declared.parameters):
        return f"declares the arguments {declared.names}, takes {names}"
    shape = jax.eval_shape(*_dynamic(made, case))
    return _output_problem(declared.output, shape, "the output")


def _output_problem(output: Output, shape: Any, where: str) -> str:
    """Where declared names and real structure differ."""
    if output.parts is None:
        return ""
    keys = [key for key, _ in output.parts]
    if all(isinstance(key, int) for key in keys):
        if not isinstance(shape, tuple | list) or len(shape) != len(keys):
            return f"{where} is declared as {len(keys)} parts, but is {_brief(shape)}"
    elif not isinstance(shape, Mapping) or set(shape) != set(keys):
        return f"{where} is declared with keys {keys}, but is {_brief(shape)}"
    for key, part in output.parts:
        problem = _output_problem(part, shape[key], part.name or f"{where}[{key!r}]")
        if problem:
            return problem
    return ""


def _brief(shape: Any) -> str:
    return str(jax.tree.structure(shape))


def no_retrace(case: Case) -> str:
    """A second call with the same arguments does not trace the function again."""
    traced: list[int] = []

    def counted(*args: Any, **kwargs: Any) -> Any:
        traced.append(1)
        return case.function(*args, **kwargs)

    counted.__signature__ = inspect.signature(case.function)  # type: ignore[attr-defined]  # read by inspect
    made = case.compose(function=counted)
    fn, *args = _dynamic(made, case)
    jax.block_until_ready(fn(*args))
    once = len(traced)
    jax.block_until_ready(fn(*args))
    return "" if len(traced) == once else f"{len(traced) - once} more traces on the second call"


def values(case: Case) -> str:
    """What comes out equals the slow reference: structure, shapes and numbers."""
    ctx = case.context()
    below = Builder(case.function, Recipe((), case.static), Registry())
    static = {name: case.kwargs[name] for name in case.static if name in case.kwargs}
    inner = below.stack_with(static, 0)
    dynamic = {name: value for name, value in case.kwargs.items() if name not in static}
    reference = case.layer.reference(inner, ctx)
    for number, outer in enumerate(case.outer, start=1):
        reference = outer.build(reference, case.context(number))
    got = case.compose()(*case.args, **case.kwargs)
    jax.block_until_ready(got)
    problem = _difference(got, reference(*case.args, **dynamic), case.rtol, case.atol)
    if problem or case.expected is None:
        return problem
    expected = case.expected(*case.args, **case.kwargs)
    return _difference(got, expected, case.rtol, case.atol)


def _difference(got: Any, expected: Any, rtol: float, atol: float) -> str:
    """The first leaf that differs, or nothing."""
    got, expected = _comparable(got), _comparable(expected)
    structures: list[Any] = [jax.tree.structure(tree) for tree in (got, expected)]
    if structures[0] != structures[1]:
        return f"structure {_brief(got)}, reference {_brief(expected)}"
    pairs = zip(
        jax.tree_util.tree_flatten_with_path(got)[0], jax.tree.leaves(expected), strict=True
    )
    for (path, leaf), wanted in pairs:
        where = jax.tree_util.keystr(path) or "the output"
        left, right = _numbers(leaf), _numbers(wanted)
        if left.shape != right.shape:
            return f"{where} has shape {left.shape}, reference {right.shape}"
        if not np.allclose(left, right, rtol=rtol, atol=atol, equal_nan=True):
            worst = float(np.nanmax(np.abs(left - right)))
            return f"{where} differs from the reference by up to {worst:.3g}"
    return ""


def _comparable(tree: Any) -> Any:
    """The tree with checkify's errors as whether there is one.

    Their structure holds the traceback of the call, so no two of them are alike.
    """

    def plain(node: Any) -> Any:
        return np.asarray(node.get() is not None) if isinstance(node, checkify.Error) else node

    return jax.tree.map(plain, tree, is_leaf=lambda node: isinstance(node, checkify.Error))


def _numbers(leaf: Any) -> Any:
    """A leaf as NumPy float64, complex128 or key data."""
    if is_key(leaf):
        leaf = jax.random.key_data(leaf)
    array = np.asarray(leaf)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _dynamic(made: Callable[..., Any], case: Case) -> tuple[Any, ...]:
    """A function of the arguments that hold arrays, and those arguments."""
    static = {name: case.kwargs[name] for name in case.static if name in case.kwargs}
    dynamic = {name: value for name, value in case.kwargs.items() if name not in static}
    if case.layers[-1].compiles() and not case.kwargs:
        # As it is: some options of jit are refused inside another jit.
        return made, *case.args

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return made(*args, **kwargs, **static)

    return jax.jit(call), case.args, dynamic
