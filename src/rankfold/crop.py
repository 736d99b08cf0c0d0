"""Cut a result to the area that all pictures cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.families import shift
from rankfold.result import Alignment


def crop(result: Alignment, top: int, left: int, bottom: int, right: int) -> Alignment:
    """The same result on the rows ``top:bottom`` and columns ``left:right`` of its frame."""
    h, w = result.frame.shape
    if not (top >= 0 and top + 4 <= bottom <= h and left >= 0 and left + 4 <= right <= w):
        raise InputError(
            f"rows {top}:{bottom}, columns {left}:{right} are no part of 4x4 or more of the {h}x{w} frame"
        )
    box = np.s_[:, top:bottom, left:right]
    corner = shift(np.array([left, top]))
    return replace(
        result,
        transforms=result.transforms @ corner,
        start=result.start @ corner,
        aligned=result.aligned[box],
        low_rank=result.low_rank[box],
        sparse=result.sparse[box],
        valid=result.valid[box],
    )


def crop_to_common(result: Alignment) -> Alignment:
    """The largest rectangle that every picture covers; failed pictures do not count."""
    counted = result.valid[~result.failed] if not result.failed.all() else result.valid
    top, left, bottom, right = largest_rectangle(np.asarray(counted.all(axis=0)))
    if min(bottom - top, right - left) < 4:
        raise InputError(
            "the pictures have no area of 4x4 pixels in common; leave out --crop, or use a smaller frame"
        )
    return crop(result, top, left, bottom, right)


def largest_rectangle(inside: npt.NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """(top, left, bottom, right) of the largest all-True rectangle, ends excluded; all zero if there is none.

    Row by row: above every column stands a bar of True values, and a stack of rising bars gives the widest rectangle
    under each of them.
    """
    best, box = 0, (0, 0, 0, 0)
    heights = np.zeros(inside.shape[1] + 1, dtype=int)  # the last bar stays zero and ends the row
    for row, line in enumerate(inside):
        heights[:-1] = np.where(line, heights[:-1] + 1, 0)
        rising: list[int] = []
        for column, height in enumerate(heights):
            while rising and heights[rising[-1]] >= height:
                tall = int(heights[rising.pop()])
                left = rising[-1] + 1 if rising else 0
                if tall * (column - left) > best:
                    best, box = tall * (column - left), (row + 1 - tall, left, row + 1, column)
            rising.append(column)
    return box
