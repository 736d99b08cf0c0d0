"""Which pixels of a block the vote on what is in error has to look at.

A pixel is left out of the regression where the window around it is mostly error. Windows reach
over the edges of a block, so the block brings the pixels around it along. What a kernel is told is
a list of *segments*: whole rows of one channel, and which of their pixels belong to the block.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankfold.manifold.contract import Block

# The widest window: its votes are counted in sixteen bits.
WIDEST = 255


def window_for(share: float, shape: tuple[int, int, int]) -> int:
    """The odd width of the window: a share of the short side of a picture, 1 at least."""
    side = min(shape[1:])
    return min(max(2 * round((share * side - 1) / 2) + 1, 1), WIDEST)


def halo_for(window: int, shape: tuple[int, int, int]) -> int:
    """How many pixels before and after a block the windows reach, in whole rows of the picture."""
    reach = window // 2
    return (reach + 1) * shape[2] if reach else 0


def segments(block: Block, window: int, shape: tuple[int, int, int]) -> npt.NDArray[np.int64]:
    """The rows to vote on, (s, 6), one segment a channel that the block touches.

    Columns: where the rows begin in ``block.sparse``, how many rows there are, how wide they are;
    how many of their pixels come before the block's, how many are the block's, and where those
    begin in the block.
    """
    channels, height, width = shape
    reach = window // 2
    if reach == 0:
        # Every pixel votes for itself alone: one row of the block's own pixels.
        return np.array([[block.before, 1, block.size, 0, block.size, 0]], dtype=np.int64)
    found = []
    for channel in range(channels):
        origin = channel * height * width
        low = max(block.first - origin, 0)
        high = min(block.first + block.size - origin, height * width)
        if low >= high:
            continue
        top = max(low // width - reach, 0)
        bottom = min(-(-high // width) + reach, height)
        begin = origin + top * width - (block.first - block.before)
        skipped = low - top * width
        target = origin + low - block.first
        found.append([begin, bottom - top, width, skipped, high - low, target])
    return np.array(found, dtype=np.int64)
