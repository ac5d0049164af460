"""Data on the host."""

import numpy as np


def numbers():
    """0, 1, 2, 3 as NumPy's float32."""
    return np.arange(4, dtype=np.float32)
