"""A picture sampled on the frame: values, gradient and validity in one pass, compiled.

How to read this file. :func:`sample` is the whole job, in five steps:

1. ``map_row`` (``places.py``) sends a row of the frame through the 3x3 matrix into the picture;
2. ``find_cells`` (``places.py``) finds the cell that each point fell into, and its place there;
3. ``drop_unknown`` (``places.py``) marks points whose cell depends on a missing pixel;
4. ``weights`` and ``slopes`` (``bspline.py``) give the spline's weights at these places;
5. ``add_values`` or ``add_values_and_gradient`` adds up the sixteen coefficients of each point.

:func:`try_out` and :func:`compare` use it to judge a step before it is taken (line 6 of
Algorithm 1).

Every function writes into arrays of its caller. A few rows of the frame (a *piece*) go through all
steps together, so that they stay in the processor's cache. A loop does one kind of work, because
the compiler vectorises such loops; the order of the operations is part of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.compiled import compiled
from rankfold.sums import FREE, PIECE
from rankfold.warp.bspline import across, down, slopes, weights
from rankfold.warp.places import drop_unknown, find_cells, map_row

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@compiled()
def sample(
    planes: Floats,
    cells: Bools,
    window: Any,
    matrix: Floats,
    height: int,
    width: int,
    values: Array,
    gradient: Array,
    valid: Bools,
) -> None:
    """Evaluate a picture's spline at T(x, y) for every pixel (x, y) of a frame of m pixels.

    Parameters
    ----------
    planes : (c, h + 2, w + 2) array
        Coefficients of the spline of the picture, or of a part of it that holds the frame, with one
        more around them.
    cells : (h + 2, w + 2) array
        Whether all pixels that a point of the cell depends on may be used; empty if all may.
    window : four int
        Where in the picture the planes lie, as x and y, and width and height of the picture.
    matrix : (3, 3) array
        T, from the frame to the picture.
    height, width : int
        Size of the frame, m = height * width.
    values : (c, m) array
        Written: the values, zero where a pixel is missing.
    gradient : (c, 2, m) array
        Written: derivatives by x and y of the picture. Left alone if it is empty.
    valid : (m,) array
        Written: False where a pixel is missing.
    """
    channels = len(planes)
    h = planes.shape[1] - 2
    w = planes.shape[2] - 2
    stride = np.uint64(w + 2)
    derive = gradient.size > 0
    # A piece is a whole number of rows of the frame.
    together = min(max(PIECE // width, 1), height) * width
    # Homogeneous coordinates of the points of a piece, later their places in their cells.
    places = np.empty((3, together))
    # The spline's weights in x and y, and their derivatives.
    wx = np.empty((4, together))
    wy = np.empty((4, together))
    dx = np.empty((4, together))
    dy = np.empty((4, together))
    corners = np.empty(together, np.uint64)
    columns = np.arange(width).astype(np.float64)
    for first in range(0, height * width, together):
        size = min(together, height * width - first)
        here = slice(first, first + size)
        xs = places[0, :size]
        ys = places[1, :size]
        zs = places[2, :size]
        seen = valid[here]
        # Step 1: where the points of the piece are in the picture.
        for k in range(0, size, width):
            on = slice(k, k + width)
            map_row(matrix, (first + k) // width, columns, xs[on], ys[on], zs[on])
        # Steps 2 and 3: in which cells, and which of them may be used.
        find_cells(xs, ys, zs, window, h, w, corners, seen)
        if cells.size > 0:
            drop_unknown(cells, corners, seen)
        # Step 4: the weights, which all channels share.
        weights(xs, wx)
        weights(ys, wy)
        if derive:
            slopes(xs, dx)
            slopes(ys, dy)
        # Step 5: the sums, channel by channel.
        for c in range(channels):
            plane = planes[c].ravel()
            to = values[c, here]
            if derive:
                by_x = gradient[c, 0, here]
                by_y = gradient[c, 1, here]
                add_values_and_gradient(
                    plane, corners, stride, wx, wy, dx, dy, seen, to, by_x, by_y
                )
            else:
                add_values(plane, corners, stride, wx, wy, seen, to)


@compiled()
def add_values(
    plane: Floats, corners: Array, stride: Any, wx: Floats, wy: Floats, seen: Bools, to: Array
) -> None:
    """Write the spline's values to ``to`` (m,); zero where a point is not ``seen`` (m,)."""
    for k in range(len(to)):
        share = 1.0 if seen[k] else 0.0
        to[k] = across(down(plane, corners[k], stride, wy, k), wx, k) * share


