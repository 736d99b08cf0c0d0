"""The cubic B-spline, evaluated at mapped grid points: values, gradient of the same spline, validity, in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from rankfold.sums import dot

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

PIECE = 512  # values of a row that are recombined at a time
EDGE = 1e-6  # px: how far outside the outermost pixel centre rounding may put a point that is on it


@njit(cache=True, nogil=True)
def sample(
    coefficients: Floats,
    cells: npt.NDArray[np.bool_],
    matrix: Floats,
    height: int,
    width: int,
    values: Array,
    gradient: Array,
    valid: npt.NDArray[np.bool_],
) -> None:
    """Evaluate the spline with ``coefficients`` (c, h, w) at T(x, y) for the grid (height, width).

    Writes ``values`` (c, m), ``gradient`` (c, 2, m) with respect to source x and y (skipped if it is empty) and
    ``valid`` (m,). ``cells`` (h, w) says where all pixels that a point of the cell depends on may be used; empty,
    everywhere. Missing pixels get zeros.
    """
    channels, h, w = coefficients.shape
    derive, masked = gradient.size > 0, cells.size > 0
    xs, ys, zs = np.empty(width), np.empty(width), np.empty(width)
    for row in range(height):
        map_row(matrix, row, xs, ys, zs)
        for column in range(width):
            k = row * width + column
            x, y = xs[column], ys[column]
            inside = zs[column] > 0  # behind a homography's horizon there is no picture
            if inside:
                inside = -EDGE <= x <= w - 1 + EDGE and -EDGE <= y <= h - 1 + EDGE
            if inside:
                j, i = min(max(int(x), 0), w - 2), min(max(int(y), 0), h - 2)
                inside = not masked or cells[i, j]
            valid[k] = inside
            if not inside:
                values[:, k] = 0
                if derive:
                    gradient[:, :, k] = 0
                continue
            # unsigned, or every access would ask whether the index counts from the end
            columns = np.uint64(mirror(j - 1, w)), np.uint64(j), np.uint64(j + 1), np.uint64(mirror(j + 2, w))
            top, up = np.uint64(mirror(i - 1, h)), np.uint64(i)
            down, bottom = np.uint64(i + 1), np.uint64(mirror(i + 2, h))
            wx, wy = weights(x - j), weights(y - i)
            for c in range(channels):
                plane = coefficients[c]
                lines = (
                    line(plane, top, columns, wx),
                    line(plane, up, columns, wx),
                    line(plane, down, columns, wx),
                    line(plane, bottom, columns, wx),
                )
                values[c, k] = across(lines, wy)
                if derive:
                    dx, dy = slopes(x - j), slopes(y - i)
                    tilts = (
                        line(plane, top, columns, dx),
                        line(plane, up, columns, dx),
                        line(plane, down, columns, dx),
                        line(plane, bottom, columns, dx),
                    )
                    gradient[c, 0, k] = across(tilts, wy)
                    gradient[c, 1, k] = across(lines, dy)


@njit(cache=True, nogil=True)
def chain(gradient: Array, matrix: Floats, derivative: Floats, height: int, width: int, out: Array) -> None:
    """Derivative ``out`` (p, c, m) by the parameters from the picture's own (c, 2, m), by the chain rule.

    ``derivative`` (p, 3, 3) is that of the matrix: a point (h_1 u, h_2 u) / h_3 u moves by the quotient rule.
    """
    channels, p = gradient.shape[0], derivative.shape[0]
    zs, xs, ys = np.empty(width), np.empty(width), np.empty(width)
    over, du, dv = np.empty(width), np.empty(width), np.empty(width)
    for row in range(height):
        map_row(matrix, row, xs, ys, zs)
        for column in range(width):
            over[column] = 1 / zs[column] if zs[column] > 0 else 0.0
        for k in range(p):
            d = derivative[k]
            a, b, z = (d[0, 1] * row + d[0, 2], d[1, 1] * row + d[1, 2], d[2, 1] * row + d[2, 2])
            for column in range(width):
                tilt = d[2, 0] * column + z
                du[column] = (d[0, 0] * column + a - xs[column] * tilt) * over[column]
                dv[column] = (d[1, 0] * column + b - ys[column] * tilt) * over[column]
            for c in range(channels):
                gx = gradient[c, 0, row * width : (row + 1) * width]
                gy = gradient[c, 1, row * width : (row + 1) * width]
                to = out[k, c, row * width : (row + 1) * width]
                for column in range(width):
                    to[column] = gx[column] * du[column] + gy[column] * dv[column]


@njit(cache=True, nogil=True)
def map_row(matrix: Floats, row: int, xs: Floats, ys: Floats, zs: Floats) -> None:
    """Source coordinates of a row of the grid, and what they were divided by."""
    a, b, c = matrix[0, 0], matrix[1, 0], matrix[2, 0]
    x = matrix[0, 1] * row + matrix[0, 2]
    y = matrix[1, 1] * row + matrix[1, 2]
    z = matrix[2, 1] * row + matrix[2, 2]
    for column in range(len(zs)):
        zs[column] = c * column + z
    for column in range(len(zs)):
        over = 1 / zs[column] if zs[column] > 0 else 0.0
        xs[column] = (a * column + x) * over
        ys[column] = (b * column + y) * over


@njit(cache=True, nogil=True, inline="always")
def line(plane: Floats, row: Any, columns: Any, weight: Any) -> Any:
    """Four coefficients of a row, weighted."""
    return (
        weight[0] * plane[row, columns[0]]
        + weight[1] * plane[row, columns[1]]
        + weight[2] * plane[row, columns[2]]
        + weight[3] * plane[row, columns[3]]
    )


@njit(cache=True, nogil=True, inline="always")
def across(lines: Any, weight: Any) -> Any:
    """Four lines, weighted."""
    return weight[0] * lines[0] + weight[1] * lines[1] + weight[2] * lines[2] + weight[3] * lines[3]


@njit(cache=True, nogil=True, inline="always")
def weights(t: float) -> tuple[float, float, float, float]:
    """Weights of the four cubic B-splines that reach the point t in [0, 1] of a cell."""
    s = 1.0 - t
    return s * s * s * (1 / 6), 2 / 3 - t * t * (1 - t / 2), 2 / 3 - s * s * (1 - s / 2), t * t * t * (1 / 6)


@njit(cache=True, nogil=True, inline="always")
def slopes(t: float) -> tuple[float, float, float, float]:
    """Their derivatives."""
    s = 1.0 - t
    return -s * s / 2, t * (1.5 * t - 2), s * (2 - 1.5 * s), t * t / 2


@njit(cache=True, nogil=True, inline="always")
def mirror(index: int, size: int) -> int:
    """Reflect about the first and last coefficient: the end condition under which the coefficients were found."""
    if index < 0:
        return -index
    if index >= size:
        return 2 * (size - 1) - index
    return index


@njit(cache=True, nogil=True)
def compare(trial: Array, seen: npt.NDArray[np.bool_], row: Array, valid: npt.NDArray[np.bool_], target: Array) -> Any:
    """L1 distance of a row and of a trial from a target, over the pixels that both of them see.

    ``trial`` (c, m) with ``seen`` (m,) is scaled to the norm that ``row`` (c m,) has on those pixels. Also returns how
    many they are; a trial of norm zero is infinitely far.
    """
    channels, m = trial.shape
    count, size, norm = 0, 0.0, 0.0
    for c in range(channels):
        for j in range(m):
            if seen[j] and valid[c * m + j]:
                count += 1
                size += trial[c, j] * trial[c, j]
                norm += row[c * m + j] * row[c * m + j]
    if size == 0:
        return 0.0, np.inf, count
    scale = np.sqrt(norm / size)
    before, after = 0.0, 0.0
    for c in range(channels):
        for j in range(m):
            if seen[j] and valid[c * m + j]:
                before += abs(row[c * m + j] - target[c * m + j])
                after += abs(trial[c, j] * scale - target[c * m + j])
    return before, after, count


@njit(cache=True, nogil=True)
def normalise(row: Array, jacobian: Array, norm: float) -> None:
    """Row y (m,) <- d = y/n and its derivative (p, m) <- (dy - d (d.dy)) / n: the norm depends on every parameter."""
    over = row.dtype.type(1 / norm)
    for j in range(len(row)):
        row[j] *= over
    for k in range(len(jacobian)):
        slope = jacobian[k]
        along = row.dtype.type(dot(row, slope))
        for j in range(len(row)):
            slope[j] = (slope[j] - along * row[j]) * over


@njit(cache=True, nogil=True)
def gram(rows: Array, out: Floats) -> None:
    """Inner products (p, p) of rows (p, m)."""
    for k in range(len(rows)):
        for l in range(k + 1):
            out[k, l] = out[l, k] = dot(rows[k], rows[l])


@njit(cache=True, nogil=True)
def recombine(matrix: Floats, rows: Array) -> None:
    """Rows (p, m) <- matrix (p, p) times rows, in place."""
    p, m = rows.shape
    old = np.empty((p, PIECE), rows.dtype)
    for first in range(0, m, PIECE):
        size = min(PIECE, m - first)
        for k in range(p):
            old[k, :size] = rows[k, first : first + size]
        for k in range(p):
            to = rows[k, first : first + size]
            to[:] = 0
            for l in range(p):
                weight, source = rows.dtype.type(matrix[k, l]), old[l, :size]
                for j in range(size):
                    to[j] += weight * source[j]


@njit(cache=True, nogil=True)
def convolve(picture: Floats, weights: Floats, out: Floats) -> None:
    """Convolve (h, w) with a symmetric kernel along y, then x; ``weights`` from its middle on, zeros outside.

    Every loop runs along a row, which the compiler vectorises: scipy.ndimage needs about three times as long.
    """
    height, width = picture.shape
    reach = len(weights) - 1
    padded = np.zeros(width + 2 * reach)
    for y in range(height):
        row = padded[reach : reach + width]
        for x in range(width):
            row[x] = weights[0] * picture[y, x]
        for d in range(1, reach + 1):
            w = weights[d]
            if y - d >= 0 and y + d < height:
                above, below = picture[y - d], picture[y + d]
                for x in range(width):
                    row[x] += w * (above[x] + below[x])
            elif y - d >= 0 or y + d < height:
                other = picture[y - d] if y - d >= 0 else picture[y + d]
                for x in range(width):
                    row[x] += w * other[x]
        to = out[y]
        for x in range(width):
            to[x] = weights[0] * row[x]
        for d in range(1, reach + 1):
            w, left, right = weights[d], padded[reach - d : reach - d + width], padded[reach + d : reach + d + width]
            for x in range(width):
                to[x] += w * (left[x] + right[x])
