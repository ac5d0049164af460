"""Values as functions of JAX take them: literals and Python objects -> arrays, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import jax
import numpy as np

from composer._run.dtypes import Array, Loss, cast, device_dtype, on_device, shape_of
from composer._sources import Shape, ShapeTree
from composer._sources.plain import ENDINGS
from composer.errors import Diagnostic, InputError, Place, fail


class NotAnArray(ValueError):
    """A value that only a static argument can have.

    Attributes:
        path: Where in the argument, as JAX prints it; empty for the whole.
        file: The whole argument, where it is the name of a data file.
    """

    def __init__(self, what: str, path: str = "", file: str = "") -> None:
        super().__init__(what)
        self.path = path
        self.file = file


def literal(value: object, declared: ShapeTree = None) -> object:
    """Arrays from a literal, in JAX's default dtypes and without weak types.

    A number has no dtype of its own: it takes the declared one where that can hold
    it. A list of numbers that is rectangular becomes one array; any other list and
    every mapping becomes a tree.

    Raises:
        NotAnArray: there is text in it, or true and false among numbers.
        Loss: the declared dtype, or 32 bits, cannot hold a number.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        inner = declared if isinstance(declared, Mapping) else {}
        return {name: literal(item, inner.get(name)) for name, item in value.items()}
    sizes = _rectangle(value)
    if sizes is None:
        assert isinstance(value, tuple)
        parts = declared if isinstance(declared, tuple) and len(declared) == len(value) else None
        return [literal(item, parts[i] if parts else None) for i, item in enumerate(value)]
    scalars = _scalars(value)
    if any(isinstance(item, str) for item in scalars):
        text = next(item for item in scalars if isinstance(item, str))
        is_file = text == value and text.endswith(ENDINGS)
        raise NotAnArray(f"the text {text!r}", file=text if is_file else "")
    if len({isinstance(item, bool) for item in scalars}) > 1:
        raise NotAnArray("a list of true or false and numbers together")
    if any(isinstance(item, int) and not -(2**63) <= item < 2**63 for item in scalars):
        raise Loss("a whole number does not fit into 64 bits")
    array = np.asarray(scalars, None if scalars else np.float64).reshape(sizes)
    return _in_declared(array, declared)


def _in_declared(array: Array, declared: ShapeTree) -> Array:
    if not isinstance(declared, Shape) or declared.dtype == "key":
        return on_device(array)
    dtype = device_dtype(declared.dtype)
    if (array.dtype == np.bool_) != (dtype == np.bool_):
        raise Loss(f"{str(array.flat[0]).lower()} is no value of {declared.dtype}")
    return cast(array, dtype)


def _rectangle(value: object) -> tuple[int, ...] | None:
    """The sizes of nested lists that are rectangular and hold scalars only, else None."""
    if isinstance(value, Mapping) or value is None:
        return None
    if not isinstance(value, tuple):
        return ()
    inner = {_rectangle(item) for item in value}
    if len(inner) > 1 or None in inner:
        return None
    return (len(value), *(next(iter(inner), None) or ()))


def _scalars(value: object) -> list[object]:
    if isinstance(value, tuple):
        return [scalar for item in value for scalar in _scalars(item)]
    return [value]


def arrays(value: object) -> object:
    """What a call returned, with every leaf an array and every dtype JAX's own.

    Raises:
        NotAnArray: a leaf is no number and no array.
        Loss: 32 bits cannot hold a number.
    """

    def leaf(path: tuple[object, ...], item: object) -> object:
        if isinstance(item, jax.Array):
            return item
        if isinstance(item, np.ndarray | np.generic | bool | int | float | complex):
            try:
                return on_device(np.asarray(item))
            except OverflowError:
                raise Loss(f"{item} does not fit into 64 bits") from None
        where = jax.tree_util.keystr(path)
        raise NotAnArray(f"a {type(item).__name__}", where)

    return jax.tree_util.tree_map_with_path(leaf, value)


