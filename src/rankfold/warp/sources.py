"""One picture ready to be sampled: its spline coefficients, of a large one only where the frame is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats, shift
from rankfold.stack import Bools, Frame
from rankfold.warp.smoothing import smooth

Array = npt.NDArray[Any]
Coefficients = tuple[Floats, Bools]  # planes and cells, see prepare_source

TAIL = 32  # px after which a coefficient does not know whether there was an edge: 0.27^32 is below rounding
ROOM = 0.25  # of the frame's size in the picture: how far it may go to any side before another part is prepared
WORTH = 0.5  # share of the picture beyond which all of it is prepared
SMALL = (
    2**18
)  # pixels up to which that is always so: it takes less time than to look where the frame is


@dataclass(frozen=True)
class Prepared:
    """A part of a picture, as good as the whole for points between ``low`` and ``high``."""

    planes: Floats  # (c, h + 2, w + 2): cubic B-spline coefficients, mirrored beyond the edge
    cells: Bools  # (h + 2, w + 2): are points between [i, j] and [i+1, j+1] known? empty: all are
    there: Floats  # (3, 3) from coordinates of the picture to those of the part
    low: Floats  # (2,) as (x, y); infinite where the part ends with the picture
    high: Floats  # (2,)
    whole: bool  # whether this is all of the picture


class Source:
    """A picture of which a part is prepared, and another one when the frame has left that; once all of it, for good.

    A photograph has a hundred times the pixels of what is looked at in it, and coefficients take eight bytes each.

    Parameters
    ----------
    picture, mask : (h, w[, c]) and (h, w) arrays
        A missing pixel gets the nearest value, which may be anywhere, so a part has no such pixels.
    margin : int
        At an edge of a part that is not one of the picture, pixels (apart from those of TAIL) whose values are wrong.
    prepare : callable
        From a part and its mask to planes and cells.
    frame, matrices : Frame and (..., 3, 3) array
        What is prepared first.
    """

    def __init__(
        self,
        picture: Array,
        mask: Bools,
        margin: int,
        prepare: Callable[[Array, Bools], Coefficients],
        frame: Frame,
        matrices: Floats,
    ) -> None:
        self._picture: Array | None = picture
        self._mask = mask
        self._size = np.array(mask.shape[::-1])
        self._margin = TAIL + margin
        self._prepare = prepare
        self._held = self._between(*self._ends(frame, matrices))

    def around(self, frame: Frame, matrices: Floats) -> Prepared:
        """A part that holds the ``frame`` at all ``matrices`` (..., 3, 3)."""
        held = self._held
        if held.whole:
            return held
        low, high = self._ends(frame, matrices)
        if (low < held.low).any() or (high > held.high).any():
            self._held = held = self._between(low, high)
        return held

    def _ends(self, frame: Frame, matrices: Floats) -> tuple[Floats, Floats]:
        """Between which points of the picture the frame lies."""
        low, high = (np.clip(end, 0, self._size - 1) for end in extent(frame.corners, matrices))
        return low, high

    def _between(self, low: Floats, high: Floats) -> Prepared:
        """Prepare what is between two points and some room."""
        assert self._picture is not None  # all of a picture is prepared once
        size = self._size
        room = ROOM * (high - low) + self._margin
        start = np.maximum(np.floor(low - room), 0).astype(int)
        stop = np.minimum(np.ceil(high + room) + 1, size).astype(int)
        part = (slice(start[1], stop[1]), slice(start[0], stop[0]))
        pixels = np.prod(stop - start, dtype=float)
        whole = bool(
            self._mask.size <= SMALL
            or pixels > WORTH * self._mask.size
            or not self._mask[part].all()
        )
        if whole:
            start, stop, part = np.zeros_like(size), size, (slice(None), slice(None))
        coefficients = self._prepare(self._picture[part], self._mask[part])
        if whole:
            self._picture = None
        return Prepared(
            *coefficients,
            there=shift(-start),
            low=np.where(start > 0, start + self._margin, -np.inf),
            high=np.where(stop < size, stop - 1 - self._margin, np.inf),
            whole=whole,
        )


def extent(corners: Floats, matrices: Floats) -> tuple[Floats, Floats]:
    """Least and greatest (x, y) of a frame at ``matrices`` (..., 3, 3); infinite where it crosses the horizon."""
    ends = matrices.reshape(-1, 3, 3) @ np.column_stack([corners, np.ones(len(corners))]).T
    if not ((ends[:, 2] > 0).all() and np.isfinite(ends).all()):
        return np.full(2, -np.inf), np.full(2, np.inf)
    points = ends[:, :2] / ends[:, 2:]
    return points.min(axis=(0, 2)), points.max(axis=(0, 2))


def prepare_source(source: Array, mask: Bools, blur: float) -> Coefficients:
    """Spline coefficients (c, h + 2, w + 2) of one source, mirrored by one, and the cells that can be known.

    The blur is normalised by the blurred mask: beyond the edge and under the mask there is nothing, not zeros.
    Missing pixels then get the nearest value, only so that the spline exists: no valid point depends on them
    directly, and what reaches it through the spline's tails is below 4 % of that filling's own error.
    """
    from rankfold.warp.filters import spline_coefficients

    planes = [
        np.ascontiguousarray(plane, dtype=np.float64)
        for plane in np.moveaxis(np.atleast_3d(source), 2, 0)
    ]
    if blur > 0.05:  # below that the kernel is a single one to three digits
        planes = [smooth(plane, mask, blur) for plane in planes]
    cells = np.ones((0, 0), np.bool_)
    if not mask.all():
        from scipy import ndimage

        nearest = ndimage.distance_transform_edt(~mask, return_distances=False, return_indices=True)
        planes = [plane[nearest[0], nearest[1]] for plane in planes]
        # rows i-1 .. i+2 and columns j-1 .. j+2 all valid, beyond the edge nothing to ask for
        cells = ndimage.minimum_filter(mask, size=4, origin=-1, mode="constant", cval=True)
        cells = np.pad(cells, (0, 2))
    coefficients = np.empty((len(planes), mask.shape[0] + 2, mask.shape[1] + 2))
    for plane, out in zip(planes, coefficients, strict=True):
        spline_coefficients(plane, out)
    return coefficients, cells
