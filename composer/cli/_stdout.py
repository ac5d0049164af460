"""Keeping stdout for one document, whoever else prints."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from typing import TextIO


@contextlib.contextmanager
def stdout_aside() -> Iterator[TextIO]:
    """The real stdout; while this lasts, everything else that is printed goes to stderr.

    That holds for Python's print, for child processes and for what C++ writes to file
    descriptor 1: gloo, which JAX uses between processes, does so.
    """
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)
    try:
        with (
            os.fdopen(os.dup(real), "w", encoding="utf-8") as out,
            contextlib.redirect_stdout(sys.stderr),
        ):
            yield out
    finally:
        # What C still holds in its buffers must not follow onto the real stdout.
        ctypes.CDLL(None).fflush(None)
        os.dup2(real, 1)
        os.close(real)