@dataclass(slots=True)
class ShapeCheck:
    """Compares values with declared shapes; a name means one size in all arguments.

    Attributes:
        sizes: What each name of a size has come to mean, and which argument said so.
        found: What does not fit.
    """

    sizes: dict[str, tuple[int, str]] = field(default_factory=dict)
    found: list[Diagnostic] = field(default_factory=list)

    def check(self, name: str, value: object, declared: ShapeTree, place: Place | None) -> None:
        """Compare one argument; what does not fit is put into `found`."""
        if declared is None:
            return
        if isinstance(declared, Shape):
            self._leaf(name, value, declared, place)
        elif isinstance(declared, Mapping):
            self._mapping(name, value, declared, place)
        elif not isinstance(value, Sequence) or len(value) != len(declared):
            have = f"{len(value)} parts" if isinstance(value, Sequence) else _kind(value)
            self._say(f"{name} is {have}, but {len(declared)} parts are declared", (), place)
        else:
            for i, (item, shape) in enumerate(zip(value, declared, strict=True)):
                self.check(f"{name}[{i}]", item, shape, place)

    def _mapping(
        self, name: str, value: object, declared: Mapping[str, ShapeTree], place: Place | None
    ) -> None:
        if not isinstance(value, Mapping):
            wanted = ", ".join(declared)
            self._say(f"{name} is {_kind(value)}, but {wanted} are declared in it", (), place)
            return
        for key in [*declared, *(key for key in value if key not in declared)]:
            if key not in value:
                self._say(f"{name} has no {key!r}, which is declared", _parts(value), place)
            elif key not in declared:
                self._say(f"{name} has {key!r}, which is not declared", (), place)
            else:
                self.check(f"{name}[{key!r}]", value[key], declared[key], place)

    def _leaf(self, name: str, value: object, declared: Shape, place: Place | None) -> None:
        if not isinstance(value, jax.Array | np.ndarray):
            self._say(f"{name} is {_kind(value)}, but {declared} is declared", (), place)
            return
        found = shape_of(value)
        fits = found.dtype == declared.dtype and len(found.dims) == len(declared.dims)
        notes = []
        for size, dim in zip(found.dims, declared.dims, strict=False):
            assert isinstance(size, int)
            meant, said = (dim, "") if isinstance(dim, int) else self.sizes.get(dim, (size, ""))
            fits &= meant == size
            if said and meant != size:
                notes.append(f"{dim} is {meant}, from {said}")
        if not fits:
            message = f"{name} is {found}, but {declared} is declared"
            self._say(message, tuple(dict.fromkeys(notes)), place, f'shape: "{found}"')
            return
        for size, dim in zip(found.dims, declared.dims, strict=True):
            if isinstance(dim, str) and isinstance(size, int):
                # A name twice in one shape: the second meets the first one's size here.
                meant, said = self.sizes.setdefault(dim, (size, f"{name}, {declared}"))
                if meant != size:
                    message = f"{name} is {found}, but {declared} is declared"
                    self._say(message, (f"{dim} is {meant}, from {said}",), place)
                    return

    def _say(
        self, message: str, notes: tuple[str, ...], place: Place | None, cure: str | None = None
    ) -> None:
        self.found.append(Diagnostic("CMP065", message, place, notes, cure))


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    is_array = isinstance(value, jax.Array | np.ndarray | np.generic)
    return "one array" if is_array else f"a {type(value).__name__}"


def _parts(value: Mapping[str, object]) -> tuple[str, ...]:
    return (f"it has: {', '.join(str(key) for key in value) or 'nothing'}",)


def loss(name: str, error: Loss | NotAnArray, place: Place | None) -> InputError:
    """The error for an argument whose value cannot become an array."""
    if isinstance(error, Loss):
        found = fail(InputError, "CMP065", f"{name}: {error}", place=place, cure=error.cure)
    else:
        message = f"{name}{error.path} is {error}, which no array can hold"
        cure = f"static: [{name}]     # a value that is known when the function is compiled"
        if error.file:
            cure = f"{name}: {{file: {error.file}}}     # to read it; or\n{cure}"
        found = fail(InputError, "CMP061", message, place=place, cure=cure)
    assert isinstance(found, InputError)
    return found
