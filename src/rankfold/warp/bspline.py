"""The cubic B-spline inside one cell: its weights, their derivatives, and the weighted sum.

How to read this file. A *cell* is the square between four neighbouring pixels. A point in it, at
(s, t) with both numbers in [0, 1], depends on the 4 x 4 coefficients around the cell. The spline is
a product of one in x and one in y, so the sum over the sixteen is taken in two steps: ``down`` adds
up each of the four columns with the weights in y, ``across`` adds up the four results with the
weights in x. With ``slopes`` in place of ``weights`` in one of the two, the same sums give the
derivative along that axis.

The functions are compiled. Each loop fills one array, because the compiler vectorises such a loop.
The order of the operations is part of the result: another order changes the last bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.compiled import compiled

Floats = npt.NDArray[np.float64]


@compiled()
def weights(ts: Floats, out: Floats) -> None:
    """Write to ``out`` (4, m) the weights of the four B-splines at places ``ts`` (m,) of a cell.

    The B-splines are those centred on the pixels -1, 0, 1 and 2 of the cell, in this order.
    """
    first = out[0]
    second = out[1]
    third = out[2]
    fourth = out[3]
    # (1 - t)^3 / 6
    for k in range(len(ts)):
        t = ts[k]
        s = 1.0 - t
        first[k] = s * s * s * (1 / 6)
    # 2/3 - t^2 + t^3 / 2
    for k in range(len(ts)):
        t = ts[k]
        second[k] = 2 / 3 - t * t * (1 - t / 2)
    # The same, seen from the other side of the cell.
    for k in range(len(ts)):
        s = 1.0 - ts[k]
        third[k] = 2 / 3 - s * s * (1 - s / 2)
    # t^3 / 6
    for k in range(len(ts)):
        t = ts[k]
        fourth[k] = t * t * t * (1 / 6)


@compiled()
def slopes(ts: Floats, out: Floats) -> None:
    """Write to ``out`` (4, m) the derivatives of the four weights at the places ``ts`` (m,)."""
    first = out[0]
    second = out[1]
    third = out[2]
    fourth = out[3]
    for k in range(len(ts)):
        s = 1.0 - ts[k]
        first[k] = -s * s / 2
    for k in range(len(ts)):
        t = ts[k]
        second[k] = t * (1.5 * t - 2)
    for k in range(len(ts)):
        s = 1.0 - ts[k]
        third[k] = s * (2 - 1.5 * s)
    for k in range(len(ts)):
        t = ts[k]
        fourth[k] = t * t / 2


@compiled(inline="always")
def down(plane: Floats, corner: Any, stride: Any, weight: Floats, k: int) -> Any:
    """Return the four columns of a cell, each added up along y with the weights of point ``k``.

    ``plane`` is a flat plane of coefficients with ``stride`` values in a row, ``corner`` the index
    of the first of the sixteen, ``weight`` (4, m). Indices are unsigned, so that the compiler need
    not ask whether one counts from the end.
    """
    # The weights of the four rows.
    a = weight[0, k]
    b = weight[1, k]
    c = weight[2, k]
    d = weight[3, k]
    # Where the four rows begin.
    row0 = corner
    row1 = corner + stride
    row2 = row1 + stride
    row3 = row1 + stride + stride
    one = np.uint64(1)
    two = np.uint64(2)
    three = np.uint64(3)
    return (
        a * plane[row0] + b * plane[row1] + c * plane[row2] + d * plane[row3],
        a * plane[row0 + one]
        + b * plane[row1 + one]
        + c * plane[row2 + one]
        + d * plane[row3 + one],
        a * plane[row0 + two]
        + b * plane[row1 + two]
        + c * plane[row2 + two]
        + d * plane[row3 + two],
        a * plane[row0 + three]
        + b * plane[row1 + three]
        + c * plane[row2 + three]
        + d * plane[row3 + three],
    )


@compiled(inline="always")
def across(columns: Any, weight: Floats, k: int) -> Any:
    """Return the sum of four ``columns``, with the weights (4, m) in x of point ``k``."""
    return (
        weight[0, k] * columns[0]
        + weight[1, k] * columns[1]
        + weight[2, k] * columns[2]
        + weight[3, k] * columns[3]
    )
