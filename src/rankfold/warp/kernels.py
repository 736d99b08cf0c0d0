"""The cubic B-spline, evaluated at mapped grid points: values, gradient of the same spline, validity, in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from rankfold.sums import FREE, PIECE

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

EDGE = 1e-6  # px: how far outside the outermost pixel centre rounding may put a point that is on it


@njit(cache=True, nogil=True)
def sample(
    planes: Floats,
    cells: Bools,
    matrix: Floats,
    height: int,
    width: int,
    values: Array,
    gradient: Array,
    valid: Bools,
) -> None:
    """Evaluate the spline with coefficients ``planes`` (c, h + 2, w + 2) at T(x, y) for the grid (height, width).

    The coefficients of the picture have one more around them, mirrored. Writes ``values`` (c, m), ``gradient``
    (c, 2, m) with respect to source x and y (skipped if it is empty) and ``valid`` (m,). ``cells`` (h + 2, w + 2) says
    where all pixels that a point of the cell depends on may be used; empty, everywhere. Missing pixels get zeros.

    A few rows of the grid are done at a time, in loops of one kind of work each: the compiler vectorises all but the
    last, in which the four columns of a cell are added up side by side.
    """
    channels, h, w = len(planes), planes.shape[1] - 2, planes.shape[2] - 2
    derive, stride = gradient.size > 0, np.uint64(w + 2)
    together = min(max(PIECE // width, 1), height) * width
    places = np.empty((3, together))
    wx, wy, dx, dy = (
        np.empty((4, together)),
        np.empty((4, together)),
        np.empty((4, together)),
        np.empty((4, together)),
    )
    corners, columns = np.empty(together, np.uint64), np.arange(width).astype(np.float64)
    for first in range(0, height * width, together):
        size = min(together, height * width - first)
        here = slice(first, first + size)
        xs, ys, zs, seen = places[0, :size], places[1, :size], places[2, :size], valid[here]
        for k in range(0, size, width):
            on = slice(k, k + width)
            map_row(matrix, (first + k) // width, columns, xs[on], ys[on], zs[on])
        find_cells(xs, ys, zs, h, w, corners, seen)
        if cells.size > 0:
            known = cells.ravel()
            for k in range(size):
                seen[k] &= known[corners[k]]
        weights(xs, wx)
        weights(ys, wy)
        if derive:
            slopes(xs, dx)
            slopes(ys, dy)
        for c in range(channels):
            plane, to = planes[c].ravel(), values[c, here]
            if not derive:
                for k in range(size):
                    share = 1.0 if seen[k] else 0.0
                    to[k] = across(down(plane, corners[k], stride, wy, k), wx, k) * share
                continue
            along, below = gradient[c, 0, here], gradient[c, 1, here]
            for k in range(size):
                share = 1.0 if seen[k] else 0.0
                lines, tilts = (
                    down(plane, corners[k], stride, wy, k),
                    down(plane, corners[k], stride, dy, k),
                )
                to[k] = across(lines, wx, k) * share
                along[k] = across(lines, dx, k) * share
                below[k] = across(tilts, wx, k) * share


@njit(cache=True, nogil=True)
def sample_many(
    planes: Floats,
    cells: Bools,
    matrices: Floats,
    height: int,
    width: int,
    values: Array,
    valid: Bools,
) -> None:
    """Values (k, c, m) and validity (k, m) at several transforms (k, 3, 3)."""
    nothing = np.empty((0, 2, height * width), values.dtype)
    for k in range(len(matrices)):
        sample(planes, cells, matrices[k], height, width, values[k], nothing, valid[k])


@njit(cache=True, nogil=True)
def map_row(matrix: Floats, row: int, columns: Floats, xs: Floats, ys: Floats, zs: Floats) -> None:
    """Source coordinates of a row of the grid, and what they were divided by. ``columns`` counts, as floats."""
    a, b, c = matrix[0, 0], matrix[1, 0], matrix[2, 0]
    x = matrix[0, 1] * row + matrix[0, 2]
    y = matrix[1, 1] * row + matrix[1, 2]
    z = matrix[2, 1] * row + matrix[2, 2]
    for k in range(len(zs)):
        zs[k] = c * columns[k] + z
    if c == 0:  # the divisor is the same along the row
        scale = 1 / z if z > 0 else 0.0
        for k in range(len(zs)):
            xs[k] = (a * columns[k] + x) * scale
        for k in range(len(zs)):
            ys[k] = (b * columns[k] + y) * scale
        return
    for k in range(len(zs)):
        over = 1 / zs[k] if zs[k] > 0 else 0.0
        xs[k] = (a * columns[k] + x) * over
        ys[k] = (b * columns[k] + y) * over


@njit(cache=True, nogil=True)
def find_cells(
    xs: Floats, ys: Floats, zs: Floats, h: int, w: int, corners: Array, seen: Bools
) -> None:
    """Where in a flat plane the sixteen coefficients of each point begin, its place (xs, ys) in its cell, and validity.

    Behind a homography's horizon there is no picture, nor outside the outermost pixel centres.
    """
    for k in range(len(xs)):
        x, y = xs[k], ys[k]
        seen[k] = (
            (zs[k] > 0) & (x >= -EDGE) & (x <= w - 1 + EDGE) & (y >= -EDGE) & (y <= h - 1 + EDGE)
        )
    right, bottom, stride = float(w - 2), float(h - 2), float(w + 2)
    for k in range(len(xs)):  # in floating point, which is exact here and stays in vectors
        x, y = max(xs[k], 0.0) if seen[k] else 0.0, max(ys[k], 0.0) if seen[k] else 0.0
        j, i = min(np.floor(x), right), min(np.floor(y), bottom)
        xs[k], ys[k], zs[k] = x - j, y - i, i * stride + j
    for k in range(len(xs)):
        corners[k] = np.int64(zs[k])


@njit(cache=True, nogil=True)
def weights(ts: Floats, out: Floats) -> None:
    """Weights (4, m) of the four cubic B-splines that reach the points t in [0, 1] of a cell."""
    one, two, three, four = out[0], out[1], out[2], out[3]
    for k in range(len(ts)):
        t = ts[k]
        s = 1.0 - t
        one[k] = s * s * s * (1 / 6)
    for k in range(len(ts)):
        t = ts[k]
        two[k] = 2 / 3 - t * t * (1 - t / 2)
    for k in range(len(ts)):
        s = 1.0 - ts[k]
        three[k] = 2 / 3 - s * s * (1 - s / 2)
    for k in range(len(ts)):
        t = ts[k]
        four[k] = t * t * t * (1 / 6)


@njit(cache=True, nogil=True)
def slopes(ts: Floats, out: Floats) -> None:
    """Their derivatives."""
    one, two, three, four = out[0], out[1], out[2], out[3]
    for k in range(len(ts)):
        s = 1.0 - ts[k]
        one[k] = -s * s / 2
    for k in range(len(ts)):
        t = ts[k]
        two[k] = t * (1.5 * t - 2)
    for k in range(len(ts)):
        s = 1.0 - ts[k]
        three[k] = s * (2 - 1.5 * s)
    for k in range(len(ts)):
        t = ts[k]
        four[k] = t * t / 2


@njit(cache=True, nogil=True, inline="always")
def down(plane: Floats, corner: Any, stride: Any, weight: Floats, k: int) -> Any:
    """The four columns of the cell at ``corner``, each weighted along y. Unsigned: no index counts from the end."""
    a, b, c, d = weight[0, k], weight[1, k], weight[2, k], weight[3, k]
    top, up = corner, corner + stride
    low, bottom = up + stride, up + stride + stride
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    return (
        a * plane[top] + b * plane[up] + c * plane[low] + d * plane[bottom],
        a * plane[top + one] + b * plane[up + one] + c * plane[low + one] + d * plane[bottom + one],
        a * plane[top + two] + b * plane[up + two] + c * plane[low + two] + d * plane[bottom + two],
        a * plane[top + three]
        + b * plane[up + three]
        + c * plane[low + three]
        + d * plane[bottom + three],
    )


@njit(cache=True, nogil=True, inline="always")
def across(lines: Any, weight: Floats, k: int) -> Any:
    """Four columns, weighted along x."""
    return (
        weight[0, k] * lines[0]
        + weight[1, k] * lines[1]
        + weight[2, k] * lines[2]
        + weight[3, k] * lines[3]
    )


@njit(cache=True, nogil=True)
def try_out(
    planes: Floats,
    cells: Bools,
    matrix: Floats,
    height: int,
    width: int,
    row: Array,
    valid: Bools,
    target: Array,
) -> Any:
    """Sample a picture and :func:`compare` it; one that loses half of the pixels is infinitely far."""
    channels, m = len(planes), height * width
    trial, seen = np.empty((channels, m), row.dtype), np.empty(m, np.bool_)
    sample(planes, cells, matrix, height, width, trial, np.empty((0, 2, m), row.dtype), seen)
    before, after, count = compare(trial, seen, row, valid, target)
    if 2 * count < np.count_nonzero(valid):
        return 0.0, np.inf
    return before, after


@njit(cache=True, nogil=True, fastmath=FREE)
def compare(trial: Array, seen: Bools, row: Array, valid: Bools, target: Array) -> Any:
    """L1 distance of a row and of a trial from a target, over the pixels that both of them see.

    ``trial`` (c, m) with ``seen`` (m,) is scaled to the norm that ``row`` (c m,) has on those pixels. Also returns how
    many they are; a trial of norm zero is infinitely far.
    """
    channels, m = trial.shape
    count, size, norm = 0, 0.0, 0.0
    for c in range(channels):
        pixels, old, known = trial[c], row[c * m : (c + 1) * m], valid[c * m : (c + 1) * m]
        for j in range(m):
            both = seen[j] & known[j]
            count += both
            size += pixels[j] * pixels[j] * both
            norm += old[j] * old[j] * both
    if size == 0:
        return 0.0, np.inf, count
    scale = np.sqrt(norm / size)
    before, after = 0.0, 0.0
    for c in range(channels):
        pixels, old, known = trial[c], row[c * m : (c + 1) * m], valid[c * m : (c + 1) * m]
        goal = target[c * m : (c + 1) * m]
        for j in range(m):
            both = seen[j] & known[j]
            before += abs(old[j] - goal[j]) * both
            after += abs(pixels[j] * scale - goal[j]) * both
    return before, after, count
