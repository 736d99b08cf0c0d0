"""Pictures on the frame: prepare them once, then sample them through many transforms.

Preparing takes care of missing pixels, aliasing and spline coefficients (``sources.py``).
Sampling evaluates the spline and its gradient at every pixel of the frame (``kernels.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats, point_jacobian
from rankfold.scale import Executor, shared_out, store_of
from rankfold.stack import Bools, Frame, Stack
from rankfold.warp.smoothing import reach_of
from rankfold.warp.sources import PreparedSource, Window, prepare_source, prepared_in

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Sampler:
    """Pictures ready to be sampled on a frame of m pixels.

    A row has c m values, channel by channel.

    Parameters
    ----------
    frame : Frame
    sources : tuple of PreparedSource
        One for each picture.
    channels : int
        c, 1 for grey pictures.
    names : tuple of str
        What messages call the pictures.
    dtype : dtype
        Precision of what is sampled.
    value_range : float
        From the darkest to the brightest pixel of all pictures.
    """

    frame: Frame
    sources: tuple[PreparedSource, ...]
    channels: int
    names: tuple[str, ...]
    dtype: npt.DTypeLike
    value_range: float

    @property
    def row_shape(self) -> tuple[int, int, int]:
        """(channels, height, width) of a row."""
        return self.channels, *self.frame.shape

    def __len__(self) -> int:
        """Number of pictures."""
        return len(self.sources)

    def sample(
        self, index: int, matrix: Floats, with_gradient: bool = False
    ) -> tuple[Array, Array, Bools]:
        """Sample one picture at one transform.

        Parameters
        ----------
        index : int
            Which picture.
        matrix : (3, 3) array
            From the frame to the picture.
        with_gradient : bool

        Returns
        -------
        values : (c, m) array
            Zero where a pixel is missing.
        gradient : (c, 2, m) array
            Derivatives by x and y of the picture; (0, 2, m) unless asked for.
        valid : (m,) array
            False where a pixel is missing.
        """
        from rankfold.warp.kernels import sample

        height, width = self.frame.shape
        m = height * width
        derived = self.channels if with_gradient else 0
        values = np.empty((self.channels, m), self.dtype)
        gradient = np.empty((derived, 2, m), self.dtype)
        valid = np.empty(m, np.bool_)
        planes, cells, window = self.source(index, matrix)
        sample(planes, cells, window, plain(matrix), height, width, values, gradient, valid)
        return values, gradient, valid

    def sample_many(self, index: int, matrices: Floats) -> tuple[Array, Bools]:
        """Return rows (k, c m) of one picture and their validity at transforms (k, 3, 3)."""
        from rankfold.warp.kernels import sample_many

        k = len(matrices)
        channels, height, width = self.row_shape
        values = np.empty((k, channels, height * width), self.dtype)
        valid = np.empty((k, height * width), np.bool_)
        planes, cells, window = self.source(index, matrices)
        sample_many(planes, cells, window, plain(matrices), height, width, values, valid)
        # All channels have the same validity.
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
        """Sample one picture and its derivative by the parameters of its transform.

        Parameters
        ----------
        index : int
            Which picture.
        matrix : (3, 3) array
            From the frame to the picture.
        derivative : (p, 3, 3) array
            Derivative of the matrix by the parameters.
        values, slopes, valid : (c m,), (p, c m) and (c m,) arrays
            Written: the row, its derivative and its validity.
        """
        from rankfold.warp.derivatives import differentiate

        height, width = self.frame.shape
        planes, cells, window = self.source(index, matrix)
        differentiate(
            planes,
            cells,
            window,
            plain(matrix),
            plain(derivative),
            height,
            width,
            values,
            slopes,
            valid,
        )

    def source(self, index: int, matrices: Floats) -> tuple[Floats, Bools, Window]:
        """Return planes and cells of a picture that hold the frame at ``matrices`` (..., 3, 3).

        The third result says where in the picture they lie.
        """
        part = self.sources[index].around(self.frame, matrices)
        return part.planes, part.cells, part.window


def prepare(
    stack: Stack,
    frame: Frame,
    transforms: Floats,
    dtype: npt.DTypeLike,
    executor: Executor | None = None,
    blur: float | None = None,
) -> Sampler:
    """Make a stack ready to be sampled on a frame.

    Parameters
    ----------
    stack : Stack
    frame : Frame
    transforms : (n, 3, 3) array
        Where the frame is at first; the blur follows the zoom that it has there.
    dtype : dtype
        Precision of what is sampled.
    executor : Executor, optional
        Who prepares the pictures; the calling thread by default.
    blur : float, optional
        Standard deviation in px of the frame. The default is just enough against aliasing: none
        where the frame is at least as fine as the picture.
    """

    def prepare_one(index: int) -> PreparedSource:
        zoom = source_pixels_per_pixel(transforms[index], frame)
        # Unit: px of the picture.
        sigma = max(zoom - 1, 0) / 2 if blur is None else blur * zoom
        return PreparedSource(
            stack.sources[index],
            stack.masks[index],
            margin=reach_of(sigma),
            prepare=partial(prepare_source, blur=sigma),
            frame=frame,
            matrices=transforms[index],
        )

    # Small pictures are prepared in the calling thread.
    largest = max(mask.size for mask in stack.masks)
    work = shared_out(executor, largest)
    sources = prepared_in(store_of(executor), work, prepare_one, len(stack))
    return Sampler(frame, sources, stack.channels, stack.names, dtype, stack.value_range)


def plain(matrices: Floats) -> Floats:
    """Return matrices as the compiled functions expect them: in one piece, and their own."""
    return np.array(matrices, dtype=np.float64, order="C")


def source_pixels_per_pixel(matrix: Floats, frame: Frame) -> float:
    """Return how many source pixels (in length) a pixel in the middle of the frame spans."""
    # The determinant is the area that a pixel covers; its root is a length.
    stretch = point_jacobian(matrix, frame.centre[None])[0]
    return float(np.sqrt(np.abs(np.linalg.det(stretch))))
