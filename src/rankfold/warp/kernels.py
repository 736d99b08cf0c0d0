"""The cubic B-spline, evaluated at mapped grid points: values, gradient of the same spline, validity, in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

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
    ``valid`` (m,). ``cells`` (h, w) says where all pixels that a point of the cell depends on may be used.
    Missing pixels get zeros.
    """
    channels, h, w = coefficients.shape
    wx, wy = np.empty(4), np.empty(4)
    dx, dy = np.empty(4), np.empty(4)
    columns, rows = np.empty(4, np.int64), np.empty(4, np.int64)
    derive = gradient.size > 0
    for row in range(height):
        for column in range(width):
            k = row * width + column
            z = matrix[2, 0] * column + matrix[2, 1] * row + matrix[2, 2]
            inside = z > 0  # behind a homography's horizon there is no picture
            if inside:
                x = (matrix[0, 0] * column + matrix[0, 1] * row + matrix[0, 2]) / z
                y = (matrix[1, 0] * column + matrix[1, 1] * row + matrix[1, 2]) / z
                inside = -EDGE <= x <= w - 1 + EDGE and -EDGE <= y <= h - 1 + EDGE
            if inside:
                j, i = min(max(int(x), 0), w - 2), min(max(int(y), 0), h - 2)
                inside = cells[i, j]
            valid[k] = inside
            if not inside:
                values[:, k] = 0
                if derive:
                    gradient[:, :, k] = 0
                continue
            basis(x - j, wx, dx)
            basis(y - i, wy, dy)
            for a in range(4):
                columns[a] = mirror(j + a - 1, w)
                rows[a] = mirror(i + a - 1, h)
            for c in range(channels):
                value, gx, gy = 0.0, 0.0, 0.0
                for a in range(4):
                    line, slope = 0.0, 0.0
                    for b in range(4):
                        coefficient = coefficients[c, rows[a], columns[b]]
                        line += wx[b] * coefficient
                        slope += dx[b] * coefficient
                    value += wy[a] * line
                    gx += wy[a] * slope
                    gy += dy[a] * line
                values[c, k] = value
                if derive:
                    gradient[c, 0, k] = gx
                    gradient[c, 1, k] = gy


@njit(cache=True, nogil=True, inline="always")
def basis(t: float, weight: Floats, slope: Floats) -> None:
    """Weights and their derivatives of the four cubic B-splines that reach the point t in [0, 1] of a cell."""
    s = 1.0 - t
    weight[0], weight[3] = s * s * s / 6, t * t * t / 6
    weight[1] = 2 / 3 - t * t * (1 - t / 2)
    weight[2] = 2 / 3 - s * s * (1 - s / 2)
    slope[0], slope[3] = -s * s / 2, t * t / 2
    slope[1] = t * (1.5 * t - 2)
    slope[2] = s * (2 - 1.5 * s)


@njit(cache=True, nogil=True, inline="always")
def mirror(index: int, size: int) -> int:
    """Reflect about the first and last coefficient: the end condition under which the coefficients were found."""
    if index < 0:
        return -index
    if index >= size:
        return 2 * (size - 1) - index
    return index
