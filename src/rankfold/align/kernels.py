"""The pixel work of a robust fit, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from rankfold.sums import FREE

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


@njit(cache=True, nogil=True)
def reweigh(
    rows: Array, fitted: Array, valid: Bools, square: float, weight: Array, weighted: Array
) -> None:
    """Weights (c²/(c² + r²))² of residuals r = rows - fitted, and the rows times them.

    ``square`` is c². A pixel that is not valid has no weight.
    """
    one = rows.dtype.type(square)
    for i in range(len(rows)):
        row = rows[i]
        fit = fitted[i]
        seen = valid[i]
        w = weight[i]
        product = weighted[i]
        for j in range(len(row)):
            r = row[j] - fit[j]
            share = one / (r * r + one)
            w[j] = share * share * seen[j]
        for j in range(len(row)):
            product[j] = w[j] * row[j]


@njit(cache=True, nogil=True, fastmath=FREE, forceinline=True)
def misfit(row: Array, fit: Array, seen: Bools, square: float) -> float:
    """Mean of r²/(r² + c²) over the valid pixels."""
    total = 0.0
    count = 0
    for j in range(len(row)):
        r = row[j] - fit[j]
        total += r * r / (r * r + square) * seen[j]
    for j in range(len(row)):
        count += seen[j]
    return total / max(count, 1)
