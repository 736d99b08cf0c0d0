"""The pixel work of a robust fit and of the test that compares tiles, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from rankfold.sums import FREE

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int_]

# Tiles are compared at all whole shifts within this, px along each axis. It is a constant of the
# compiled code, and LANES, which holds 2 REACH + 1 shifts, fills whole vectors of the processor.
REACH = 6
LANES = 16


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


@njit(cache=True, nogil=True)
def tile_peaks(
    picture: Array,
    valid: Bools,
    predicted: Array,
    rows: Ints,
    columns: Ints,
    floor: float,
    peaks: Floats,
    distances: Floats,
    energies: Floats,
) -> None:
    """For every tile of a picture, find the shift at which it looks most like a prediction.

    Parameters
    ----------
    picture, valid : (h, w) arrays
    predicted : (h + 2 REACH, w + LANES - 1) array
        What the picture should look like, with REACH zeros before it along both axes.
    rows, columns : (k + 1,) and (l + 1,) arrays
        Where the tiles begin; the last entry is where the last one ends.
    floor : float
        A share of the prediction's power in the tile that is added to its power at any shift, so
        that an empty place is no good one.
    peaks, distances, energies : (k, l) arrays
        Written: the largest normalised correlation, how far away it is (px), and the sum of
        squares of the picture in the tile.
    """
    products = np.empty(LANES, predicted.dtype)
    powers = np.empty(LANES, predicted.dtype)
    for i in range(len(rows) - 1):
        for j in range(len(columns) - 1):
            energy = 0.0
            power = 0.0
            for y in range(rows[i], rows[i + 1]):
                for x in range(columns[j], columns[j + 1]):
                    if valid[y, x]:
                        energy += picture[y, x] * picture[y, x]
                        power += predicted[y + REACH, x + REACH] ** 2
            best = 0.0
            distance = np.inf
            for down in range(2 * REACH + 1):
                products[:] = 0
                powers[:] = 0
                for y in range(rows[i], rows[i + 1]):
                    for x in range(columns[j], columns[j + 1]):
                        if valid[y, x]:
                            value = picture[y, x]
                            # All shifts along the row at once, so that the loop is vectorised.
                            for k in range(LANES):
                                there = predicted[y + down, x + k]
                                products[k] += value * there
                                powers[k] += there * there
                for k in range(2 * REACH + 1):
                    scale = energy * (powers[k] + floor * power)
                    if scale > 0 and products[k] / np.sqrt(scale) > best:
                        best = products[k] / np.sqrt(scale)
                        distance = np.sqrt((down - REACH) ** 2 + (k - REACH) ** 2)
            peaks[i, j] = best
            distances[i, j] = distance
            energies[i, j] = energy
