"""Small pictures on the frame of a run, on some rows of a finer grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.outputs.grid import Grid

Array = npt.NDArray[Any]


def enlarged(picture: Array, grid: Grid, rows: slice, outside: float | None = None) -> Array:
    """Interpolate a picture of the frame linearly on some rows of a grid.

    Where a picture is NaN, so is what lies between it and its neighbours.

    Parameters
    ----------
    picture : (..., h, w) array
    grid : Grid
    rows : slice
        Of the grid.
    outside : float, optional
        The value beyond the frame; the nearest one of the picture if left out.

    Returns
    -------
    (..., k, w') array of float32
    """
    height, width = picture.shape[-2:]
    # The grid only scales and shifts, so that rows and columns can be treated one by one.
    scale_x, _, shift_x = grid.to_frame[0]
    _, scale_y, shift_y = grid.to_frame[1]
    y = scale_y * np.arange(rows.start, rows.stop) + shift_y
    x = scale_x * np.arange(grid.frame.width) + shift_x
    found = _along(_along(picture, y, -2), x, -1)
    if outside is not None:
        beyond_y = (y < -0.5) | (y > height - 0.5)
        beyond_x = (x < -0.5) | (x > width - 0.5)
        found[..., beyond_y, :] = outside
        found[..., beyond_x] = outside
    return found


def _along(picture: Array, at: Array, axis: int) -> Array:
    """Interpolate linearly along an axis, at places in px of the picture."""
    last = picture.shape[axis] - 1
    inside = np.clip(at, 0, last)
    first = np.minimum(np.floor(inside).astype(int), max(last - 1, 0))
    share = (inside - first).astype(np.float32)
    shape = [1] * picture.ndim
    shape[axis] = len(at)
    weight = share.reshape(shape)
    low = np.take(picture, first, axis).astype(np.float32)
    high = np.take(picture, np.minimum(first + 1, last), axis).astype(np.float32)
    # On a pixel its neighbour does not count, be it NaN.
    between = low + weight * (high - low)
    nearest = np.where(weight == 0, low, high)
    return np.asarray(np.where((weight == 0) | (weight == 1), nearest, between))
