"""What a callable takes and returns, by name: the words in which layers speak of arguments.

Nothing here imports JAX. A `Signature` belongs to one place in a stack: each layer
turns the signature of what it wraps into its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Output:
    """A name for an output, or for a part of one.

    Attributes:
        name: What `returns:` or a transform calls it; None for an unnamed whole.
        parts: The named parts by position (int) or key (str); None where nothing
            is known of the inside.
    """

    name: str | None = None
    parts: tuple[tuple[int | str, Output], ...] | None = None

    @staticmethod
    def tuple_of(*outputs: Output, name: str | None = None) -> Output:
        """An output that is a tuple of the given ones."""
        return Output(name, tuple(enumerate(outputs)))

    def child(self, key: int | str) -> Output:
        """The part at a position or key; an unnamed one where nothing is known."""
        for found, part in self.parts or ():
            if found == key:
                return part
        return Output()

    def walk(
        self, path: tuple[int | str, ...] = ()
    ) -> Iterator[tuple[tuple[int | str, ...], Output]]:
        """Every named part with its path from here, outer ones first."""
        yield path, self
        for key, part in self.parts or ():
            yield from part.walk((*path, key))

    def find(self, name: str) -> list[tuple[int | str, ...]]:
        """Paths of all parts that `name` means: a name, or names joined by dots."""
        first, _, rest = name.partition(".")
        paths = [path for path, part in self.walk() if part.name == first]
        if not rest:
            return paths
        return [(*path, *below) for path in paths for below in self.at(path).find(rest)]

    def at(self, path: Sequence[int | str]) -> Output:
        """The part at a path of positions and keys."""
        part = self
        for key in path:
            part = part.child(key)
        return part

    def names(self) -> list[str]:
        """All names in here, in order."""
        return [part.name for _, part in self.walk() if part.name is not None]


UNKNOWN_OUTPUT = Output()


def output_from_names(returns: object) -> Output:
    """Output names from `returns:`, nested as the outputs are.

    A list with one entry names the whole output; a longer one names the parts of a
    tuple. `{stats: [n, mean]}` names an output and its parts by position,
    `{stats: {n, mean}}` by key.

    Raises:
        ValueError: the data is not of that form; the text says what was expected.

    >>> output_from_names(["loss", {"stats": {"n": None}}]).find("stats.n")
    [(1, 'n')]
    """
    if not isinstance(returns, list | tuple) or not returns:
        raise ValueError("returns: is a list of names, such as [loss, aux]")
    entries = [_named(entry) for entry in returns]
    return entries[0] if len(entries) == 1 else Output.tuple_of(*entries)


def _named(entry: object) -> Output:
    if isinstance(entry, str):
        return Output(entry)
    if isinstance(entry, dict) and len(entry) == 1:
        [(name, inner)] = entry.items()
        return replace(_inside(inner), name=str(name))
    raise ValueError(
        "each output is a name, or one name with the names of its parts: {stats: [n, mean]}"
    )


def _inside(inner: object) -> Output:
    if isinstance(inner, list | tuple):
        return Output.tuple_of(*(_named(part) for part in inner))
    if isinstance(inner, dict) and inner:
        return Output(None, tuple((key, _keyed(key, part)) for key, part in inner.items()))
    raise ValueError("the parts of an output are a list (by position) or a mapping (by key)")


def _keyed(key: str, part: object) -> Output:
    return Output(key) if part is None else replace(_inside(part), name=key)


@dataclass(frozen=True, slots=True)
class Signature:
    """The arguments and outputs of a callable at one place in a stack.

    Attributes:
        parameters: The arguments in order; None for a callable that does not tell them
            (`max`, a C function): then only positions can be used.
        output: Names of the outputs, as far as they are known.
        title: What the callable is called in messages.
    """

    parameters: tuple[inspect.Parameter, ...] | None
    output: Output = field(default=UNKNOWN_OUTPUT)
    title: str = "the function"

    @property
    def positional(self) -> tuple[str, ...]:
        """Names of the arguments that can be passed by position."""
        return tuple(p.name for p in self.parameters or () if p.kind in _POSITIONAL)

    @property
    def keyword_only(self) -> tuple[str, ...]:
        """Names of the arguments that can be passed by keyword only."""
        return tuple(
            p.name for p in self.parameters or () if p.kind is inspect.Parameter.KEYWORD_ONLY
        )

    @property
    def positional_only(self) -> tuple[str, ...]:
        """Names of the arguments that can be passed by position only."""
        return tuple(
            p.name for p in self.parameters or () if p.kind is inspect.Parameter.POSITIONAL_ONLY
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all arguments but `*args` and `**kwargs`."""
        return self.positional + self.keyword_only

    @property
    def open_ended(self) -> bool:
        """Whether more positions than names exist (`*args`, or no signature at all)."""
        return self.parameters is None or any(
            p.kind is inspect.Parameter.VAR_POSITIONAL for p in self.parameters
        )

    @property
    def takes_any_keyword(self) -> bool:
        """Whether it has `**kwargs`, or does not tell its arguments."""
        return self.parameters is None or any(
            p.kind is inspect.Parameter.VAR_KEYWORD for p in self.parameters
        )

    def required(self, name: str) -> bool:
        """Whether the argument of this name has no default."""
        return any(p.name == name and p.default is p.empty for p in self.parameters or ())

    def without(self, *names: str) -> Signature:
        """The same signature with some arguments taken out."""
        if self.parameters is None:
            return self
        return replace(self, parameters=tuple(p for p in self.parameters if p.name not in names))

    def returning(self, output: Output) -> Signature:
        """The same arguments with other outputs."""
        return replace(self, output=output)

    def to_inspect(self) -> inspect.Signature | None:
        """For `__signature__`; None where the arguments are not known."""
        return None if self.parameters is None else inspect.Signature(self.parameters)

    def bind(
        self, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """Move keyword arguments to their positions, up to the first one that is missing.

        What cannot move (keyword-only arguments, `**kwargs`, arguments behind an
        omitted default) stays a keyword argument.

        Raises:
            TypeError: an argument is given twice, as Python says it.

        >>> sig = signature_of(lambda x, y=1, z=2: None)
        >>> sig.bind((5,), {"z": 3})
        ((5,), {'z': 3})
        >>> sig.bind((), {"y": 2, "x": 1})
        ((1, 2), {})
        """
        if not kwargs or self.parameters is None:
            return args, dict(kwargs)
        rest = dict(kwargs)
        found = list(args)
        positional = [p for p in self.parameters if p.kind in _POSITIONAL]
        for parameter in positional[: len(args)]:
            # The name may be one of `**kwargs` where the argument goes by position only.
            if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY and parameter.name in rest:
                raise TypeError(
                    f"{self.title}() got multiple values for argument {parameter.name!r}"
                )
        for parameter in positional[len(args) :]:
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY or parameter.name not in rest:
                break
            found.append(rest.pop(parameter.name))
        return tuple(found), rest

    def fill(
        self, args: tuple[object, ...], kwargs: Mapping[str, object], upto: int
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """Like `bind`, and put defaults in gaps so that at least `upto` positions are filled."""
        args, rest = self.bind(args, kwargs)
        found = list(args)
        for parameter in [p for p in self.parameters or () if p.kind in _POSITIONAL][len(args) :]:
            if len(found) >= upto:
                break
            if parameter.name in rest:
                found.append(rest.pop(parameter.name))
            elif parameter.default is not parameter.empty:
                found.append(parameter.default)
            else:
                break
        return tuple(found), rest


def signature_of(fn: Callable[..., object], output: Output = UNKNOWN_OUTPUT) -> Signature:
    """The signature of any callable; without names where Python knows none.

    >>> signature_of(lambda x, y: x).names
    ('x', 'y')
    """
    try:
        parameters = tuple(inspect.signature(fn).parameters.values())
    except (ValueError, TypeError):
        return Signature(None, output, _title(fn))
    return Signature(parameters, output, _title(fn))


def _title(fn: Callable[..., object]) -> str:
    while hasattr(fn, "func") and not hasattr(fn, "__name__"):
        fn = fn.func
    return str(getattr(fn, "__name__", type(fn).__name__))
