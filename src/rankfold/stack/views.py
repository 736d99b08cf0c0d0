"""Small grey copies of pictures, in which keypoints are looked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats
from rankfold.stack.checks import Bools
from rankfold.stack.reduction import coarser

# Unit: px. The long side of a view is at most this.
VIEW_SIDE = 1000

# Percentiles of the valid pixels that become black and white. The few pixels beyond them, lamps
# and dead pixels, would otherwise decide on the contrast of all others.
DARKEST = 0.5
BRIGHTEST = 99.5

# Weights of red, green and blue in Rec. 601.
GREY = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True)
class View:
    """A small grey copy of a picture, in which exposure no longer matters.

    Parameters
    ----------
    pixels : (h, w) array of uint8
        From the darkest (0) to the brightest (255) pixels of the picture.
    valid : (h, w) array of bool
        True where a pixel is valid; missing ones have the median of the others.
    reduction : int
        A pixel is the mean of ``reduction`` x ``reduction`` pixels of the original.
    """

    pixels: npt.NDArray[np.uint8]
    valid: Bools
    reduction: int

    @property
    def extent(self) -> Floats:
        """Width and height (2,) of what the view shows, in px of the original."""
        height, width = self.pixels.shape
        return self.reduction * np.array([width, height], dtype=np.float64)

    def within(self, side: int) -> View:
        """Return the view, or a coarser one with a long side of at most ``side`` px."""
        if max(self.pixels.shape) <= side:
            return self
        return view_of(self.pixels.astype(np.float32), self.valid, self.reduction, side)

    def to_original(self, points: Floats) -> Floats:
        """Turn points (k, 2) of the view into points of the original, as (x, y)."""
        # Both share their outer edges at -0.5, not the centres of their first pixels.
        return (points + 0.5) * self.reduction - 0.5


def view_of(
    picture: npt.NDArray[Any], valid: Bools, reduction_so_far: int = 1, side: int = VIEW_SIDE
) -> View:
    """Make the small grey copy of a picture.

    Parameters
    ----------
    picture : (h, w) or (h, w, c) array of floats
        Three channels become grey by Rec. 601, others by their mean.
    valid : (h, w) array of bool
        True where a pixel is valid.
    reduction_so_far : int
        By how much the picture is coarser than the original already.
    side : int
        The long side of the view is at most this, in px.

    Returns
    -------
    View
    """
    grey = _grey(picture)
    factor = -(-max(grey.shape) // side)
    # A strip may be shorter than the factor on one side; something must be left of it.
    factor = min(factor, *grey.shape)
    values, kept = coarser(grey, valid, factor) if factor > 1 else (grey, valid)
    if kept.all():
        # One value for all pixels: of a long video every mask would take as much as its picture.
        kept = np.broadcast_to(np.True_, values.shape)
    return View(_stretched(values, kept), kept, reduction_so_far * factor)


def _grey(picture: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """One value a pixel (h, w)."""
    if picture.ndim == 2:
        return picture
    channels = picture.shape[2]
    weights = GREY if channels == 3 else np.full(channels, 1 / channels)
    return np.asarray(picture @ weights.astype(picture.dtype))


def _stretched(values: npt.NDArray[Any], valid: Bools) -> npt.NDArray[np.uint8]:
    """Values (h, w) as bytes, from the darkest to the brightest valid pixel."""
    seen = values[valid]
    if not seen.size:
        return np.zeros(values.shape, np.uint8)
    low, middle, high = np.percentile(seen, [DARKEST, 50, BRIGHTEST])
    # A flat picture has no range; any divisor leaves it flat.
    span = high - low if high > low else 1.0
    filled = np.where(valid, values, middle)
    levels = np.clip((filled - low) / span, 0, 1) * 255
    return np.asarray(np.rint(levels), dtype=np.uint8)
