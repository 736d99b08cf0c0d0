"""By how much large pictures are reduced where the caller does not say."""

from __future__ import annotations

import numpy as np

# Pixels of a frame that is chosen by default: 256 x 256.
FRAME_PIXELS = 2**16
# Values (pictures x pixels x channels) of such a batch.
BATCH_VALUES = 2**24


def default_reduction(images: int, height: int, width: int, channels: int) -> int:
    """The factor by which a frame of the pictures' size gets a sensible number of pixels."""
    pixels = min(FRAME_PIXELS, BATCH_VALUES / max(images * channels, 1))
    return _factor(height * width / pixels)


def batch_reduction(images: int, shape: tuple[int, ...]) -> int:
    """The factor by which pictures that are only decomposed get a sensible number of values."""
    return _factor(images * np.prod(shape, dtype=float) / BATCH_VALUES)


def _factor(too_many: float) -> int:
    """The whole factor along each axis that makes so many times too many values fit."""
    return max(int(np.ceil(np.sqrt(too_many) - 1e-9)), 1)
