"""By how much large pictures are reduced where the caller does not say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankfold.families import Floats
from rankfold.stack import Frame
from rankfold.warp.sampling import source_pixels_per_pixel

# Pixels of a frame that is chosen by default: 256 x 256.
FRAME_PIXELS = 2**16
# Values (pictures x pixels x channels) of such a batch.
BATCH_VALUES = 2**24


def default_reduction(images: int, height: int, width: int, channels: int) -> int:
    """The factor by which a frame of the pictures' size gets a sensible number of pixels."""
    pixels = min(FRAME_PIXELS, BATCH_VALUES / max(images * channels, 1))
    return _factor(height * width / pixels)


def reduction_for_frame(
    shapes: Sequence[tuple[int, ...]], channels: int, frame: Frame | None
) -> int:
    """The factor for pictures that start centred or at their corner; by default for no frame.

    Parameters
    ----------
    shapes : sequence of (height, width, ...)
        Of the pictures.
    channels : int
    frame : Frame, optional
        It spans as much of the median picture as fits, so the tighter axis decides.
    """
    height, width = (float(np.median([shape[axis] for shape in shapes])) for axis in (0, 1))
    if frame is None:
        return default_reduction(len(shapes), round(height), round(width), channels)
    return max(int(min(height / frame.height, width / frame.width)), 1)


def lossless_reduction(start: Floats, frame: Frame) -> int:
    """How many pixels of the median picture one pixel of the frame spans, in whole numbers.

    ``start`` (n, 3, 3) are the transforms into the pictures as they are.
    """
    spans = [source_pixels_per_pixel(T, frame) for T in start]
    # Rounding errors of the transforms must not turn 2.0 into 1.
    return max(int(float(np.median(spans)) + 1e-9), 1)


def batch_reduction(images: int, shape: tuple[int, ...]) -> int:
    """The factor by which pictures that are only decomposed get a sensible number of values."""
    return _factor(images * np.prod(shape, dtype=float) / BATCH_VALUES)


def _factor(too_many: float) -> int:
    """The whole factor along each axis that makes so many times too many values fit."""
    return max(int(np.ceil(np.sqrt(too_many) - 1e-9)), 1)
