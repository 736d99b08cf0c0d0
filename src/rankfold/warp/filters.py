"""What is done to a whole picture before it is sampled, compiled: convolution, and the B-spline's coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

POLE = -0.26794919243112270647  # √3 - 2, of the filter that turns values into coefficients
GAIN = (1.0 - POLE) * (1.0 - 1.0 / POLE)
NOTHING = 1e-60  # powers of the pole below it are
TOGETHER = 64  # columns that are filtered at a time: half a megabyte for a thousand rows, which stays in cache
ABREAST = 8  # rows that are: each waits for itself, so others are done meanwhile


@njit(cache=True, nogil=True)
def spline_coefficients(plane: Floats, out: Floats) -> None:
    """Coefficients ``out`` (h + 2, w + 2) of the cubic B-spline through a picture (h, w), mirrored beyond its edge.

    A recursion down and up, then right and left (Unser, Aldroubi and Eden 1993); scipy.ndimage.spline_filter, which
    takes one line at a time, needs several times as long.
    """
    height, width = plane.shape
    inner = out[1 : height + 1, 1 : width + 1]
    for left in range(0, width, TOGETHER):
        filter_columns(plane[:, left : left + TOGETHER], inner[:, left : left + TOGETHER])
    for top in range(0, height, ABREAST):
        rows = inner[top : top + ABREAST].T
        filter_columns(rows, rows)
    for x in range(1, width + 1):
        out[0, x], out[height + 1, x] = out[2, x], out[height - 1, x]
    for y in range(height + 2):
        out[y, 0], out[y, width + 1] = out[y, 2], out[y, width - 1]


@njit(cache=True, nogil=True)
def filter_columns(plane: Floats, out: Floats) -> None:
    """Filter a few columns (h, k), side by side; ``out`` may be the same array, and the columns rows."""
    n, k = plane.shape
    for y in range(n):
        for x in range(k):
            out[y, x] = plane[y, x] * GAIN
    first, last = out[0], out[n - 1]
    power, end = POLE, POLE ** float(n - 1)
    for x in range(k):
        first[x] += end * last[x]
    for y in range(1, n - 1):
        if abs(power) < NOTHING:
            break
        near, far = out[y], out[n - 1 - y]
        for x in range(k):
            first[x] += power * (near[x] + end * far[x])
        power *= POLE
    for x in range(k):
        first[x] /= 1 - end * end
    for y in range(1, n):
        before, here = out[y - 1], out[y]
        for x in range(k):
            here[x] += POLE * before[x]
    before = out[n - 2]
    for x in range(k):
        last[x] = (POLE * before[x] + last[x]) * POLE / (POLE * POLE - 1)
    for y in range(n - 2, -1, -1):
        here, after = out[y], out[y + 1]
        for x in range(k):
            here[x] = POLE * (after[x] - here[x])


@njit(cache=True, nogil=True)
def convolve(picture: Array, weights: Array, heights: Array, widths: Array, out: Array) -> None:
    """Convolve (h, w) with a symmetric kernel along y, then x; ``weights`` from its middle on, zeros outside.

    Divided by ``heights`` (h,) times ``widths`` (w,). Every loop runs along a row, which the compiler vectorises:
    scipy.ndimage needs several times as long.
    """
    height, width = picture.shape
    reach = len(weights) - 1
    padded = np.zeros(width + 2 * reach, picture.dtype)
    for y in range(height):
        row, to = padded[reach : reach + width], out[y]
        near, far = min(y, height - 1 - y, reach), min(max(y, height - 1 - y), reach)
        for x in range(width):
            row[x] = weights[0] * picture[y, x]
        whole = near - near % 4
        for d in range(1, whole, 4):
            add_four(
                weights[d : d + 4],
                (picture[y - d], picture[y - d - 1], picture[y - d - 2], picture[y - d - 3]),
                (picture[y + d], picture[y + d + 1], picture[y + d + 2], picture[y + d + 3]),
                row,
            )
        for d in range(whole + 1, near + 1):
            above, below = picture[y - d], picture[y + d]
            for x in range(width):
                row[x] += weights[d] * (above[x] + below[x])
        for d in range(near + 1, far + 1):
            other = picture[y - d] if y - d >= 0 else picture[y + d]
            for x in range(width):
                row[x] += weights[d] * other[x]
        for x in range(width):
            to[x] = weights[0] * row[x]
        whole = reach - reach % 4
        for d in range(1, whole, 4):
            a, b = reach - d, reach + d
            add_four(
                weights[d : d + 4],
                (padded[a:], padded[a - 1 :], padded[a - 2 :], padded[a - 3 :]),
                (padded[b:], padded[b + 1 :], padded[b + 2 :], padded[b + 3 :]),
                to,
            )
        for d in range(whole + 1, reach + 1):
            left, right = padded[reach - d :], padded[reach + d :]
            for x in range(width):
                to[x] += weights[d] * (left[x] + right[x])
        for x in range(width):
            to[x] /= heights[y] * widths[x]


@njit(cache=True, nogil=True)
def add_four(weights: Array, before: Any, after: Any, out: Array) -> None:
    """Four steps of a symmetric convolution at once, one after the other for each value: it is loaded and kept once."""
    a, b, c, d = weights[0], weights[1], weights[2], weights[3]
    (k, l, m, n), (p, q, r, s) = before, after
    for x in range(len(out)):
        out[x] = (
            out[x] + a * (k[x] + p[x]) + b * (l[x] + q[x]) + c * (m[x] + r[x]) + d * (n[x] + s[x])
        )
