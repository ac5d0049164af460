"""Sources that make numbers: PRNG keys, random draws, ranges and filled arrays."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

import msgspec

from composer._sources.base import Source, SourceError, check_dtype
from composer._sources.shapes import Shape, ShapeTree

Seed: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
Size: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Number: TypeAlias = int | float


class Key(Source, frozen=True, eq=False, kw_only=True):
    """A typed PRNG key, or `split` of them, as `jax.random.key` makes it from a seed."""

    word: ClassVar[str] = "key"
    key: Seed
    split: Size | tuple[Size, ...] | None = None
    impl: Literal["threefry2x32", "rbg", "unsafe_rbg"] | None = None


DISTRIBUTIONS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...], str]]] = MappingProxyType(
    {
        "normal": ((), ("mean", "std"), "fcb"),
        "uniform": ((), ("low", "high"), "fb"),
        "truncated_normal": (("low", "high"), ("mean", "std"), "fb"),
        "exponential": ((), ("scale",), "fb"),
        "integers": (("low", "high"), (), "iu"),
        "bernoulli": ((), ("p",), "bool"),
    }
)
"""Required and optional parameters of each distribution, and how its dtypes begin."""


class Random(Source, frozen=True, eq=False, kw_only=True):
    """Random numbers, drawn by jax.random so that seed and dtype reproduce them.

    Attributes:
        random: normal, uniform, truncated_normal, exponential, integers or bernoulli.
        seed: As for `jax.random.key`.
        low, high: Bounds; high is excluded. truncated_normal cuts before it scales.
        mean, std: Of the normal distributions, 0 and 1 by default.
        scale: The mean of the exponential distribution, 1 by default.
        p: The probability of true, 0.5 by default.
    """

    word: ClassVar[str] = "random"
    random: Literal["normal", "uniform", "truncated_normal", "exponential", "integers", "bernoulli"]
    seed: Seed
    low: Number | None = None
    high: Number | None = None
    mean: Number | None = None
    std: Number | None = None
    scale: Number | None = None
    p: Number | None = None

    def check(self) -> None:
        required, optional, dtypes = DISTRIBUTIONS[self.random]
        shape = _sized(self.shape, "shape")
        if not _begins(shape.dtype, dtypes):
            fit = {"iu": "i32", "bool": "bool"}.get(dtypes, "f32")
            cure = f'shape: "{Shape(fit, shape.dims)}"'
            raise SourceError(f"{self.random} draws no {shape.dtype}", "shape", cure)
        for name in required:
            if getattr(self, name) is None:
                raise SourceError(f"{self.random} needs {name}", None, f"{name}: 0")
        for name in ("low", "high", "mean", "std", "scale", "p"):
            value = getattr(self, name)
            if value is not None and name not in required + optional:
                takes = ", ".join(required + optional) or "no parameter"
                raise SourceError(f"{self.random} takes {takes}, and no {name}", name)
            if self.random == "integers" and isinstance(value, float):
                raise SourceError(f"{name} of integers is a whole number", name)
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise SourceError(f"low is {self.low}, not below high, {self.high}", "low")
        if self.p is not None and not 0 <= self.p <= 1:
            raise SourceError(f"p is {self.p}, not a probability", "p", "p: 0.5")

    @property
    def size(self) -> Shape:
        """What is drawn: a shape of numbers."""
        return _sized(self.shape, "shape")


class Linspace(Source, frozen=True, eq=False, kw_only=True):
    """Evenly spaced numbers: `{linspace: [start, stop, count]}`, stop included."""

    word: ClassVar[str] = "linspace"
    linspace: tuple[Number, Number, Size]
    dtype: str | None = None

    def check(self) -> None:
        check_dtype(self.dtype)


class Logspace(Source, frozen=True, eq=False, kw_only=True):
    """Powers of `base`, evenly spaced exponents: `{logspace: [from, to, count]}`."""

    word: ClassVar[str] = "logspace"
    logspace: tuple[Number, Number, Size]
    base: Number = 10
    dtype: str | None = None

    def check(self) -> None:
        check_dtype(self.dtype)


class Geomspace(Source, frozen=True, eq=False, kw_only=True):
    """Numbers with a constant ratio: `{geomspace: [start, stop, count]}`."""

    word: ClassVar[str] = "geomspace"
    geomspace: tuple[Number, Number, Size]
    dtype: str | None = None

    def check(self) -> None:
        check_dtype(self.dtype)
        if not (self.geomspace[0] > 0 and self.geomspace[1] > 0):
            raise SourceError("start and stop of geomspace are above 0", "geomspace")


class Arange(Source, frozen=True, eq=False, kw_only=True):
    """`{arange: [stop]}`, `[start, stop]` or `[start, stop, step]`, stop excluded."""

    word: ClassVar[str] = "arange"
    arange: Annotated[tuple[Number, ...], msgspec.Meta(min_length=1, max_length=3)]
    dtype: str | None = None

    def check(self) -> None:
        check_dtype(self.dtype)
        if len(self.arange) == 3 and self.arange[2] == 0:
            raise SourceError("the step of arange is 0", "arange", "arange: [0, 10, 1]")


class Zeros(Source, frozen=True, eq=False, kw_only=True):
    """Zeros of a shape: `{zeros: "f32[3]"}`."""

    word: ClassVar[str] = "zeros"
    zeros: Shape

    def check(self) -> None:
        _filled(self.zeros, "zeros")


class Ones(Source, frozen=True, eq=False, kw_only=True):
    """Ones of a shape: `{ones: "f32[3]"}`."""

    word: ClassVar[str] = "ones"
    ones: Shape

    def check(self) -> None:
        _filled(self.ones, "ones")


class Full(Source, frozen=True, eq=False, kw_only=True):
    """One value repeated over a shape: `{full: "f32[3]", value: 2}`."""

    word: ClassVar[str] = "full"
    full: Shape
    value: bool | Number

    def check(self) -> None:
        dtype = _filled(self.full, "full").dtype
        if isinstance(self.value, bool) != (dtype == "bool"):
            raise SourceError(f"{str(self.value).lower()} is no value of {dtype}", "value")
        if isinstance(self.value, float) and dtype[0] in "iu":
            raise SourceError(f"{str(self.value).lower()} is no value of {dtype}", "value")


class Eye(Source, frozen=True, eq=False, kw_only=True):
    """The identity matrix: `{eye: 3}`."""

    word: ClassVar[str] = "eye"
    eye: Size
    dtype: str | None = None

    def check(self) -> None:
        check_dtype(self.dtype)


def _sized(tree: ShapeTree, field: str) -> Shape:
    """The one shape whose sizes are all numbers."""
    if not isinstance(tree, Shape):
        raise SourceError("needs one shape, with sizes", field, f'{field}: "f32[8, 3]"')
    if tree.names:
        example = Shape(tree.dtype, tuple(8 if d in tree.names else d for d in tree.dims))
        raise SourceError(
            f"{tree} names {tree.names[0]!r}: how many numbers to make must be said here",
            field,
            f'{field}: "{example}"',
        )
    return tree


def _filled(tree: ShapeTree, field: str) -> Shape:
    shape = _sized(tree, field)
    if shape.dtype == "key":
        raise SourceError("a PRNG key is made by {key: 0}", field, "{key: 0}")
    return shape


def _begins(dtype: str, dtypes: str) -> bool:
    if dtypes == "bool" or dtype in ("bool", "key"):
        return dtype == dtypes
    return dtype[0] in dtypes
