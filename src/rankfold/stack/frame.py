"""The canonical grid that all pictures are brought to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfold.arguments import shown, whole
from rankfold.errors import InputError
from rankfold.families import Floats, shift

# A derivative by differences, and the spline behind the sampling, need this many pixels a side.
SMALLEST_SIDE = 4

# A frame of more pixels fits into no memory, whatever is done to it.
MOST_PIXELS = 2**40


@dataclass(frozen=True)
class Frame:
    """The canonical grid: ``height`` x ``width`` pixels, centres at integers from zero.

    Parameters
    ----------
    height, width : int
        Size in pixels, each at least 4.
    """

    height: int
    width: int

    def __post_init__(self) -> None:
        """Refuse a grid without room for a derivative, and keep both sides as plain numbers."""
        # A frozen dataclass lets its own fields be set in this way only.
        for side in ("height", "width"):
            object.__setattr__(self, side, whole(f"the {side} of a frame", getattr(self, side)))
        if min(self.height, self.width) < SMALLEST_SIDE:
            raise InputError(
                f"frame {self.height}x{self.width} is too small; use at least 4x4 pixels"
            )
        if self.height * self.width > MOST_PIXELS:
            raise InputError(
                f"frame {self.height}x{self.width} has more pixels than any memory holds; use "
                "about the size of the pictures"
            )

    @classmethod
    def of(cls, size: tuple[int, int] | Frame, name: str = "frame") -> Frame:
        """Return a frame of a size (height, width); a Frame stays as it is.

        ``name`` is what the size is called in messages.
        """
        if isinstance(size, Frame):
            return size
        try:
            height, width = (whole(name, side) for side in size)
        except (TypeError, ValueError) as error:
            # The error of ``whole`` is a ValueError too, and speaks of one side alone.
            raise InputError(
                f"{name}={shown(size)} is not a size; give (height, width) in whole pixels"
            ) from error
        return cls(height, width)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width, as the shape of an array."""
        return self.height, self.width

    @property
    def grid(self) -> Floats:
        """Pixel centres (m, 2) as (x, y), row by row."""
        # The order of the columns of D: along a row first, as numpy.ravel does it.
        y, x = np.mgrid[: self.height, : self.width]
        return np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float64)

    @property
    def centre(self) -> Floats:
        """The middle (2,) as (x, y); between two pixels where a side is even."""
        # Pixel centres run from 0 to width - 1, so the middle is half of that.
        return np.array([self.width - 1, self.height - 1]) / 2

    @property
    def corners(self) -> Floats:
        """The four corner pixels (4, 2) as (x, y), clockwise from the top left one."""
        right = self.width - 1.0
        bottom = self.height - 1.0
        return np.array([[0, 0], [right, 0], [right, bottom], [0, bottom]])


def rescaling(factor: Floats) -> Floats:
    """Map pixel centres of a picture to those of the same view with ``factor`` times the pixels.

    Parameters
    ----------
    factor : (2,) array
        Pixels of the target for one pixel of the origin, as (x, y).

    Returns
    -------
    (3, 3) array
    """
    # A pixel reaches half a pixel to both sides of its centre, so the views share their
    # outer edges at -0.5, not the centres of their first pixels.
    half = np.full(2, 0.5)
    return shift(-half) @ np.diag([*factor, 1.0]) @ shift(half)
