"""Where the values of arguments come from: `args:` of a pipeline, as checked data."""

from composer._dtypes import LONG_NAMES
from composer._sources.base import WORDS, Source, SourceError, check_reference
from composer._sources.numbers import (
    Arange,
    Eye,
    Full,
    Geomspace,
    Key,
    Linspace,
    Logspace,
    Ones,
    Random,
    Zeros,
)
from composer._sources.parse import KINDS, needs_code, parse_source
from composer._sources.plain import Call, File, Ref, ShapeOnly, Value
from composer._sources.shapes import (
    Shape,
    ShapeError,
    ShapeTree,
    leaves,
    looks_like_shape,
    parse_shape,
    parse_tree,
    tree_data,
)

__all__ = [
    "KINDS",
    "LONG_NAMES",
    "WORDS",
    "Arange",
    "Call",
    "Eye",
    "File",
    "Full",
    "Geomspace",
    "Key",
    "Linspace",
    "Logspace",
    "Ones",
    "Random",
    "Ref",
    "Shape",
    "ShapeError",
    "ShapeOnly",
    "ShapeTree",
    "Source",
    "SourceError",
    "Value",
    "Zeros",
    "check_reference",
    "leaves",
    "looks_like_shape",
    "needs_code",
    "parse_shape",
    "parse_source",
    "parse_tree",
    "tree_data",
]
