"""Cut a result to a part of its frame, or to the area that all pictures cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.families import shift
from rankfold.occluders import Occluder
from rankfold.result import Alignment

# Unit: px. No frame is smaller, see ``Frame``.
LEAST_SIDE = 4


def crop(result: Alignment, top: int, left: int, bottom: int, right: int) -> Alignment:
    """Return the same result on the rows ``top:bottom`` and columns ``left:right`` of its frame."""
    height, width = result.frame.shape
    rows_fit = top >= 0 and top + LEAST_SIDE <= bottom <= height
    columns_fit = left >= 0 and left + LEAST_SIDE <= right <= width
    if not (rows_fit and columns_fit):
        raise InputError(
            f"rows {top}:{bottom}, columns {left}:{right} are no part of 4x4 or more "
            f"of the {height}x{width} frame; choose rows and columns inside it"
        )
    box = np.s_[:, top:bottom, left:right]
    # Coordinates of the new frame begin at its own corner.
    corner = shift(np.array([left, top]))
    return replace(
        result,
        transforms=result.transforms @ corner,
        start=result.start @ corner,
        base=None if result.base is None else result.base @ corner,
        aligned=result.aligned[box],
        low_rank=result.low_rank[box],
        sparse=result.sparse[box],
        valid=result.valid[box],
        occluders=_cropped(result.occluders, box),
    )


def _cropped(occluders: Sequence[Occluder], box: tuple[slice, ...]) -> tuple[Occluder, ...]:
    """Occluders on a part of the frame; those outside of it are left out."""
    parts = [replace(one, region=one.region[box[1:]], masks=one.masks[box]) for one in occluders]
    return tuple(part for part in parts if part.region.any())


def crop_to_common(result: Alignment) -> Alignment:
    """Return the result on the largest rectangle that every picture covers.

    Pictures that failed do not count, unless all did. Raises an InputError if no area of 4x4 pixels
    is common to all.
    """
    counted = result.valid if result.failed.all() else result.valid[~result.failed]
    common = np.asarray(counted.all(axis=0))
    top, left, bottom, right = largest_rectangle(common)
    if min(bottom - top, right - left) < LEAST_SIDE:
        raise InputError(
            "the pictures have no area of 4x4 pixels in common; "
            "keep the result as it is, or align on a smaller frame"
        )
    return crop(result, top, left, bottom, right)


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
