"""Values of any range as bytes that a screen can show."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

# At most about so many values are looked at: percentiles of more take seconds and tell the same.
MAX_VALUES = 1_000_000
# Percentiles that count as black and white. Single extreme pixels (dead ones, stars) lie outside.
DARK_PERCENTILE = 0.5
BRIGHT_PERCENTILE = 99.5


def display_range(values: list[Array]) -> tuple[float, float]:
    """Find the nearly darkest and the nearly brightest of some values.

    Parameters
    ----------
    values : list of arrays of any shape
        All of them share one range. NaN and infinity are left out.

    Returns
    -------
    low, high : float
        ``high`` is always above ``low``; (0, 1) where there is no finite value.
    """
    total = sum(array.size for array in values)
    step = max(total // MAX_VALUES, 1)
    some = np.concatenate([array.ravel()[::step] for array in values])
    some = some[np.isfinite(some)]
    if not some.size:
        return 0.0, 1.0
    low, high = np.percentile(some, [DARK_PERCENTILE, BRIGHT_PERCENTILE])
    return float(low), float(max(high, low + 1e-12))


def as_bytes(values: Array, low: float, high: float) -> Bytes:
    """Map ``low`` .. ``high`` to 0 .. 255 and NaN to 0.

    Parameters
    ----------
    values : array of any shape
    low, high : float
        What becomes black and white; values beyond them are clipped.

    Returns
    -------
    uint8 array of the same shape
    """
    levels = (values - low) * (255 / (high - low))
    clipped = np.clip(np.nan_to_num(levels), 0, 255)
    return np.asarray(clipped.astype(np.uint8))
