"""What is done to a whole picture before it is sampled: coefficients of its spline, and blur.

How to read this file. ``spline_coefficients`` and ``convolve`` are called from outside;
``filter_columns`` is one direction of the first and ``start_down`` its beginning;
``convolve_down`` and ``convolve_across`` are the two directions of the second, and ``add_four`` is
their innermost loop.

The functions are compiled and write into arrays of their caller. Every innermost loop runs along a
row of the picture, because the compiler vectorises such loops: scipy.ndimage, which takes one line
after the other, needs several times as long. The order of the additions is part of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.compiled import compiled

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# √3 - 2, the pole of the recursive filter that turns values into coefficients of the cubic
# B-spline, and the filter's gain (Unser, Aldroubi and Eden 1993).
POLE = -0.26794919243112270647
GAIN = (1.0 - POLE) * (1.0 - 1.0 / POLE)

# Powers of the pole below this one change no double and are left out of sums.
NEGLIGIBLE = 1e-60

# Columns that are filtered at a time: half a megabyte for a thousand rows, which stays in cache.
COLUMNS_TOGETHER = 64

# Rows that are filtered at a time. Each value waits for the one before it in the same row, so the
# processor works on the other rows meanwhile.
ROWS_TOGETHER = 8


@compiled()
def spline_coefficients(plane: Floats, out: Floats) -> None:
    """Write the coefficients (h + 2, w + 2) of the cubic B-spline through a picture (h, w).

    The picture is mirrored beyond its edge, and so are the coefficients, by one.
    """
    height, width = plane.shape
    inner = out[1 : height + 1, 1 : width + 1]
    for left in range(0, width, COLUMNS_TOGETHER):
        right = left + COLUMNS_TOGETHER
        filter_columns(plane[:, left:right], inner[:, left:right])
    for top in range(0, height, ROWS_TOGETHER):
        rows = inner[top : top + ROWS_TOGETHER].T
        filter_columns(rows, rows)
    # Mirror: row -1 is row 1, and so on.
    for x in range(1, width + 1):
        out[0, x] = out[2, x]
        out[height + 1, x] = out[height - 1, x]
    for y in range(height + 2):
        out[y, 0] = out[y, 2]
        out[y, width + 1] = out[y, width - 1]


@compiled()
def filter_columns(plane: Floats, out: Floats) -> None:
    """Filter a few columns (h, k) of ``plane`` into ``out``, which may be the same array.

    The recursion runs down, c_y += z c_(y-1), and then up, c_y <- z (c_(y+1) - c_y), z the pole.
    """
    n, k = plane.shape
    for y in range(n):
        for x in range(k):
            out[y, x] = plane[y, x] * GAIN
    start_down(out)
    for y in range(1, n):
        before = out[y - 1]
        here = out[y]
        for x in range(k):
            here[x] += POLE * before[x]
    # Where the way up begins: mirroring gives it in closed form.
    before = out[n - 2]
    last = out[n - 1]
    for x in range(k):
        last[x] = (POLE * before[x] + last[x]) * POLE / (POLE * POLE - 1)
    for y in range(n - 2, -1, -1):
        here = out[y]
        after = out[y + 1]
        for x in range(k):
            here[x] = POLE * (after[x] - here[x])


@compiled()
def start_down(out: Floats) -> None:
    """Write to the first row of ``out`` (h, k) where the recursion down begins.

    It is the sum Σ_y z^y c_y down the picture and its mirror images, which have period 2 (h - 1).
    """
    n, k = out.shape
    first = out[0]
    last = out[n - 1]
    power = POLE
    # The power of the pole that the far edge has.
    end = POLE ** float(n - 1)
    for x in range(k):
        first[x] += end * last[x]
    for y in range(1, n - 1):
        if abs(power) < NEGLIGIBLE:
            break
        near = out[y]
        far = out[n - 1 - y]
        for x in range(k):
            first[x] += power * (near[x] + end * far[x])
        power *= POLE
    for x in range(k):
        first[x] /= 1 - end * end


@compiled()
def convolve(picture: Array, weights: Array, heights: Array, widths: Array, out: Array) -> None:
    """Convolve a picture (h, w) with a symmetric kernel along y and x, with zeros outside it.

    Parameters
    ----------
    picture : (h, w) array
    weights : (reach + 1,) array
        The kernel from its middle outwards.
    heights, widths : (h,) and (w,) arrays
        What row y and column x of the result are divided by.
    out : (h, w) array
        Written: the result.
    """
    height, width = picture.shape
    reach = len(weights) - 1
    # One row after the step along y, with the zeros that the step along x finds beyond its ends.
    padded = np.zeros(width + 2 * reach, picture.dtype)
    row = padded[reach : reach + width]
    for y in range(height):
        to = out[y]
        convolve_down(picture, y, weights, row)
        convolve_across(padded, weights, to)
        for x in range(width):
            to[x] /= heights[y] * widths[x]


@compiled()
def convolve_down(picture: Array, y: int, weights: Array, row: Array) -> None:
    """Write row ``y`` (w,) of the picture (h, w), convolved along y."""
    height, width = picture.shape
    reach = len(weights) - 1
    # Up to ``near`` rows away there are rows on both sides, up to ``far`` on one side only.
    near = min(y, height - 1 - y, reach)
    far = min(max(y, height - 1 - y), reach)
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
        above = picture[y - d]
        below = picture[y + d]
        for x in range(width):
            row[x] += weights[d] * (above[x] + below[x])
    for d in range(near + 1, far + 1):
        other = picture[y - d] if y - d >= 0 else picture[y + d]
        for x in range(width):
            row[x] += weights[d] * other[x]


@compiled()
def convolve_across(padded: Array, weights: Array, to: Array) -> None:
    """Write to ``to`` (w,) a row (w + 2 reach,) with zeros at its ends, convolved along x."""
    width = len(to)
    reach = len(weights) - 1
    row = padded[reach : reach + width]
    for x in range(width):
        to[x] = weights[0] * row[x]
    whole = reach - reach % 4
    for d in range(1, whole, 4):
        a = reach - d
        b = reach + d
        add_four(
            weights[d : d + 4],
            (padded[a:], padded[a - 1 :], padded[a - 2 :], padded[a - 3 :]),
            (padded[b:], padded[b + 1 :], padded[b + 2 :], padded[b + 3 :]),
            to,
        )
    for d in range(whole + 1, reach + 1):
        left = padded[reach - d :]
        right = padded[reach + d :]
        for x in range(width):
            to[x] += weights[d] * (left[x] + right[x])


@compiled()
def add_four(weights: Array, before: Any, after: Any, out: Array) -> None:
    """Add four steps of a symmetric convolution to ``out`` (w,), which is loaded only once.

    ``weights`` (4,) are those of the steps, ``before`` and ``after`` the rows (w,) that the four
    steps find on either side. Each value adds its four terms in this order.
    """
    a = weights[0]
    b = weights[1]
    c = weights[2]
    d = weights[3]
    before1, before2, before3, before4 = before
    after1, after2, after3, after4 = after
    for x in range(len(out)):
        out[x] = (
            out[x]
            + a * (before1[x] + after1[x])
            + b * (before2[x] + after2[x])
            + c * (before3[x] + after3[x])
            + d * (before4[x] + after4[x])
        )
