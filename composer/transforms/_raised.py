"""What checkify's checks find, by a call that is not compiled and may raise. Imports JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
import numpy as np
from jax.experimental import checkify

_NAN: Final = {"nan_checks", "float_checks", "automatic_checks", "all_checks"}
_DIV: Final = {"div_checks", "float_checks", "automatic_checks", "all_checks"}
_USER: Final = {"user_checks", "all_checks"}
_INDEX: Final = {"index_checks", "automatic_checks", "all_checks"}


def raised_or_value(fn: Callable[..., Any], sets: frozenset[str]) -> Callable[..., Any]:
    """A function that returns (error, output) of `fn`.

    The function's own checks raise by themselves where nothing is compiled; JAX's
    debugging modes raise for NaN and, for divisions by zero, for infinity. An index has
    no such twin: those checks alone are checkify's. The output behind a failed check is
    that of a run which makes no checks.
    """

    def eager(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = on_device((args, kwargs))
        text = _raised(fn, args, kwargs, sets)
        if sets & _INDEX and text is None:
            made = checkify.checkify(fn, errors=checkify.index_checks)
            text = made(*args, **kwargs)[0].get()
        error = checkify.init_error
        if text is not None:
            error, _ = checkify.checkify(lambda: checkify.check(False, text))()
        _, out = checkify.checkify(fn, errors=frozenset())(*args, **kwargs)
        return error, out

    return eager


def _raised(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], sets: frozenset[str]
) -> str | None:
    """What a call raises of what the checks are about; None if it raises nothing."""
    nan, infinity = bool(sets & (_NAN | _DIV)), bool(sets & _DIV)
    try:
        with jax.debug_nans(nan), jax.debug_infs(infinity):
            jax.block_until_ready(fn(*args, **kwargs))
    except checkify.JaxRuntimeError as error:
        return str(error) if sets & _USER else None
    except FloatingPointError as error:
        return str(error)
    return None


def on_device(tree: Any) -> Any:
    """NumPy's arrays as JAX's, for checkify sees nothing of what NumPy does.

    It hands the arguments on as they are; NumPy would divide by zero unseen. While JAX
    traces there are no NumPy arrays among them, so no program changes.
    """
    return jax.tree.map(
        lambda leaf: jax.numpy.asarray(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf,
        tree,
    )
