"""The grid of a plate: which part of the scene it shows, and how finely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankfold.arguments import number, shown, word
from rankfold.errors import InputError
from rankfold.families import Floats, inverse, map_points, shift
from rankfold.stack import Bools, Frame, rescaling
from rankfold.stack.rectangle import largest_rectangle
from rankfold.warp.sampling import source_pixels_per_pixel

Ints = npt.NDArray[np.int_]

AREAS = {
    "frame": "the frame of the run",
    "common": "the largest rectangle that every picture covers",
    "union": "everything that some picture covers",
}
"""What a plate can show, by the name that the caller gives."""

# A union may have so many times the area of the frame. A picture that lies wrongly can reach far.
LARGEST_UNION = 9.0

# A frame that spans as much as the median picture, but for this share of its sides, shows the whole
# of it: at full size, it has just the picture's height and width.
SAME_SIZE = 0.02

# Unit: px. Long side of the coarse grid on which the common area is looked for.
LOOKED_AT = 400


@dataclass(frozen=True)
class Grid:
    """A grid of pixels, and where it lies.

    Attributes
    ----------
    frame : Frame
        Its size.
    to_frame : (3, 3) array
        From its coordinates to those of the run's frame. It only scales and shifts.
    """

    frame: Frame
    to_frame: Floats


def grid_for(
    transforms: Floats, shapes: Ints, frame: Frame, area: str, scale: float | None
) -> Grid:
    """Lay out the grid of a plate.

    Parameters
    ----------
    transforms : (n, 3, 3) array
        From the frame to the pictures that count.
    shapes : (n, 2) array
        Height and width of these pictures.
    frame : Frame
    area : str
        A key of AREAS.
    scale : float, optional
        Pixels of the grid for one of the frame; as many as the pictures have if left out.
    """
    word("area", area, AREAS)
    factor = full_scale(transforms, frame)
    if scale is not None:
        factor = number("scale", scale, "give a positive one, as 2")
    if not 0 < factor < np.inf:
        raise InputError(f"scale={shown(scale)} must be positive")
    if area == "frame":
        if scale is None:
            height, width = full_shape(transforms, frame, shapes)
        else:
            height, width = (round(side * factor) for side in frame.shape)
        size = Frame(max(height, 4), max(width, 4))
        # The grid ends exactly where the frame ends.
        return Grid(size, rescaling(np.array(frame.shape[::-1]) / size.shape[::-1]))
    edges = _edges(transforms, shapes)
    if area == "union":
        low, high = _union(edges, frame)
    else:
        low, high = _common(transforms, shapes, edges)
    width, height = np.floor((high - low) * factor).astype(int)
    if min(width, height) < 4:
        raise InputError(
            "the pictures have no area in common of 4x4 pixels; use area='frame', or a larger scale"
        )
    # Pixel edges are half a pixel around the centres.
    corner = shift(low)
    return Grid(
        Frame(int(height), int(width)),
        corner @ np.diag([1 / factor, 1 / factor, 1.0]) @ shift(np.full(2, 0.5)),
    )


def full_scale(transforms: Floats, frame: Frame) -> float:
    """Say how many pixels of the median picture one pixel of the frame spans."""
    return float(np.median([source_pixels_per_pixel(T, frame) for T in transforms]))


def full_shape(transforms: Floats, frame: Frame, shapes: Ints) -> tuple[int, int]:
    """Say how many pixels, (height, width), the frame has when it is as fine as the pictures.

    Parameters
    ----------
    transforms : (n, 3, 3) array
        From the frame to the pictures.
    frame : Frame
    shapes : (n, 2) array
        Height and width of these pictures.
    """
    spanned = np.array(frame.shape) * full_scale(transforms, frame)
    usual = np.median(shapes, axis=0)
    if (np.abs(spanned - usual) <= SAME_SIZE * usual).all():
        spanned = usual
    height, width = spanned
    return round(float(height)), round(float(width))


def _edges(transforms: Floats, shapes: Ints) -> Floats:
    """Where the corners (n, 4, 2) of the pictures lie in the frame, as (x, y)."""
    corners = []
    for T, (height, width) in zip(transforms, shapes, strict=True):
        outline = np.array([[0, 0], [width, 0], [width, height], [0, height]]) - 0.5
        back = inverse(T)
        depth = np.column_stack([outline, np.ones(4)]) @ back[2]
        if (depth <= 0).any() and (depth >= 0).any():
            raise InputError(
                "a picture reaches over the horizon of the frame, so it covers no limited area; "
                "use area='frame'"
            )
        corners.append(map_points(back, outline))
    return np.stack(corners)


def _union(edges: Floats, frame: Frame) -> tuple[Floats, Floats]:
    """Lower and upper corner (2,) of everything that is covered, in the frame."""
    low = edges.min(axis=(0, 1))
    high = edges.max(axis=(0, 1))
    times = np.prod(high - low) / np.prod(frame.shape)
    if times > LARGEST_UNION:
        raise InputError(
            f"the pictures together cover {times:.0f} times the area of the frame, as if one of "
            "them lay far off; use area='frame' or 'common'"
        )
    return low, high


def _common(transforms: Floats, shapes: Ints, edges: Floats) -> tuple[Floats, Floats]:
    """Lower and upper corner (2,) of the largest rectangle that all pictures cover."""
    low = edges.min(axis=1).max(axis=0)
    high = edges.max(axis=1).min(axis=0)
    if not (high > low).all():
        raise InputError("the pictures have no area in common; use area='frame' or 'union'")
    step = float((high - low).max()) / LOOKED_AT
    xs = np.arange(low[0] + step / 2, high[0], step)
    ys = np.arange(low[1] + step / 2, high[1], step)
    points = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    covered = np.ones(len(points), bool)
    for T, (height, width) in zip(transforms, shapes, strict=True):
        covered &= _inside(map_points(T, points), height, width)
    top, left, bottom, right = largest_rectangle(covered.reshape(len(ys), len(xs)))
    if min(bottom - top, right - left) < 4:
        raise InputError("the pictures have no area in common; use area='frame' or 'union'")
    # Whole squares of the coarse grid, less one at every edge, of which a part may be outside.
    first = low + step * (np.array([left, top]) + 1)
    last = low + step * (np.array([right, bottom]) - 1)
    return first, last


def _inside(points: Floats, height: int, width: int) -> Bools:
    """Whether points (k, 2) lie among the pixel centres of a picture."""
    x, y = points.T
    return np.asarray((x >= 0) & (y >= 0) & (x <= width - 1) & (y <= height - 1))
