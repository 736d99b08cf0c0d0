"""Prepare sources once (missing pixels, anti-aliasing, spline coefficients), then sample them many times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.executors import Executor, shared_out
from rankfold.families import Floats, point_jacobian
from rankfold.stack import Bools, Frame, Stack
from rankfold.warp.smoothing import reach_of
from rankfold.warp.sources import Source, prepare_source

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Sampler:
    """Sources ready to be sampled on a frame. A row has (channels, height, width) values, flattened."""

    frame: Frame
    sources: tuple[Source, ...]
    channels: int
    names: tuple[str, ...]
    dtype: npt.DTypeLike
    value_range: float  # darkest to brightest, over all sources

    @property
    def row_shape(self) -> tuple[int, int, int]:
        """(channels, height, width) of a row."""
        return self.channels, *self.frame.shape

    def __len__(self) -> int:
        """Number of sources."""
        return len(self.sources)

    def sample(
        self, index: int, matrix: Floats, with_gradient: bool = False
    ) -> tuple[Array, Array, Bools]:
        """Values (c, m), gradient (c, 2, m) in source x and y (empty unless asked for) and validity (m,)."""
        from rankfold.warp.kernels import sample

        channels, m = self.channels, self.frame.height * self.frame.width
        values, valid = np.empty((channels, m), self.dtype), np.empty(m, np.bool_)
        gradient = np.empty((channels, 2, m) if with_gradient else (0, 2, m), self.dtype)
        planes, cells, there = self.source(index, matrix)
        sample(planes, cells, there @ matrix, *self.frame.shape, values, gradient, valid)
        return values, gradient, valid

    def sample_many(self, index: int, matrices: Floats) -> tuple[Array, Bools]:
        """Rows (k, c m) and their validity at several transforms (k, 3, 3)."""
        from rankfold.warp.kernels import sample_many

        k, (channels, height, width) = len(matrices), self.row_shape
        values, valid = (
            np.empty((k, channels, height * width), self.dtype),
            np.empty((k, height * width), np.bool_),
        )
        planes, cells, there = self.source(index, matrices)
        sample_many(planes, cells, there @ matrices, height, width, values, valid)
        return values.reshape(k, -1), np.tile(valid, channels)

    def differentiate(
        self,
        index: int,
        matrix: Floats,
        derivative: Floats,
        values: Array,
        slopes: Array,
        valid: Bools,
    ) -> None:
        """Fill ``values`` (c m,), their ``slopes`` (p, c m) and ``valid`` (c m,).

        ``derivative`` (p, 3, 3) is that of the matrix by the parameters.
        """
        from rankfold.warp.derivatives import differentiate

        planes, cells, there = self.source(index, matrix)
        differentiate(
            planes,
            cells,
            there @ matrix,
            there @ derivative,
            *self.frame.shape,
            values,
            slopes,
            valid,
        )

    def source(self, index: int, matrices: Floats) -> tuple[Floats, Bools, Floats]:
        """Planes and cells of a source, prepared for the frame at ``matrices`` (..., 3, 3); the way (3, 3) to them."""
        part = self.sources[index].around(self.frame, matrices)
        return part.planes, part.cells, part.there


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

    def one(index: int) -> Source:
        zoom = source_pixels_per_pixel(transforms[index], frame)
        sigma = max(zoom - 1, 0) / 2 if blur is None else blur * zoom
        ready = partial(prepare_source, blur=sigma)
        return Source(
            stack.sources[index],
            stack.masks[index],
            reach_of(sigma),
            ready,
            frame,
            transforms[index],
        )

    largest = max(mask.size for mask in stack.masks)
    sources = tuple(shared_out(executor, largest).run(one, range(len(stack))))
    return Sampler(frame, sources, stack.channels, stack.names, dtype, stack.value_range)


def source_pixels_per_pixel(matrix: Floats, frame: Frame) -> float:
    """How many source pixels (in length) one canonical pixel spans at the middle of the frame."""
    return float(np.sqrt(np.abs(np.linalg.det(point_jacobian(matrix, frame.centre[None])[0]))))