@compiled()
def add_values_and_gradient(
    plane: Floats,
    corners: Array,
    stride: Any,
    wx: Floats,
    wy: Floats,
    dx: Floats,
    dy: Floats,
    seen: Bools,
    to: Array,
    by_x: Array,
    by_y: Array,
) -> None:
    """Write the spline's values ``to`` and derivatives ``by_x``, ``by_y``, each (m,)."""
    for k in range(len(to)):
        # A factor instead of a branch: the corner of a point that is not seen is index 0.
        share = 1.0 if seen[k] else 0.0
        summed = down(plane, corners[k], stride, wy, k)
        derived = down(plane, corners[k], stride, dy, k)
        to[k] = across(summed, wx, k) * share
        by_x[k] = across(summed, dx, k) * share
        by_y[k] = across(derived, wx, k) * share


@compiled()
def sample_many(
    planes: Floats,
    cells: Bools,
    window: Any,
    matrices: Floats,
    height: int,
    width: int,
    values: Array,
    valid: Bools,
) -> None:
    """Write values (k, c, m) and validity (k, m) at several transforms (k, 3, 3)."""
    nothing = np.empty((0, 2, height * width), values.dtype)
    for k in range(len(matrices)):
        sample(planes, cells, window, matrices[k], height, width, values[k], nothing, valid[k])


@compiled()
def try_out(
    planes: Floats,
    cells: Bools,
    window: Any,
    matrix: Floats,
    height: int,
    width: int,
    row: Array,
    valid: Bools,
    target: Array,
) -> Any:
    """Sample a picture at ``matrix`` and :func:`compare` it with its ``row`` (c m,) and ``target``.

    Returns two distances, before and after. A trial that shows less than half of the pixels that
    the row shows is infinitely far.
    """
    channels = len(planes)
    m = height * width
    trial = np.empty((channels, m), row.dtype)
    seen = np.empty(m, np.bool_)
    no_gradient = np.empty((0, 2, m), row.dtype)
    sample(planes, cells, window, matrix, height, width, trial, no_gradient, seen)
    # Scaled to the row's norm, as line 4 of Algorithm 1 would scale it.
    before, after, count = compare(trial, seen, row, valid, target)
    if 2 * count < np.count_nonzero(valid):
        return 0.0, np.inf
    return before, after


@compiled(fastmath=FREE, forceinline=True)
def compare(trial: Array, seen: Bools, row: Array, valid: Bools, target: Array) -> Any:
    """Return the L1 distances of a row and of a trial from a target, and the pixels compared.

    Only pixels that both of them show count. ``trial`` (c, m) with ``seen`` (m,) is scaled to the
    norm that ``row`` (c m,) with ``valid`` (c m,) has on these pixels. A trial of norm zero is
    infinitely far.
    """
    channels, m = trial.shape
    count = 0
    size = 0.0
    norm = 0.0
    # The squared norms of both, and the number of common pixels.
    for c in range(channels):
        pixels = trial[c]
        old = row[c * m : (c + 1) * m]
        known = valid[c * m : (c + 1) * m]
        for j in range(m):
            both = seen[j] & known[j]
            count += both
            size += pixels[j] * pixels[j] * both
            norm += old[j] * old[j] * both
    if size == 0:
        return 0.0, np.inf, count
    scale = np.sqrt(norm / size)
    before = 0.0
    after = 0.0
    # The distances of both from the target.
    for c in range(channels):
        pixels = trial[c]
        old = row[c * m : (c + 1) * m]
        known = valid[c * m : (c + 1) * m]
        goal = target[c * m : (c + 1) * m]
        for j in range(m):
            both = seen[j] & known[j]
            before += abs(old[j] - goal[j]) * both
            after += abs(pixels[j] * scale - goal[j]) * both
    return before, after, count
