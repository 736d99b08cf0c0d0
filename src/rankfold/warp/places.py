"""Where the pixels of the frame lie in a picture: coordinates, cells of the spline, validity.

How to read this file. Points travel as three arrays, the homogeneous coordinates xs, ys and zs of a
piece of the frame. ``map_row`` fills them for one row, ``find_cells`` turns them into the cell of
each point and the place in it, ``drop_unknown`` removes points that depend on missing pixels. The
functions are compiled and write into arrays of their caller. A loop does one kind of work, because
the compiler vectorises such loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.compiled import compiled

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

# Unit: px of the picture. Rounding may put a point on the edge this far outside; it still counts.
EDGE = 1e-6


@compiled()
def map_row(matrix: Floats, row: int, columns: Floats, xs: Floats, ys: Floats, zs: Floats) -> None:
    """Write the places (xs, ys) in the picture of one row of the frame, and their divisors zs.

    ``columns`` (width,) is 0, 1, 2, ... in floating point; ``xs``, ``ys`` and ``zs`` are (width,).
    """
    # The matrix maps (u, v, 1); v = row is constant here, so three sums are taken beforehand.
    a = matrix[0, 0]
    b = matrix[1, 0]
    c = matrix[2, 0]
    x = matrix[0, 1] * row + matrix[0, 2]
    y = matrix[1, 1] * row + matrix[1, 2]
    z = matrix[2, 1] * row + matrix[2, 2]
    for k in range(len(zs)):
        zs[k] = c * columns[k] + z
    # Without perspective along the row, all divisors are the same.
    if c == 0:
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


@compiled()
def find_cells(
    xs: Floats,
    ys: Floats,
    zs: Floats,
    window: Any,
    h: int,
    w: int,
    corners: Array,
    seen: Bools,
) -> None:
    """Replace places (xs, ys) in a picture by places in their cells, and say where the cells are.

    ``corners`` (m,) gets the index, in a flat plane of the part of ``h`` x ``w`` pixels, of the
    first of a point's sixteen coefficients; ``seen`` (m,) whether the point is on the picture,
    whose size and where the part lies in it are in ``window``. Behind a homography's horizon
    (zs <= 0) there is no picture, nor outside the outermost pixel centres. ``zs`` is used up.

    Places are those in the picture, and only cells are counted from where the part begins: what a
    point gets does not depend on the part, to the last bit.
    """
    left, top, width, height = window
    for k in range(len(xs)):
        x = xs[k]
        y = ys[k]
        seen[k] = (
            (zs[k] > 0)
            & (x >= -EDGE)
            & (x <= width - 1 + EDGE)
            & (y >= -EDGE)
            & (y <= height - 1 + EDGE)
        )
    # Indices are computed in floating point, which is exact here and can be vectorised.
    right = float(w - 2)
    bottom = float(h - 2)
    stride = float(w + 2)
    first_x = float(left)
    first_y = float(top)
    for k in range(len(xs)):
        x = max(xs[k], 0.0) if seen[k] else 0.0
        y = max(ys[k], 0.0) if seen[k] else 0.0
        j = min(max(np.floor(x) - first_x, 0.0), right)
        i = min(max(np.floor(y) - first_y, 0.0), bottom)
        xs[k] = x - (j + first_x)
        ys[k] = y - (i + first_y)
        zs[k] = i * stride + j
    for k in range(len(xs)):
        corners[k] = np.int64(zs[k])


@compiled()
def drop_unknown(cells: Bools, corners: Array, seen: Bools) -> None:
    """Mark as not ``seen`` (m,) the points in cells that depend on a missing pixel."""
    known = cells.ravel()
    for k in range(len(seen)):
        seen[k] &= known[corners[k]]
