"""Prepare sources once (missing pixels, anti-aliasing, spline coefficients), then sample them many times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.executors import Executor, Serial
from rankfold.families import Floats, point_jacobian
from rankfold.stack import Bools, Frame, Stack
from rankfold.warp.smoothing import smooth

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Sampler:
    """Sources ready to be sampled on a frame. A row has (channels, height, width) values, flattened."""

    frame: Frame
    planes: tuple[Floats, ...]  # each (c, h + 2, w + 2): cubic B-spline coefficients, mirrored beyond the edge
    cells: tuple[Bools, ...]  # each (h + 2, w + 2): are points between [i, j] and [i+1, j+1] known? empty: all are
    names: tuple[str, ...]
    dtype: npt.DTypeLike
    value_range: float  # darkest to brightest, over all sources

    @property
    def row_shape(self) -> tuple[int, int, int]:
        """(channels, height, width) of a row."""
        return len(self.planes[0]), *self.frame.shape

    def __len__(self) -> int:
        """Number of sources."""
        return len(self.planes)

    def sample(self, index: int, matrix: Floats, with_gradient: bool = False) -> tuple[Array, Array, Bools]:
        """Values (c, m), gradient (c, 2, m) in source x and y (empty unless asked for) and validity (m,)."""
        channels, m = len(self.planes[index]), self.frame.height * self.frame.width
        values = np.empty((channels, m), self.dtype)
        gradient = np.empty((channels, 2, m) if with_gradient else (0, 2, m), self.dtype)
        return values, gradient, self._sample(index, matrix, values, gradient)

    def sample_many(self, index: int, matrices: Floats) -> tuple[Array, Bools]:
        """Rows (k, c m) and their validity at several transforms (k, 3, 3)."""
        from rankfold.warp.kernels import sample_many

        k, (channels, height, width) = len(matrices), self.row_shape
        values, valid = np.empty((k, channels, height * width), self.dtype), np.empty((k, height * width), np.bool_)
        matrices = np.ascontiguousarray(matrices, dtype=np.float64)
        sample_many(*self.source(index), matrices, height, width, values, valid)
        return values.reshape(k, -1), np.tile(valid, channels)

    def _sample(self, index: int, matrix: Floats, values: Array, gradient: Array) -> Bools:
        """Fill values and gradient, return the validity."""
        from rankfold.warp.kernels import sample

        planes, cells, (height, width) = self.planes[index], self.cells[index], self.frame.shape
        valid = np.empty(height * width, np.bool_)
        matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        sample(planes, cells, matrix, height, width, values, gradient, valid)
        return valid

    def differentiate(
        self, index: int, matrix: Floats, derivative: Floats, values: Array, slopes: Array, valid: Bools
    ) -> None:
        """Fill ``values`` (c m,), their ``slopes`` (p, c m) and ``valid`` (c m,).

        ``derivative`` (p, 3, 3) is that of the matrix by the parameters.
        """
        from rankfold.warp.derivatives import differentiate

        matrix, derivative = (np.ascontiguousarray(a, dtype=np.float64) for a in (matrix, derivative))
        differentiate(*self.source(index), matrix, derivative, *self.frame.shape, values, slopes, valid)

    def source(self, index: int) -> tuple[Floats, Bools]:
        """Planes and cells of one source, as the compiled functions take them."""
        return self.planes[index], self.cells[index]


def prepare(
    stack: Stack,
    frame: Frame,
    transforms: Floats,
    dtype: npt.DTypeLike,
    executor: Executor | None = None,
    blur: float | None = None,
) -> Sampler:
    """Make a stack ready for sampling on ``frame`` near ``transforms`` (n, 3, 3).

    ``blur`` (canonical px) replaces the blur against aliasing.
    """

    def one(index: int) -> tuple[Floats, Bools]:
        zoom = source_pixels_per_pixel(transforms[index], frame)
        sigma = max(zoom - 1, 0) / 2 if blur is None else blur * zoom
        return prepare_source(stack.sources[index], stack.masks[index], sigma)

    parts = (executor or Serial()).run(one, range(len(stack)))
    planes, cells = tuple(p[0] for p in parts), tuple(p[1] for p in parts)
    return Sampler(frame, planes, cells, stack.names, dtype, stack.value_range)


def source_pixels_per_pixel(matrix: Floats, frame: Frame) -> float:
    """How many source pixels (in length) one canonical pixel spans at the middle of the frame."""
    return float(np.sqrt(np.abs(np.linalg.det(point_jacobian(matrix, frame.centre[None])[0]))))


def prepare_source(source: Array, mask: Bools, blur: float) -> tuple[Floats, Bools]:
    """Spline coefficients (c, h + 2, w + 2) of one source, mirrored by one, and the cells that can be known.

    The blur is normalised by the blurred mask: beyond the edge and under the mask there is nothing, not zeros.
    Missing pixels then get the nearest value, only so that the spline exists: no valid point depends on them
    directly, and what reaches it through the spline's tails is below 4 % of that filling's own error.
    """
    from rankfold.warp.filters import spline_coefficients

    planes = [np.ascontiguousarray(plane, dtype=np.float64) for plane in np.moveaxis(np.atleast_3d(source), 2, 0)]
    if blur > 0.05:  # below that the kernel is a single one to three digits
        planes = [smooth(plane, mask, blur) for plane in planes]
    cells = np.ones((0, 0), np.bool_)
    if not mask.all():
        from scipy import ndimage

        nearest = ndimage.distance_transform_edt(~mask, return_distances=False, return_indices=True)
        planes = [plane[nearest[0], nearest[1]] for plane in planes]
        # rows i-1 .. i+2 and columns j-1 .. j+2 all valid, beyond the edge nothing to ask for
        cells = ndimage.minimum_filter(mask, size=4, origin=-1, mode="constant", cval=True)
        cells = np.pad(cells, (0, 2))
    coefficients = np.empty((len(planes), mask.shape[0] + 2, mask.shape[1] + 2))
    for plane, out in zip(planes, coefficients, strict=True):
        spline_coefficients(plane, out)
    return coefficients, cells
