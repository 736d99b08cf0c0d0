"""The largest rectangle in a mask."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def largest_rectangle(inside: npt.NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """Return (top, left, bottom, right) of the largest all-True rectangle, ends excluded.

    All four are zero if there is none. ``inside`` is (h, w). Row by row, a bar of True values
    stands above every column; the largest rectangle with its lower edge on the row is found under
    these bars.
    """
    best = 0
    box = (0, 0, 0, 0)
    # The last bar stays zero and ends the row.
    bars = np.zeros(inside.shape[1] + 1, dtype=int)
    for row, line in enumerate(inside):
        bars[:-1] = np.where(line, bars[:-1] + 1, 0)
        area, height, left, right = _largest_under(bars)
        if area > best:
            best = area
            box = (row + 1 - height, left, row + 1, right)
    return box


def _largest_under(bars: npt.NDArray[np.int_]) -> tuple[int, int, int, int]:
    """Area, height, left and right of the largest rectangle under bars (w + 1,) that end in 0."""
    best = (0, 0, 0, 0)
    # Columns of bars that rise from left to right; each may still begin a larger rectangle.
    rising: list[int] = []
    for column, bar in enumerate(bars):
        # A bar that is not higher ends every rectangle under the higher ones before it.
        while rising and bars[rising[-1]] >= bar:
            height = int(bars[rising.pop()])
            left = rising[-1] + 1 if rising else 0
            area = height * (column - left)
            if area > best[0]:
                best = (area, height, left, column)
        rising.append(column)
    return best
