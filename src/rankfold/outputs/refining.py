"""Places refined at full size: an alignment on a small frame is good to a fraction of its pixels.

A pixel of the frame may span a dozen of the originals, so that a tenth of it shows in a plate.
Small tiles of every picture are compared with the same tiles of one of them, and a transform is
fitted to where each was found. Tiles in which something is in front are found anywhere, and have no
say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import FAMILIES, Floats, map_points
from rankfold.io import Picture
from rankfold.outputs.grid import Grid, full_scale
from rankfold.outputs.originals import Aligned, Originals
from rankfold.outputs.settings import OutputSettings, RefineSettings
from rankfold.outputs.warping import Warper
from rankfold.scale import Executor
from rankfold.stack import Bools

Array = npt.NDArray[Any]
Floats32 = npt.NDArray[np.float32]

# Rounds of fitting, each without the tiles that the one before did not explain.
ROUNDS = 5
# Pictures that are in memory at a time.
TOGETHER = 4

# Sides of a tile that a corner of the grid may move.
CORNERS = 1.0

# Of the weaker direction of its texture, relative to the median tile: below, a tile can slide.
LEAST_TEXTURE = 0.05


@dataclass(frozen=True)
class _Tiles:
    """Tiles of the reference.

    Attributes
    ----------
    corners : (t, 2) array of int
        Row and column of the first pixel of each.
    side : int
    reach : int
        How far around a tile is looked, px.
    patches : (t, s, s) array
        Of mean zero and unit norm.
    """

    corners: npt.NDArray[np.int_]
    side: int
    reach: int
    patches: Floats

    @property
    def centres(self) -> Floats:
        """Middles (t, 2) as (x, y)."""
        return np.asarray(self.corners[:, ::-1] + (self.side - 1) / 2, np.float64)


def refined(
    aligned: Aligned,
    originals: Originals,
    grid: Grid,
    settings: OutputSettings,
    executor: Executor,
    watch: Callable[[], object],
) -> Originals:
    """Refine where originals lie, as far as their detail says so.

    Parameters
    ----------
    aligned : Aligned
    originals : Originals
    grid : Grid
        On which they are compared.
    settings : OutputSettings
    executor : Executor
        Who compares.
    watch : callable
        Called after every picture.

    Returns
    -------
    Originals
        With other transforms, where enough tiles agree on one.
    """
    numbers = settings.refine
    chosen = originals.spread(numbers.most)
    scale = full_scale(originals.transforms[originals.placed], aligned.frame)
    if len(chosen) < 2 or scale < numbers.least_scale:
        # The alignment has seen the pictures as finely as this would.
        return originals
    errors = [
        float(np.abs(np.nan_to_num(aligned.sparse[originals.order[k]])).mean()) for k in chosen
    ]
    reference = chosen[int(np.argmin(errors))]
    matrices = originals.transforms @ grid.to_frame
    (picture,) = originals.read([reference])
    values, valid = _grey(picture, matrices[reference], grid, originals.unit)
    reach = int(np.clip(round(numbers.reach * scale), 2, numbers.side // 2))
    tiles = _tiles(values, valid, numbers, reach)
    transforms = originals.transforms.copy()
    if len(tiles.corners) < numbers.least_tiles:
        return originals

    def place(given: tuple[int, Picture]) -> Floats | None:
        index, picture = given
        values, valid = _grey(picture, matrices[index], grid, originals.unit)
        found, peaks = _found(tiles, values, valid)
        motion = _fitted(tiles.centres, found, peaks, numbers, grid)
        watch()
        return motion

    others = [k for k in chosen if k != reference]
    from_frame = np.linalg.inv(grid.to_frame)
    # Read in one pass, a few at a time: a video is decoded from its beginning.
    reading = zip(others, originals.read(others), strict=True)
    while some := list(islice(reading, TOGETHER)):
        for (index, _), motion in zip(some, executor.run(place, some), strict=True):
            if motion is not None:
                moved = matrices[index] @ motion @ from_frame
                transforms[index] = moved / moved[2, 2]
    return replace(originals, transforms=transforms)


def _grey(picture: Picture, matrix: Floats, grid: Grid, unit: float) -> tuple[Floats32, Bools]:
    """A picture on the grid in grey (h, w), and where it is valid."""
    values = picture.values
    grey = values if values.ndim == 2 else values.mean(axis=2, dtype=np.float32)
    planes, valid = Warper(grey, picture.mask, unit).whole(matrix, grid.frame)
    return planes[0], valid


def _tiles(values: Floats32, valid: Bools, numbers: RefineSettings, reach: int) -> _Tiles:
    """Tiles of a picture with texture in all directions, spread over it."""
    side = numbers.side
    height, width = values.shape
    rows = _starts(height, side, reach, numbers.across)
    columns = _starts(width, side, reach, numbers.across)
    corners = []
    patches = []
    textures = []
    for row in rows:
        for column in columns:
            box = np.s_[row : row + side, column : column + side]
            if not valid[box].all():
                continue
            patch = values[box].astype(np.float64)
            corners.append((row, column))
            patches.append(patch)
            textures.append(_texture(patch))
    nothing = _Tiles(np.zeros((0, 2), int), side, reach, np.zeros((0, side, side)))
    if not corners:
        return nothing
    texture = np.array(textures)
    kept = np.flatnonzero(texture > LEAST_TEXTURE * max(float(np.median(texture)), 1e-12))
    if not len(kept):
        return nothing
    plain = np.stack([patches[k] - patches[k].mean() for k in kept])
    norms = np.linalg.norm(plain, axis=(1, 2), keepdims=True)
    return _Tiles(np.array(corners)[kept], side, reach, plain / np.maximum(norms, 1e-12))


def _starts(size: int, side: int, reach: int, most: int) -> npt.NDArray[np.int_]:
    """First pixels of tiles along a side of the grid, with room around them."""
    room = size - side - 2 * reach
    if room < 0:
        return np.zeros(0, int)
    count = min(most, room // side + 1)
    return np.unique(np.linspace(reach, reach + room, count).round().astype(int))


def _texture(patch: Floats) -> float:
    """How much a patch changes along the direction in which it changes least."""
    down, along = np.gradient(patch)
    matrix = np.array([[(down**2).sum(), (down * along).sum()], [0, (along**2).sum()]])
    return float(np.linalg.eigvalsh(matrix, UPLO="U")[0])


def _found(tiles: _Tiles, values: Floats32, valid: Bools) -> tuple[Floats, Floats]:
    """Where the tiles are found (t, 2) as (x, y) from their place, and how well (t,)."""
    reach = tiles.reach
    size = tiles.side + 2 * reach
    found = np.zeros((len(tiles.corners), 2))
    peaks = np.zeros(len(tiles.corners))
    for k, (row, column) in enumerate(tiles.corners):
        box = np.s_[row - reach : row - reach + size, column - reach : column - reach + size]
        if not valid[box].all():
            continue
        likeness = _likeness(tiles.patches[k], values[box].astype(np.float64))
        y, x = np.unravel_index(int(likeness.argmax()), likeness.shape)
        peaks[k] = likeness[y, x]
        if 0 < y < 2 * reach and 0 < x < 2 * reach:
            found[k, 0] = x - reach + _vertex(likeness[y, x - 1 : x + 2])
            found[k, 1] = y - reach + _vertex(likeness[y - 1 : y + 2, x])
        else:
            # At the edge of what was looked at, it may well be beyond.
            peaks[k] = 0
    return found, peaks


def _likeness(patch: Floats, window: Floats) -> Floats:
    """Normalised correlation of a patch (s, s) with all places in a window."""
    side = len(patch)
    places = len(window) - side + 1
    shape = (len(window), len(window))
    product = np.fft.rfft2(window, shape) * np.conj(np.fft.rfft2(patch, shape))
    correlation = np.fft.irfft2(product, shape)[:places, :places]
    total = _sums(window, side)
    squares = _sums(window**2, side)
    spread = np.maximum(squares - total**2 / side**2, 1e-12)
    return np.asarray(correlation / np.sqrt(spread))


def _sums(window: Floats, side: int) -> Floats:
    """Sums over all squares of a side in a window."""
    padded = np.pad(window, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    wide = padded[side:] - padded[:-side]
    return np.asarray(wide[:, side:] - wide[:, :-side])


def _vertex(three: Floats) -> float:
    """Where the parabola through three values has its top, from the middle one."""
    bend = three[0] - 2 * three[1] + three[2]
    return 0.0 if bend >= 0 else float(0.5 * (three[0] - three[2]) / bend)


def _fitted(
    centres: Floats, found: Floats, peaks: Floats, numbers: RefineSettings, grid: Grid
) -> Floats | None:
    """The motion (3, 3) of the grid that most tiles agree on; None where too few do."""
    used = peaks > numbers.alike
    for _ in range(ROUNDS):
        if used.sum() < numbers.least_tiles:
            return None
        spans = np.ptp(centres[used], axis=0) / np.array(grid.frame.shape[::-1])
        rich = used.sum() >= 2 * numbers.least_tiles and spans.min() > 0.5
        family = FAMILIES["homography" if rich else "affine"]
        motion = family.fit(centres[used], centres[used] + found[used])
        left = np.linalg.norm(map_points(motion, centres) - centres - found, axis=1)
        tolerance = max(numbers.tolerance, 2.0 * float(np.median(left[used])))
        used = (peaks > numbers.alike) & (left < tolerance)
    if float(np.median(left[used])) > numbers.tolerance:
        return None
    corners = grid.frame.corners
    moved = np.linalg.norm(map_points(motion, corners) - corners, axis=1)
    # A fit that throws the corners further than tiles were looked for is none.
    return motion if moved.max() < CORNERS * numbers.side else None
