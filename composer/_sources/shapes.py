"""The text of a shape: `f32[batch, 64]`, and trees of such texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec

from composer._dtypes import LONG_NAMES, likely_dtype, short_name

_LOOKS_LIKE = re.compile(r"\s*\w+\s*\[")
_FORM = re.compile(r"\s*(\w+)\s*\[([^\[\]]*)\]\s*")
_SIZE = re.compile(r"0|[1-9][0-9]{0,17}")


class ShapeError(ValueError):
    """A text that is no shape.

    Attributes:
        cure: What to write instead, or None.
        path: Where in the tree, as keys and positions.
    """

    def __init__(
        self, message: str, cure: str | None = None, path: tuple[str | int, ...] = ()
    ) -> None:
        super().__init__(message)
        self.cure = cure
        self.path = path


class Shape(msgspec.Struct, frozen=True):
    """The dtype and dimensions of one array, such as `f32[batch, 64]`.

    Attributes:
        dtype: A short name: a key of `LONG_NAMES`.
        dims: A size, or a name that must mean the same size wherever it stands.
    """

    dtype: str
    dims: tuple[int | str, ...] = ()

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(str(dim) for dim in self.dims)}]"

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions that are names."""
        return tuple(dim for dim in self.dims if isinstance(dim, str))

    def sizes(self) -> tuple[int, ...]:
        """The dimensions, where all of them are numbers."""
        assert not self.names
        return tuple(dim for dim in self.dims if isinstance(dim, int))


# A quoted alias: the tree contains itself.
ShapeTree: TypeAlias = "Shape | tuple[ShapeTree, ...] | Mapping[str, ShapeTree] | None"
"""A shape, or a tuple or mapping of them; None where JAX has a None, which holds no array."""


def looks_like_shape(text: str) -> bool:
    """Whether the text is meant as a shape, right or wrong: a word, then a bracket.

    >>> looks_like_shape("f32[8, 3]"), looks_like_shape("float[8"), looks_like_shape("relu")
    (True, True, False)
    """
    return _LOOKS_LIKE.match(text) is not None


def parse_shape(text: str) -> Shape:
    """Read `dtype[dims]`; dtypes by their short names or NumPy's.

    Raises:
        ShapeError: with what to write instead.

    >>> parse_shape("float32[batch, 3]")
    Shape(dtype='f32', dims=('batch', 3))
    """
    match = _FORM.fullmatch(text)
    if match is None:
        scalar = short_name(text)
        cure = f'"{scalar}[]" for one number, "{scalar}[8, 3]" for an array'
        raise ShapeError(
            f"{text!r} is not a shape: dtype[sizes]", cure if scalar else '"f32[8, 3]"'
        )
    word, inside = match.groups()
    dtype = _dtype(word, inside)
    if not inside.strip():
        return Shape(dtype)
    return Shape(dtype, tuple(_dim(part.strip(), text) for part in inside.split(",")))


def parse_dtype(word: str) -> str:
    """The short name of a dtype.

    Raises:
        ShapeError: no dtype has that name.
    """
    short = short_name(word)
    if short is None:
        raise ShapeError(f"{word!r} is not a dtype: {', '.join(LONG_NAMES)}", likely_dtype(word))
    return short


def _dtype(word: str, inside: str) -> str:
    try:
        return parse_dtype(word)
    except ShapeError as error:
        cure = f'"{error.cure}[{inside}]"' if error.cure else None
        raise ShapeError(str(error), cure) from None


def _dim(part: str, text: str) -> int | str:
    if _SIZE.fullmatch(part):
        return int(part)
    if part.isidentifier() and part.isascii():
        return part
    raise ShapeError(
        f"{part!r} in {text!r} is neither a size (0, 1, 2 ...) nor the name of one", '"f32[n, 3]"'
    )


def parse_tree(data: object, path: tuple[str | int, ...] = ()) -> ShapeTree:
    """Read a tree of shapes: mappings and lists whose leaves are shape texts or null.

    Raises:
        ShapeError: with the path of the leaf that is no shape.
    """
    if data is None:
        return None
    if isinstance(data, str):
        try:
            return parse_shape(data)
        except ShapeError as error:
            raise ShapeError(str(error), error.cure, path) from None
    if isinstance(data, list | tuple) and data and all(type(item) is int for item in data):
        sizes = ", ".join(map(str, data))
        raise ShapeError(f"[{sizes}] has no dtype: dtype[sizes]", f'"f32[{sizes}]"', path)
    if isinstance(data, list | tuple):
        return tuple(parse_tree(item, (*path, i)) for i, item in enumerate(data))
    if isinstance(data, Mapping):
        return {str(name): parse_tree(item, (*path, name)) for name, item in data.items()}
    cure = f'"f32[{data}]"' if type(data) is int and data >= 0 else '"f32[8, 3]"'
    raise ShapeError(f"{data!r} is not a shape: dtype[sizes]", cure, path)


def tree_data(tree: ShapeTree) -> object:
    """The tree as plain data, from which `parse_tree` makes it again."""
    if tree is None or isinstance(tree, Shape):
        return None if tree is None else str(tree)
    if isinstance(tree, tuple):
        return [tree_data(item) for item in tree]
    return {name: tree_data(item) for name, item in tree.items()}


def leaves(tree: ShapeTree) -> Iterator[Shape]:
    """Every shape in the tree, in order."""
    if isinstance(tree, Shape):
        yield tree
    elif isinstance(tree, tuple):
        for item in tree:
            yield from leaves(item)
    elif tree is not None:
        for item in tree.values():
            yield from leaves(item)
