"""How many devices there are: simulated ones must be asked for before JAX looks."""

from __future__ import annotations

import jax

from composer.errors import Place, SetupError, fail


def simulate_devices(count: int, place: Place | None = None) -> None:
    """Let this process see `count` CPU devices, whatever hardware there is.

    Nothing happens where it sees as many already.

    Raises:
        SetupError: CMP092, if JAX has started its devices before, with another number.
    """
    try:
        jax.config.update("jax_num_cpu_devices", count)
        jax.config.update("jax_platforms", "cpu")
    except RuntimeError:
        found = jax.devices()
        if len(found) == count and found[0].platform == "cpu":
            return
        raise fail(
            SetupError,
            "CMP092",
            f"{count} devices cannot be simulated: JAX has started with {_counted(found)}",
            place=place,
            notes=[
                "their number is fixed by the first JAX call, also by one in an imported module"
            ],
            cure=f"composer run --devices {count} ...     # in a process of its own",
        ) from None


def _counted(found: list[jax.Device]) -> str:
    plural = "" if len(found) == 1 else "s"
    return f"{len(found)} {found[0].platform} device{plural}"
