"""Small copies of the pictures, which the report shows beside the results."""

from __future__ import annotations

import numpy as np

from rankfold.runs.display import Array, Bytes, as_bytes, display_range
from rankfold.stack import Stack

THUMBNAIL = 192  # long side in pixels: sharp enough on a page, small enough for hundreds of them


def small_copies(stack: Stack, side: int = THUMBNAIL) -> list[Bytes]:
    """Shrink every picture to at most ``side`` pixels, as bytes.

    Parameters
    ----------
    stack : Stack
    side : int
        The longest side of a copy, in pixels.

    Returns
    -------
    list of (h, w) or (h, w, c) uint8 arrays
        One range from dark to bright is used for the whole stack, so that copies can be compared.
    """
    usable = [source[mask] for source, mask in zip(stack.sources, stack.masks, strict=True)]
    low, high = display_range(usable)
    return [as_bytes(_shrunk(source, side), low, high) for source in stack.sources]


def _shrunk(source: Array, side: int) -> Array:
    """Average squares of a picture (h, w[, c]), so that no side is above ``side`` pixels."""
    longest = max(source.shape[:2])
    k = max(int(np.ceil(longest / side)), 1)
    # A picture that is only a few pixels high has no whole squares.
    ky, kx = (min(k, size) for size in source.shape[:2])
    h = source.shape[0] // ky
    w = source.shape[1] // kx
    # What does not fill a whole square at the right and lower edge is cut off.
    whole = source[: h * ky, : w * kx]
    squares = whole.reshape(h, ky, w, kx, *source.shape[2:])
    return np.asarray(squares.mean(axis=(1, 3)))
