"""Cut a result to a part of its frame, or to the area that all pictures cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rankfold.arguments import whole
from rankfold.errors import InputError
from rankfold.families import shift
from rankfold.occluders import Occluder
from rankfold.result import Alignment
from rankfold.stack.rectangle import largest_rectangle

# Unit: px. No frame is smaller, see ``Frame``.
LEAST_SIDE = 4


def crop(result: Alignment, top: int, left: int, bottom: int, right: int) -> Alignment:
    """Return the same result on the rows ``top:bottom`` and columns ``left:right`` of its frame."""
    height, width = result.frame.shape
    edges = {"top": top, "left": left, "bottom": bottom, "right": right}
    top, left, bottom, right = (whole(name, edge) for name, edge in edges.items())
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
