"""Arrays from files: npy, npz, csv and safetensors."""

from __future__ import annotations

import csv
import itertools
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from composer._run.dtypes import Array
from composer._sources import File
from composer.errors import InputError, Place, SetupError, fail, nearest

_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")


def read_file(source: File, path: Path, place: Place | None) -> Array:
    """The array that a file source names, with the file's own dtype.

    Raises:
        InputError: CMP063, if the file cannot be read; CMP064, if it has no such key.
        SetupError: CMP091, if reading it needs a package that is not installed.
    """
    readers = {".npy": _npy, ".npz": _npz, ".csv": _csv, ".safetensors": _safetensors}
    try:
        return readers[source.ending](source, path, place)
    except FileNotFoundError:
        beside = path.parent.glob("*") if path.parent.is_dir() else ()
        there = {file.stem: file.name for file in beside if file.suffix in readers}
        close = there.get(nearest(path.stem, there) or "")
        raise fail(
            InputError,
            "CMP063",
            f"{source.file}: there is no such file",
            place=place,
            notes=[f"searched: {path}"],
            cure=f"file: {source.file.removesuffix(path.name)}{close}" if close else None,
        ) from None
    except (OSError, ValueError, EOFError, csv.Error, zipfile.BadZipFile) as error:
        raise unreadable(source, str(error).split("\n", 1)[0], place) from error


def unreadable(
    source: File, why: str, place: Place | None, cure: str | None = None
) -> InputError | SetupError:
    """The error for a file that is there, but cannot be read."""
    error = fail(InputError, "CMP063", f"{source.file}: {why}", place=place, cure=cure)
    assert isinstance(error, InputError)
    return error


def _npy(source: File, path: Path, place: Place | None) -> Array:
    found: Array = np.load(path, allow_pickle=False)
    return found


def _npz(source: File, path: Path, place: Place | None) -> Array:
    with np.load(path, allow_pickle=False) as arrays:
        found: Array = arrays[_key(source, list(arrays.files), place)]
        return found


def _safetensors(source: File, path: Path, place: Place | None) -> Array:
    try:
        import safetensors.numpy
    except ModuleNotFoundError:
        raise fail(
            SetupError,
            "CMP091",
            f"{source.file}: reading it needs the package safetensors, which is not installed",
            place=place,
            cure="pip install safetensors",
        ) from None
    try:
        arrays: Mapping[str, Array] = safetensors.numpy.load_file(path)
    except safetensors.SafetensorError as error:
        raise unreadable(source, str(error), place) from error
    return arrays[_key(source, list(arrays), place)]


def _key(source: File, known: Sequence[str], place: Place | None) -> str:
    """The key of the array to take: the given one, or the only one."""
    if source.key is None and len(known) == 1:
        return known[0]
    if isinstance(source.key, str) and source.key in known:
        return source.key
    if source.key is None:
        message, close = f"{source.file} holds {len(known)} arrays", next(iter(known), None)
    else:
        message = f"{source.file} has no {source.key!r}"
        close = nearest(str(source.key), known)
    raise _no_key(message, known, close, place)


def _no_key(
    message: str, known: Sequence[str], close: str | None, place: Place | None
) -> Exception:
    return fail(
        InputError,
        "CMP064",
        message,
        place=place,
        notes=[f"keys: {', '.join(known) or 'none'}"],
        cure=f"key: {close}" if close else None,
    )


def _csv(source: File, path: Path, place: Place | None) -> Array:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=source.delimiter or ",")
        rows = [(reader.line_num, row) for row in reader if row]
    if not rows:
        raise unreadable(source, "there are no rows in it", place)
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            why = f"line {line} has {len(row)} columns, but the first row has {width}"
            raise unreadable(source, why, place, "delimiter: ';'     # if another one is used")
    named = source.header
    if named is None:
        named = not all(_is_number(cell) for cell in rows[0][1])
    header = [cell.strip() for cell in rows[0][1]] if named else []
    return _columns(source, header, rows[1:] if named else rows, width, place)


def _columns(
    source: File,
    header: list[str],
    rows: list[tuple[int, list[str]]],
    width: int,
    place: Place | None,
) -> Array:
    if source.key is None:
        picked = list(range(width))
    else:
        names = [source.key] if isinstance(source.key, str) else list(source.key)
        picked = [_column(source, name, header, place) for name in names]
    cells = [[row[i] for i in picked] for _, row in rows]
    for (line, _), row in zip(rows, cells, strict=True):
        for i, cell in zip(picked, row, strict=True):
            if not _is_number(cell):
                raise _no_number(source, header, (line, i, cell), rows, place)
    whole = all(_WHOLE.fullmatch(cell) for cell in itertools.chain(*cells))
    # Through Python's own numbers: int64 would refuse, and float64 round, a longer text.
    values = [[int(cell) if whole else float(cell) for cell in row] for row in cells]
    table: Array = np.array(values, np.int64 if whole else np.float64).reshape(-1, len(picked))
    return table[:, 0] if isinstance(source.key, str) else table


def _column(source: File, name: str, header: list[str], place: Place | None) -> int:
    if header.count(name) == 1:
        return header.index(name)
    if not header:
        message = f"{source.file} has no header, so no column {name!r}"
    elif name in header:
        message = f"{source.file} has {header.count(name)} columns {name!r}"
    else:
        message = f"{source.file} has no column {name!r}"
    raise _no_key(message, header, nearest(name, set(header) - {name}), place)


def _no_number(
    source: File,
    header: list[str],
    where: tuple[int, int, str],
    rows: list[tuple[int, list[str]]],
    place: Place | None,
) -> Exception:
    line, column, cell = where
    shown = header[column] if header else f"number {column + 1}"
    numeric = [n for i, n in enumerate(header) if all(_is_number(row[i]) for _, row in rows)]
    cure = f"key: [{', '.join(numeric)}]" if numeric and source.key is None else None
    return unreadable(source, f"line {line}, column {shown}: {cell!r} is no number", place, cure)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
