"""Pictures of any size through a transform, some rows of the grid at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats, shift
from rankfold.stack import Bools, Frame
from rankfold.warp.sampling import plain, source_pixels_per_pixel
from rankfold.warp.smoothing import reach_of
from rankfold.warp.sources import Coefficients, PreparedSource, prepare_source

Array = npt.NDArray[Any]

# Pixels of the grid that are sampled at a time; bounds the memory.
TOGETHER = 2**19


@dataclass(frozen=True)
class Warped:
    """Some rows of a picture on a grid.

    Attributes
    ----------
    rows : slice
        Which rows of the grid.
    values : (c, h, w) array of float32
        Zero where missing.
    valid : (h, w) array of bool
    """

    rows: slice
    values: Array
    valid: Bools


class Warper:
    """A picture that is brought to one grid or several.

    Parameters
    ----------
    picture : (h, w) or (h, w, c) array
        Of any type.
    mask : (h, w) array of bool, optional
        True where a pixel may be used; everywhere if left out.
    unit : float
        Values are divided by it.
    blur : float, optional
        Standard deviation in px of the picture of a blur against aliasing; just enough for the
        first grid if left out.
    """

    def __init__(
        self, picture: Array, mask: Bools | None, unit: float = 1.0, blur: float | None = None
    ) -> None:
        self._picture = picture
        every = np.broadcast_to(np.True_, picture.shape[:2])
        self._mask: Bools = every if mask is None else mask
        self._unit = unit
        self._blur = blur
        self._source: PreparedSource | None = None

    def through(self, matrix: Floats, grid: Frame) -> Iterator[Warped]:
        """Give the picture on a grid, some rows at a time.

        Parameters
        ----------
        matrix : (3, 3) array
            From the grid to the picture.
        grid : Frame
        """
        from rankfold.warp.kernels import sample

        channels = self._picture.shape[2] if self._picture.ndim == 3 else 1
        for rows in bands(grid):
            band = Frame(rows.stop - rows.start, grid.width)
            here = plain(matrix @ shift(np.array([0.0, rows.start])))
            if self._source is None:
                self._source = self._prepared(matrix, grid, band, here)
            part = self._source.around(band, here)
            values = np.empty((channels, band.height * band.width), np.float32)
            gradient = np.empty((0, 2, values.shape[1]), np.float32)
            valid = np.empty(values.shape[1], np.bool_)
            sample(part.planes, part.cells, part.window, here, *band.shape, values, gradient, valid)
            yield Warped(rows, values.reshape(channels, *band.shape), valid.reshape(band.shape))

    def whole(self, matrix: Floats, grid: Frame) -> tuple[Array, Bools]:
        """Return the picture on a grid: values (c, h, w), zero where missing, validity (h, w)."""
        parts = list(self.through(matrix, grid))
        values = np.concatenate([part.values for part in parts], axis=1)
        return values, np.concatenate([part.valid for part in parts])

    def _prepared(self, matrix: Floats, grid: Frame, band: Frame, here: Floats) -> PreparedSource:
        """Prepare the part of the picture under the first rows."""
        if self._blur is None:
            # As in an alignment. Unit: px of the picture.
            self._blur = max(source_pixels_per_pixel(matrix, grid) - 1, 0) / 2
        prepare = partial(_prepare, blur=self._blur, unit=self._unit)
        return PreparedSource(self._picture, self._mask, reach_of(self._blur), prepare, band, here)


def whole(
    picture: Array, mask: Bools | None, matrix: Floats, grid: Frame, unit: float = 1.0
) -> tuple[Array, Bools]:
    """Bring a picture to a grid: values (c, h, w), zero where missing, and validity (h, w)."""
    return Warper(picture, mask, unit).whole(matrix, grid)


def bands(grid: Frame) -> Iterator[slice]:
    """Cut the rows of a grid into bands of about TOGETHER pixels, none of them too thin."""
    height, width = grid.shape
    count = max(min(round(height * width / TOGETHER), height // 8), 1)
    ends = np.linspace(0, height, count + 1).round().astype(int)
    for first, last in pairwise(ends):
        yield slice(int(first), int(last))


def _prepare(part: Array, mask: Bools, complete: bool, *, blur: float, unit: float) -> Coefficients:
    """Prepare a part of a picture of any type, in the unit."""
    values = part / np.float64(unit)
    # A missing pixel may be NaN in the picture; it is filled from its neighbours.
    return prepare_source(np.where(np.isfinite(values), values, 0), mask, complete, blur=blur)
