"""Meshes over the devices that exist; the first place that asks JAX for devices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from composer.errors import Place, SetupError, fail

if TYPE_CHECKING:
    import jax


def make_mesh(
    axes: Mapping[str, int] | jax.sharding.Mesh, word: str, place: Place | None
) -> jax.sharding.Mesh:
    """A mesh with the given axes over the first devices.

    Axes are Auto: with Explicit ones, JAX's default since 0.9, ordinary code on the
    outputs such as `y[0]` or `y.T @ y` fails.

    Raises:
        SetupError: CMP090, if there are fewer devices than the axes need.
    """
    if not isinstance(axes, Mapping):
        return axes
    devices = first_devices(math.prod(axes.values()), word, place)
    return _mesh(devices, tuple(axes.values()), tuple(axes))


def line_of_devices(devices: Sequence[jax.Device], axis_name: str) -> jax.sharding.Mesh:
    """A mesh with one Auto axis over the given devices, in their order."""
    return _mesh(devices, (len(devices),), (axis_name,))


def _mesh(
    devices: Sequence[jax.Device], shape: tuple[int, ...], names: tuple[str, ...]
) -> jax.sharding.Mesh:
    import numpy as np
    from jax.sharding import AxisType, Mesh

    grid = np.empty(len(devices), dtype=object)
    grid[:] = list(devices)
    return Mesh(grid.reshape(shape), names, axis_types=(AxisType.Auto,) * len(names))


def first_devices(
    count: int, word: str, place: Place | None, among: Sequence[jax.Device] | None = None
) -> Sequence[jax.Device]:
    """The first `count` devices, of all or of those given.

    Raises:
        SetupError: CMP090, if there are fewer.
    """
    import jax

    devices = jax.devices() if among is None else among
    if count > len(devices):
        raise fail(
            SetupError,
            "CMP090",
            f"{word} needs {count} devices, but {_have(len(devices))}",
            place=place,
            notes=[f"found: {', '.join(sorted({d.device_kind for d in devices}))}"],
            cure=f"run: {{simulate_devices: {count}}}     # or --devices {count}: on CPU",
        )
    return devices[:count]


def devices_by_id(wanted: object, word: str, place: Place | None) -> Sequence[jax.Device]:
    """Devices given by id, or as JAX's own objects.

    Raises:
        SetupError: CMP090, there is no device of an id, or one is given twice.
    """
    import jax

    several = wanted if isinstance(wanted, tuple) else (wanted,)
    by_id = {device.id: device for device in jax.devices()}
    for item in several:
        if several.count(item) > 1:
            raise fail(
                SetupError,
                "CMP090",
                f"{word}: devices holds {item} twice",
                place=place,
                cure="each device once",
            )
        if isinstance(item, int) and item not in by_id:
            raise fail(
                SetupError,
                "CMP090",
                f"{word}: there is no device {item}",
                place=place,
                notes=[f"devices: {', '.join(map(str, by_id))}"],
                cure=f"run: {{simulate_devices: {item + 1}}}     # or --devices {item + 1}: on CPU",
            )
    return [by_id[item] if isinstance(item, int) else item for item in several]


def _have(count: int) -> str:
    return "there is 1" if count == 1 else f"there are {count}"
