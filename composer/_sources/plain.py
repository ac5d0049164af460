"""Sources that hold or name a whole value: a shape, a literal, a file, a call, an object."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Final

import msgspec

from composer._freeze import frozen, thawed
from composer._sources.base import WORDS, Source, SourceError, check_dtype, check_reference
from composer._sources.shapes import leaves, looks_like_shape, tree_data


class ShapeOnly(Source, frozen=True, eq=False, kw_only=True):
    """What the argument looks like, without a value: `f32[8, 3]`, or a tree of shapes."""

    word: ClassVar[str] = "shape"

    def check(self) -> None:
        if not any(True for _ in leaves(self.shape)):
            raise SourceError("there is no shape in it", "shape", 'shape: "f32[8, 3]"')

    def to_data(self) -> object:
        bare = tree_data(self.shape)
        # Read bare, a tree whose first name is the word of a kind would be that kind, and
        # one that begins with `function` a function with a stack of its own.
        if isinstance(bare, dict) and next(iter(bare)) in (*WORDS, "shape", "function"):
            return {"shape": bare}
        return bare


class Value(Source, frozen=True, eq=False, kw_only=True):
    """A value written in the file itself: number, bool, null, text, list or mapping."""

    word: ClassVar[str] = "value"
    value: object

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "value", frozen(self.value))
        self.check()

    def check(self) -> None:
        fault = _not_plain(self.value)
        if fault is not None:
            raise SourceError(fault, "value")

    def to_data(self) -> object:
        bare = thawed(self.value)
        if self.shape is not None:
            return {"value": bare, "shape": tree_data(self.shape)}
        return {"value": bare} if _means_more(bare) else bare


def _not_plain(value: object) -> str | None:
    """Why a value cannot be written in a pipeline; None where it can."""
    if isinstance(value, float):
        return None if abs(value) < float("inf") else f"{value} is not a finite number"
    if value is None or isinstance(value, bool | int | str):
        return None
    if isinstance(value, tuple):
        return next((fault for item in value if (fault := _not_plain(item))), None)
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            return "a key of a mapping is not a word"
        return next((fault for item in value.values() if (fault := _not_plain(item))), None)
    return f"a {type(value).__name__} is not plain data"


def _means_more(bare: object) -> bool:
    """Whether bare data would be read as something other than a literal."""
    if isinstance(bare, list):
        return any(_means_more(item) for item in bare)
    return isinstance(bare, dict) or (isinstance(bare, str) and looks_like_shape(bare))


class File(Source, frozen=True, eq=False, kw_only=True):
    """An array from a npy, npz, csv or safetensors file.

    Attributes:
        key: The array of a npz or safetensors file, or the column or columns of a csv
            file; without it, the only array, or all columns as [rows, columns].
        dtype: Converted to this dtype; without it the file's own is kept.
        delimiter: Between the columns of a csv file; a comma by default.
        header: Whether the first row of a csv file names the columns; seen by itself.
    """

    word: ClassVar[str] = "file"
    needs_code: ClassVar[bool] = True
    file: str
    key: str | tuple[str, ...] | None = None
    dtype: str | None = None
    delimiter: Annotated[str, msgspec.Meta(min_length=1, max_length=1)] | None = None
    header: bool | None = None

    def check(self) -> None:
        ending = self.ending
        if ending not in ENDINGS:
            raise SourceError(
                f"{self.file!r} ends in none of {', '.join(ENDINGS)}", "file", "file: data.npz"
            )
        for field in ("delimiter", "header"):
            if getattr(self, field) is not None and ending != ".csv":
                raise SourceError(f"{field} is for csv files only", field)
        if self.key is not None and ending == ".npy":
            raise SourceError("a npy file holds one array, without a key", "key")
        if isinstance(self.key, tuple) and ending != ".csv":
            raise SourceError("several keys are for csv files only", "key")
        check_dtype(self.dtype)

    @property
    def ending(self) -> str:
        """The end of the file's name, from the last dot, in small letters."""
        return "." + self.file.rpartition(".")[2].lower()


ENDINGS: Final = (".npy", ".npz", ".csv", ".safetensors")


class Call(Source, frozen=True, eq=False, kw_only=True):
    """What a function returns: `{call: module:function, seed: 0}`.

    Attributes:
        arguments: Keyword arguments, each a source of its own: literals are passed as
            the Python values they are, `{key: 0}` as a PRNG key.
    """

    word: ClassVar[str] = "call"
    needs_code: ClassVar[bool] = True
    call: str
    arguments: Mapping[str, Source] = MappingProxyType({})

    def check(self) -> None:
        check_reference(self.call, "call")
        for name, source in self.arguments.items():
            if isinstance(source, ShapeOnly):
                raise SourceError(
                    f"{name} has a shape, but no value", name, f"{name}: {{value: ...}}"
                )

    def to_data(self) -> object:
        data: dict[str, object] = {"call": self.call}
        data |= {name: source.to_data() for name, source in self.arguments.items()}
        return data if self.shape is None else data | {"shape": tree_data(self.shape)}


class Ref(Source, frozen=True, eq=False, kw_only=True):
    """An object as it is, such as an activation function: `{ref: module:name}`."""

    word: ClassVar[str] = "ref"
    needs_code: ClassVar[bool] = True
    ref: str

    def check(self) -> None:
        check_reference(self.ref, "ref")
