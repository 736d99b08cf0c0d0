"""What masks are compared with: background subtraction of OpenCV, and a median with a threshold.

All of them are given where the frames lie, by rankfold's own placing. Where the camera moves, every
frame is brought to the canvas, subtracted there, and its mask is brought back.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats, inverse
from rankfold.io import Source
from rankfold.moving.placing import Placing
from rankfold.outputs.kernels import medians
from rankfold.stack import Bools, Frame

Bytes = npt.NDArray[np.uint8]

# Where cv2 has the function that makes a subtractor.
SUBTRACTORS = {
    "MOG2": ("cv2", "createBackgroundSubtractorMOG2"),
    "KNN": ("cv2", "createBackgroundSubtractorKNN"),
    # Only in opencv-contrib.
    "GSOC": ("cv2.bgsegm", "createBackgroundSubtractorGSOC"),
}
# The value of foreground; 127 is a shadow, which counts as background.
FOREGROUND = 255
# Frames that the median is taken over, at most, spread over the clip.
MEDIAN_OF = 100


def is_installed(name: str) -> bool:
    """Whether this cv2 has a subtractor of SUBTRACTORS."""
    module, function = SUBTRACTORS[name]
    try:
        return hasattr(import_module(module), function)
    except ImportError:
        return False


class OnCanvas:
    """The frames of a clip on the canvas, and what lies there brought back to a frame.

    Iterating gives one frame after the other; None for those that were not placed. What a frame
    does not see of the canvas is the median there, so that it is no surprise.

    Parameters
    ----------
    frames : Source
    placing : Placing
        Where each frame lies.
    """

    def __init__(self, frames: Source, placing: Placing) -> None:
        self._frames = frames
        self._placing = placing
        self._own = Frame(*frames.shapes[0][:2])

    def __iter__(self) -> Iterator[Bytes | None]:
        """Give one frame after the other on the canvas."""
        for k, picture in enumerate(self._frames.pictures()):
            yield self._completed(picture.values, k) if self.is_placed(k) else None

    def is_placed(self, k: int) -> bool:
        """Whether it is known where frame ``k`` lies."""
        return bool(np.isfinite(self._placing.transforms[k]).all())

    def brought_back(self, picture: Bytes, k: int, smooth: bool = False) -> Bytes:
        """Bring what lies on the canvas into the pixels of frame ``k``."""
        if not self._placing.moves:
            return picture
        return _warped(picture, inverse(self._placing.transforms[k]), self._own, smooth)

    @cached_property
    def median(self) -> Bytes:
        """The median of frames spread over the clip, at every pixel of the canvas."""
        placed = [k for k in range(len(self._frames)) if self.is_placed(k)]
        spread = np.linspace(0, len(placed) - 1, min(len(placed), MEDIAN_OF)).round().astype(int)
        chosen = [placed[k] for k in spread]
        brought = [
            self._brought(picture.values, k)
            for k, picture in zip(chosen, self._frames.some(chosen).pictures(), strict=True)
        ]
        values = np.stack([np.moveaxis(np.atleast_3d(one), 2, 0) for one, _ in brought])
        trust = np.stack([seen for _, seen in brought])
        # n x c x h x w
        middle = medians(values.astype(np.float32), trust.astype(np.float32))
        found: Bytes = np.moveaxis(np.nan_to_num(middle), 0, -1).round().astype(np.uint8)
        return found if brought[0][0].ndim == 3 else found[..., 0]

    def _completed(self, picture: Bytes, k: int) -> Bytes:
        """One frame on the canvas, with the median where it does not look."""
        values, seen = self._brought(picture, k)
        if seen.all():
            return values
        where = seen if values.ndim == 2 else seen[..., None]
        return np.asarray(np.where(where, values, self.median))

    def _brought(self, picture: Bytes, k: int) -> tuple[Bytes, Bools]:
        """One frame on the canvas, and what (h, w) it sees of it."""
        every = np.ones(self._own.shape, np.uint8)
        if not self._placing.moves:
            return picture, every.astype(bool)
        matrix = self._placing.transforms[k]
        canvas = self._placing.canvas
        return _warped(picture, matrix, canvas), _warped(every, matrix, canvas, smooth=False) > 0


def subtracted(frames: OnCanvas, name: str) -> Iterator[Bools | None]:
    """Give the mask of every frame by a subtractor of SUBTRACTORS; None for those not placed.

    The subtractor sees the clip twice: it learns in the first pass, and what it finds in the
    second one counts.
    """
    module, function = SUBTRACTORS[name]
    subtractor = getattr(import_module(module), function)()
    for picture in frames:
        if picture is not None:
            subtractor.apply(picture)
    for k, picture in enumerate(frames):
        if picture is None:
            yield None
        else:
            found = subtractor.apply(picture)
            yield frames.brought_back(found, k) == FOREGROUND


def distances_from_median(source: Source, frames: OnCanvas) -> Iterator[Bytes | None]:
    """Give by how much (h, w) the largest channel of every frame differs from the median behind it.

    None for frames that were not placed.
    """
    for k, picture in enumerate(source.pictures()):
        if frames.is_placed(k):
            behind = np.atleast_3d(frames.brought_back(frames.median, k, smooth=True))
            error = np.abs(np.atleast_3d(picture.values).astype(np.int16) - behind)
            yield error.max(axis=2).astype(np.uint8)
        else:
            yield None


def _warped(picture: Bytes, matrix: Floats, grid: Frame, smooth: bool = True) -> Bytes:
    """Bring a picture to a grid by a matrix from the grid to the picture; zero outside of it."""
    cv2: Any = import_module("cv2")
    flags = (cv2.INTER_LINEAR if smooth else cv2.INTER_NEAREST) | cv2.WARP_INVERSE_MAP
    size = (grid.width, grid.height)
    return np.asarray(cv2.warpPerspective(picture, matrix, size, flags=flags))
