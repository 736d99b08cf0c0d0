"""One picture ready to be sampled: the coefficients of its spline, where the frame needs them.

A photograph often has a hundred times the pixels of the frame that is laid over it, and a
coefficient takes eight bytes. Of a large picture, only the part under the frame is therefore made
ready, with some room around it, and another part when the frame has left the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats
from rankfold.scale import MEMORY, Executor, Store
from rankfold.stack import Bools, Frame
from rankfold.warp.smoothing import smooth

Array = npt.NDArray[Any]

# Planes (c, h + 2, w + 2) and cells (h + 2, w + 2), see ``prepare_source``.
Coefficients = tuple[Floats, Bools]

# Where in its picture a part begins, as x and y, and width and height of the picture.
Window = tuple[int, int, int, int]

# Unit: px. A coefficient this far from an edge does not depend on it, to the last bit. What an edge
# adds falls by 0.27 a pixel: after 28 it is below rounding, and the last bit, in which it may still
# show, stays wrong with a probability of 0.27 a pixel from there on.
TAIL = 64

# Share of the frame's size in the picture: the frame may go this far to any side of where it was
# before another part is prepared.
ROOM = 0.25

# Share of the picture: if a part would be larger, the whole picture is prepared instead.
WHOLE_ABOVE = 0.5

# Unit: pixels. Pictures up to this size are always prepared whole, which takes less time than to
# ask again and again where the frame is.
SMALL_PICTURE = 2**18

# Pictures that are prepared before their coefficients go to a store.
TOGETHER = 32

# Unit: px. A narrower Gaussian changes nothing to three digits and is not applied.
LEAST_BLUR = 0.05


@dataclass(frozen=True)
class PreparedPart:
    """A part of a picture, as good as the whole for points between ``low`` and ``high``."""

    # (c, h + 2, w + 2): coefficients of the cubic B-spline, mirrored beyond the edge.
    planes: Floats
    # (h + 2, w + 2): may points between pixels [i, j] and [i+1, j+1] be used? Empty if all may.
    cells: Bools
    window: Window
    # (2,) as (x, y): infinite where the part ends with the picture.
    low: Floats
    high: Floats
    # Whether the part is all of the picture.
    whole: bool


class PreparedSource:
    """A picture of which the part under the frame is prepared, and another one when that moves on.

    Once the whole picture has been prepared, it stays so. Which part is prepared depends on where
    the frame has been before; what is sampled does not, to the last bit.

    Parameters
    ----------
    picture, mask : (h, w[, c]) and (h, w) arrays
        A missing pixel is filled with the nearest value, which may be anywhere. A part with missing
        pixels is therefore never prepared alone.
    margin : int
        How many pixels (besides ``TAIL``) at an edge of a part have wrong values, because
        ``prepare`` did not see beyond the edge.
    prepare : callable
        From a part (h, w[, c]), its mask (h, w), and whether no pixel of the picture is missing, to
        planes and cells.
    frame, matrices : Frame and (..., 3, 3) array
        What is prepared first.
    """

    def __init__(
        self,
        picture: Array,
        mask: Bools,
        margin: int,
        prepare: Callable[[Array, Bools, bool], Coefficients],
        frame: Frame,
        matrices: Floats,
    ) -> None:
        # Set to None once the whole picture is prepared, so that its memory can be freed.
        self._picture: Array | None = picture
        self._mask = mask
        self._complete = bool(mask.all())
        self._size = np.array(mask.shape[::-1])
        self._margin = TAIL + margin
        self._prepare = prepare
        self._held = self._prepare_between(*self._ends(frame, matrices))

    def around(self, frame: Frame, matrices: Floats) -> PreparedPart:
        """Return a part that holds the ``frame`` at all ``matrices`` (..., 3, 3)."""
        held = self._held
        if held.whole:
            return held
        low, high = self._ends(frame, matrices)
        if (low < held.low).any() or (high > held.high).any():
            held = self._prepare_between(low, high)
            self._held = held
        return held

    @property
    def planes(self) -> Floats:
        """The coefficients that are held at the moment."""
        return self._held.planes

    def move_to(self, room: Floats) -> None:
        """Hold the coefficients in other room of their shape."""
        room[...] = self._held.planes
        self._held = replace(self._held, planes=room)

    def _ends(self, frame: Frame, matrices: Floats) -> tuple[Floats, Floats]:
        """The least and the greatest (x, y) of the frame on the picture, each (2,)."""
        low, high = extent(frame.corners, matrices)
        last = self._size - 1
        return np.clip(low, 0, last), np.clip(high, 0, last)

    def _prepare_between(self, low: Floats, high: Floats) -> PreparedPart:
        """Prepare what is between two points (2,), and some room around it."""
        # Preparing the whole picture is the last thing that happens, so the picture is there.
        assert self._picture is not None
        size = self._size
        room = ROOM * (high - low) + self._margin
        start = np.maximum(np.floor(low - room), 0).astype(int)
        stop = np.minimum(np.ceil(high + room) + 1, size).astype(int)
        whole = self._must_be_whole(start, stop)
        if whole:
            start = np.zeros_like(size)
            stop = size
        part = np.s_[start[1] : stop[1], start[0] : stop[0]]
        planes, cells = self._prepare(self._picture[part], self._mask[part], self._complete)
        if whole:
            self._picture = None
        return PreparedPart(
            planes,
            cells,
            window=(int(start[0]), int(start[1]), int(size[0]), int(size[1])),
            low=np.where(start > 0, start + self._margin, -np.inf),
            high=np.where(stop < size, stop - 1 - self._margin, np.inf),
            whole=whole,
        )

    def _must_be_whole(self, start: Array, stop: Array) -> bool:
        """Whether the part from ``start`` to ``stop`` (2,) must give way to the whole picture."""
        total = self._mask.size
        pixels = np.prod(stop - start, dtype=float)
        if total <= SMALL_PICTURE or pixels > WHOLE_ABOVE * total:
            return True
        return not self._mask[start[1] : stop[1], start[0] : stop[0]].all()


def prepared_in(
    store: Store, executor: Executor, prepare: Callable[[int], PreparedSource], count: int
) -> tuple[PreparedSource, ...]:
    """Prepare pictures, and keep their coefficients in a store, where that is not memory."""
    if store is MEMORY:
        return tuple(executor.run(prepare, range(count)))
    found: list[PreparedSource] = []
    for first in range(0, count, TOGETHER):
        some = executor.run(prepare, range(first, min(first + TOGETHER, count)))
        rooms = store.pieces([source.planes.shape for source in some], np.float64)
        for source, room in zip(some, rooms, strict=True):
            source.move_to(room)
            store.done(room)
        found += some
    return tuple(found)


def extent(corners: Floats, matrices: Floats) -> tuple[Floats, Floats]:
    """Return the least and the greatest (x, y) that a frame reaches at ``matrices`` (..., 3, 3).

    ``corners`` (4, 2) are those of the frame. Both results (2,) are infinite if the frame crosses
    a homography's horizon or a matrix is not finite.
    """
    homogeneous = np.column_stack([corners, np.ones(len(corners))])
    ends = matrices.reshape(-1, 3, 3) @ homogeneous.T
    if not ((ends[:, 2] > 0).all() and np.isfinite(ends).all()):
        return np.full(2, -np.inf), np.full(2, np.inf)
    points = ends[:, :2] / ends[:, 2:]
    return points.min(axis=(0, 2)), points.max(axis=(0, 2))


def prepare_source(
    source: Array, mask: Bools, complete: bool | None = None, *, blur: float
) -> Coefficients:
    """Return a picture's spline coefficients and the cells that do not depend on missing pixels.

    Parameters
    ----------
    source, mask : (h, w[, c]) and (h, w) arrays
        The picture, and True where a pixel may be used.
    complete : bool, optional
        As in :func:`rankfold.warp.smoothing.smooth`.
    blur : float
        Standard deviation in px of a Gaussian blur that comes first. It is a mean over the pixels
        that may be used: beyond the edge and under the mask there is nothing, not zeros.

    Returns
    -------
    planes : (c, h + 2, w + 2) array
        Coefficients, mirrored by one beyond the edge.
    cells : (h + 2, w + 2) array
        Whether points between pixels [i, j] and [i+1, j+1] may be used; empty if all may.
    """
    from rankfold.warp.filters import spline_coefficients

    channels = np.moveaxis(np.atleast_3d(source), 2, 0)
    planes = [np.ascontiguousarray(plane, dtype=np.float64) for plane in channels]
    if blur > LEAST_BLUR:
        planes = [smooth(plane, mask, blur, complete) for plane in planes]
    cells = np.ones((0, 0), np.bool_)
    if not mask.all():
        planes, cells = _fill_missing(planes, mask)
    height, width = mask.shape
    coefficients = np.empty((len(planes), height + 2, width + 2))
    for plane, out in zip(planes, coefficients, strict=True):
        spline_coefficients(plane, out)
    return coefficients, cells


def _fill_missing(planes: list[Floats], mask: Bools) -> tuple[list[Floats], Bools]:
    """Planes (h, w) with the nearest value at missing pixels, and the cells that may be used.

    The filling is needed only for the spline to exist. No valid point depends on a filled pixel
    directly, and what reaches it through the spline's tails is below 4 % of the filling's error.
    """
    from scipy import ndimage

    nearest = ndimage.distance_transform_edt(~mask, return_distances=False, return_indices=True)
    filled = [plane[nearest[0], nearest[1]] for plane in planes]
    # A cell needs rows i-1 .. i+2 and columns j-1 .. j+2; beyond the edge there is nothing to need.
    cells = ndimage.minimum_filter(mask, size=4, origin=-1, mode="constant", cval=True)
    return filled, np.pad(cells, (0, 2))
