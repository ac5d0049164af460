"""Outputs -> a file: npz, npy, json or safetensors; whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

import jax
import jax.numpy as jnp
import numpy as np

from composer._reference import inside_project
from composer._run.dtypes import Array
from composer._run.outputs import named_leaves
from composer._signature import UNKNOWN_OUTPUT, Output
from composer.errors import ComposerError, InputError, Place, SetupError, fail

JSON_LIMIT: Final = 100_000
"""How many numbers a json file may hold: it is for small results that people read."""


def destination(
    file: str, folder: Path | None, place: Place | None = None, allow_outside: bool = False
) -> Path:
    """Where to write, checked before anything is computed.

    Raises:
        InputError: CMP068, outside the project; CMP070, if the ending is none of ours or
            the path cannot be a file.
        SetupError: CMP091, if writing it needs a package that is not installed.
    """
    path = inside_project(file, folder, place, allow_outside)
    if path.suffix.lower() not in _WRITERS:
        message = f"{file} ends in none of {', '.join(_WRITERS)}"
        raise fail(InputError, "CMP070", message, place=place, cure=f"{path.stem}.npz")
    if path.is_dir():
        raise fail(InputError, "CMP070", f"{file} is a folder", place=place)
    if path.suffix.lower() == ".safetensors":
        _safetensors(place)
    return path


def write_outputs(
    outputs: object, path: Path, names: Output = UNKNOWN_OUTPUT, place: Place | None = None
) -> None:
    """Write every array under its name; a file that was there is replaced at once.

    Raises:
        InputError: CMP070, if the kind of file cannot hold the outputs, or the system
            refuses to write.
    """
    arrays: dict[str, Array] = {}
    for name, leaf in named_leaves(outputs, names):
        if name in arrays:
            raise _refused(f"two outputs are called {name!r}", place, "names in `returns:`")
        if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            cure = "jax.random.key_data in the function, or a select layer that drops it"
            raise _refused(f"{name} holds PRNG keys, which no file holds", place, cure)
        arrays[name] = np.asarray(leaf, order="C")
    try:
        with replacing(path) as file:
            _WRITERS[path.suffix.lower()](file, arrays, place)
    except OSError as error:
        raise _refused(f"{path.name}: {error.strerror or error}", place, None) from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place once it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _refused(message: str, place: Place | None, cure: str | None) -> ComposerError:
    return fail(InputError, "CMP070", message, place=place, cure=cure)


def _check_numpy(arrays: Mapping[str, Array], place: Place | None) -> None:
    for name, array in arrays.items():
        if array.dtype.kind == "V":
            message = f"{name} is {array.dtype.name}, which npy and npz cannot tell"
            raise _refused(message, place, "a file that ends in .safetensors")


def _npz(file: BinaryIO, arrays: Mapping[str, Array], place: Place | None) -> None:
    # np.savez takes the names as keywords, and so cannot write one that is called `file`.
    _check_numpy(arrays, place)
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _npy(file: BinaryIO, arrays: Mapping[str, Array], place: Place | None) -> None:
    _check_numpy(arrays, place)
    if len(arrays) != 1:
        message = f"a npy file holds one array, but there are {len(arrays)} outputs"
        raise _refused(message, place, "a file that ends in .npz")
    [array] = arrays.values()
    np.lib.format.write_array(file, array, allow_pickle=False)


def _json(file: BinaryIO, arrays: Mapping[str, Array], place: Place | None) -> None:
    count = sum(array.size for array in arrays.values())
    if count > JSON_LIMIT:
        message = f"json is for up to {JSON_LIMIT} numbers, but there are {count}"
        raise _refused(message, place, "a file that ends in .npz")
    for name, array in arrays.items():
        if array.dtype.kind == "c" or not np.isfinite(array.astype(np.float64)).all():
            message = f"{name} holds numbers that json does not know"
            raise _refused(message, place, "a file that ends in .npz")
    data = {name: array.tolist() for name, array in arrays.items()}
    file.write(json.dumps(data, allow_nan=False, indent=1).encode() + b"\n")


def _tensors(file: BinaryIO, arrays: Mapping[str, Array], place: Place | None) -> None:
    save, problem = _safetensors(place)
    try:
        file.write(save(dict(arrays)))
    except (problem, KeyError, ValueError) as error:
        raise _refused(f"safetensors: {error}", place, "a file that ends in .npz") from error


def _safetensors(
    place: Place | None,
) -> tuple[Callable[[dict[str, Array]], bytes], type[Exception]]:
    try:
        import safetensors.numpy
    except ModuleNotFoundError:
        raise fail(
            SetupError,
            "CMP091",
            "writing safetensors needs the package safetensors, which is not installed",
            place=place,
            cure="pip install safetensors",
        ) from None
    return safetensors.numpy.save, safetensors.SafetensorError


_WRITERS: Final[Mapping[str, Callable[[BinaryIO, Mapping[str, Array], Place | None], None]]] = {
    ".npz": _npz,
    ".npy": _npy,
    ".json": _json,
    ".safetensors": _tensors,
}
