"""The pixel work of a robust fit and of the test that compares tiles, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.compiled import compiled
from rankfold.sums import FREE

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int_]

# Tiles are compared at all whole shifts within this, px along each axis. It is a constant of the
# compiled code, and LANES, which holds 2 REACH + 1 shifts, fills whole vectors of the processor.
REACH = 6
LANES = 16


@compiled()
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


@compiled(fastmath=FREE, forceinline=True)
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


@compiled()
def tile_peaks(
    picture: Array,
    seen: Array,
    predicted: Array,
    squares: Array,
    totals: Floats,
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
    picture, seen : (h, w) arrays
        The picture is zero where it is not seen; ``seen`` is one there and zero elsewhere.
    predicted, squares : (h + 2 REACH, w + LANES - 1) arrays
        What the picture should look like, with REACH zeros before it along both axes, and its
        squares.
    totals : (h + 2 REACH + 1, w + LANES) array
        Sums of the squares over all pixels above and to the left.
    rows, columns : (k + 1,) and (l + 1,) arrays
        Where the tiles begin; the last entry is where the last one ends.
    floor : float
        A share of the prediction's power in the tile that is added to its power at any shift, so
        that an empty place is no good one.
    peaks, distances, energies : (k, l) arrays
        Written: the largest normalised correlation, how far away it is (px), and the sum of
        squares of the picture in the tile.
    """
    products = np.empty((2, 2 * REACH + 1, LANES), predicted.dtype)
    powers = products[1]
    for i in range(len(rows) - 1):
        for j in range(len(columns) - 1):
            place = (rows[i], rows[i + 1], columns[j], columns[j + 1])
            energy = 0.0
            whole = True
            for y in range(rows[i], rows[i + 1]):
                for x in range(columns[j], columns[j + 1]):
                    energy += picture[y, x] * picture[y, x]
                    whole &= seen[y, x] > 0
            shifted_sums(picture, predicted, place, products[0])
            if whole:
                shifted_totals(totals, place, powers)
            else:
                shifted_sums(seen, squares, place, powers)
            least = floor * powers[REACH, REACH]
            best = 0.0
            distance = np.inf
            for down in range(2 * REACH + 1):
                for k in range(2 * REACH + 1):
                    scale = energy * (powers[down, k] + least)
                    if scale > 0 and products[0, down, k] / np.sqrt(scale) > best:
                        best = products[0, down, k] / np.sqrt(scale)
                        distance = np.sqrt((down - REACH) ** 2 + (k - REACH) ** 2)
            peaks[i, j] = best
            distances[i, j] = distance
            energies[i, j] = energy


@compiled()
def shifted_totals(totals: Floats, place: tuple[int, int, int, int], sums: Array) -> None:
    """Sums over a tile at all shifts, (2 REACH + 1, LANES), from sums above and to the left."""
    top, bottom, left, right = place
    for down in range(2 * REACH + 1):
        above = totals[top + down]
        below = totals[bottom + down]
        for k in range(2 * REACH + 1):
            sums[down, k] = below[right + k] - below[left + k] - above[right + k] + above[left + k]


@compiled()
def shifted_sums(
    picture: Array, other: Array, place: tuple[int, int, int, int], sums: Array
) -> None:
    """Inner products of a tile with another picture at all shifts, (2 REACH + 1, LANES)."""
    top, bottom, left, right = place
    for down in range(2 * REACH + 1):
        total = sums[down]
        for k in range(LANES):
            total[k] = 0
        for y in range(top, bottom):
            line = picture[y]
            there = other[y + down]
            x = left
            # All shifts along the row at once, so that the loop is vectorised; four pixels at a
            # time, because every sum has to wait for the one before it.
            while x + 4 <= right:
                one, two, three, four = line[x], line[x + 1], line[x + 2], line[x + 3]
                first = there[x : x + LANES]
                second = there[x + 1 : x + 1 + LANES]
                third = there[x + 2 : x + 2 + LANES]
                fourth = there[x + 3 : x + 3 + LANES]
                for k in range(LANES):
                    total[k] += (one * first[k] + two * second[k]) + (
                        three * third[k] + four * fourth[k]
                    )
                x += 4
            while x < right:
                value = line[x]
                rest = there[x : x + LANES]
                for k in range(LANES):
                    total[k] += value * rest[k]
                x += 1
