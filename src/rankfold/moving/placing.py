"""Where each frame of a video lies: still, or matched to the middle one, and mended by the fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankfold.align import AlignSettings
from rankfold.align.matching import View, load, match_to
from rankfold.errors import InputError
from rankfold.families import Floats, get_family, inverse, map_points, shift
from rankfold.io import Source
from rankfold.outputs.originals import with_missing
from rankfold.outputs.warping import Warper, whole
from rankfold.stack import Frame, Stack, rescaling
from rankfold.verdicts import listed

Floats32 = npt.NDArray[np.float32]

CAMERAS = ("auto", "still", "moving")

# Frames that are asked first whether the camera moves.
ASKED_FIRST = 9

# Unit: px. A camera is still if the corners of nearly all frames move by less. Links of a still
# camera are off by .06 (median) and .6 (largest) on CDnet's highway.
STILL = 0.75
NEARLY_ALL = 90

# Unit: px. Long side of the copies on which fits are compared, how far is looked around, in steps.
SIDE = 320
REACH = 16
STEPS = (2.0, 1.0, 0.5)

# Share of the frames asked that must be matched for a camera to be called still.
ENOUGH = 0.7

# A frame whose residual is so many times the median does not fit, and looks for a better place.
FITS = 1.25
# A better place has a residual that is less than this times that of the old one.
BETTER = 0.97
# A residual of so many times the median one is spoken of.
BADLY = 2.5
# Neighbours whose places it tries, and from how many of them it looks around.
NEIGHBOURS = (-2, -1, 1, 2)
SEARCHED = 2

# Every so many pixels of a small copy are compared, after a blur (px) that lets each see its
# surroundings. An error above so many times the median counts as that.
EVERY = 3
BLUR = 1.0
CUT = 4.0
# Frames from which the background is made that others are compared with.
DONORS = 40
# Share of the background that a frame must show to be compared with it.
LEAST_SHARED = 0.1

# The canvas may have so many times the area of a frame.
LARGEST_CANVAS = 16.0


@dataclass(frozen=True)
class Placing:
    """Where the frames lie.

    Attributes
    ----------
    transforms : (n, 3, 3) array
        From the canvas to each frame; NaN for those that were not placed.
    canvas : Frame
        The union of all frames.
    moves : bool
        Whether the camera moves.
    remarks : tuple of str
    """

    transforms: Floats
    canvas: Frame
    moves: bool
    remarks: tuple[str, ...] = ()


def placed(
    source: Source,
    camera: str,
    settings: AlignSettings,
    watch: Callable[[str, int, int], object] | None = None,
) -> Placing:
    """Find where each frame of a video lies.

    Parameters
    ----------
    source : Source
        Frames of one size, in the order of time.
    camera : "auto", "still" or "moving"
    settings : AlignSettings
        The numbers in its group ``matching`` are used.
    watch : function (text, int, int), optional
        Is told what is done, how many of it are done, and of how many.
    """
    _check_one_size(source)
    n = len(source)
    frame = Frame(*source.shapes[0][:2])
    still = Placing(np.tile(np.eye(3), (n, 1, 1)), frame, moves=False)
    if camera == "still":
        return still
    load()
    middle = n // 2
    if camera == "auto":
        asked = np.unique([*np.linspace(0, n - 1, ASKED_FIRST).round().astype(int), middle])
        views = _views(source.some(asked.tolist()), settings.matching.side)
        reference = int(np.flatnonzero(asked == middle)[0])
        some = match_to(reference, views, get_family("homography"), settings.matching)
        reached = np.isfinite(some).all(axis=(1, 2))
        # Frames that have little in common with the middle one were taken from elsewhere.
        if reached.mean() > ENOUGH and not _moves(some, frame):
            return still
    views = _views(source, settings.matching.side, watch)
    found = match_to(middle, views, get_family("homography"), settings.matching, watch)
    reached = np.isfinite(found).all(axis=(1, 2))
    if reached.sum() <= n / 2:
        raise InputError(
            f"only {reached.sum()} of {n} frames of {source.path} have enough in common with the "
            "middle one; choose a shorter part of it, or camera='still' if it stands still"
        )
    transforms, remarks = _mended(found, source, frame)
    return _on_canvas(transforms, frame, remarks, source.path)


def _check_one_size(source: Source) -> None:
    """Refuse frames of several sizes, and too few of them."""
    if len(source) < 3:
        raise InputError(
            f"{source.path} has {len(source)} frames; masks of what moves need at least 3"
        )
    for name, shape in zip(source.names, source.shapes, strict=True):
        if shape != source.shapes[0]:
            raise InputError(
                f"{name} differs in size from {source.names[0]}; the frames of a video have one "
                "size, so align such pictures first and give the run"
            )


def _views(
    source: Source, side: int, watch: Callable[[str, int, int], object] | None = None
) -> list[View]:
    """Small grey copies, read one at a time."""
    views: list[View] = []
    for k, one in enumerate(source.pictures(), start=1):
        picture = with_missing(one)
        masks = None if picture.mask is None else [picture.mask]
        views += Stack.of([picture.values], masks, dtype=np.float32).views_to_match(side)
        if watch is not None:
            watch("frames", k, len(source))
    return views


def _moves(transforms: Floats, frame: Frame) -> bool:
    """Whether corners move; frames that cannot be matched do not say so."""
    reached = np.isfinite(transforms).all(axis=(1, 2))
    corners = map_points(transforms[reached], np.tile(frame.corners, (reached.sum(), 1, 1)))
    moved = np.linalg.norm(corners - frame.corners, axis=2).mean(axis=1)
    return bool(np.percentile(moved, NEARLY_ALL) > STILL)


def _mended(transforms: Floats, source: Source, frame: Frame) -> tuple[Floats, tuple[str, ...]]:
    """Find better places for frames that do not fit, by comparing them with the others' median."""
    copies, small, to_small = _copies(source, frame)
    # From the reference to each frame, both as small copies.
    coarse = to_small @ transforms @ inverse(to_small)
    unplaced = np.isnan(coarse).any(axis=(1, 2))
    scene = _scene(copies, coarse, small)
    fits = np.full(len(coarse), np.inf)
    for k in np.flatnonzero(~unplaced):
        fits[k] = scene.misfit(Warper(copies[k], None, blur=BLUR), coarse[k])
    typical = float(np.median(fits[~unplaced]))
    mended = coarse.copy()
    for k in np.flatnonzero(fits > FITS * typical):
        near = [k + lag for lag in NEIGHBOURS if 0 <= k + lag < len(coarse)]
        starts = [coarse[j] for j in [k, *near] if not np.isnan(coarse[j]).any()]
        if not starts:
            continue
        matrix, fit = scene.best_shift(Warper(copies[k], None, blur=BLUR), starts)
        if fit < BETTER * fits[k]:
            mended[k] = matrix
            fits[k] = fit
    lost = [source.names[k] for k in np.flatnonzero(fits > BADLY * typical)]
    remarks = (f"These frames fit badly, look at them: {listed(lost)}.",) if lost else ()
    full = inverse(to_small) @ mended @ to_small
    # Those that were found well stay exactly where they were.
    kept = (mended == coarse).all(axis=(1, 2))
    full[kept] = transforms[kept]
    return full, remarks


def _copies(source: Source, frame: Frame) -> tuple[list[Floats32], Frame, Floats]:
    """Small grey copies (h, w), their size, and the matrix from a frame to its copy."""
    factor = max(max(frame.shape) / SIDE, 1.0)
    small = Frame(*(max(round(size / factor), 4) for size in frame.shape))
    to_small = rescaling(np.array(small.shape[::-1]) / frame.shape[::-1])
    copies = []
    for one in source.pictures():
        picture = with_missing(one).values
        grey = picture if picture.ndim == 2 else picture.mean(axis=2, dtype=np.float32)
        values, _ = whole(grey, None, inverse(to_small), small)
        copies.append(values[0])
    return copies, small, to_small


def _scene(copies: Sequence[Floats32], coarse: Floats, small: Frame) -> _Scene:
    """What most of the frames that are placed show."""
    from rankfold.outputs.kernels import medians

    usable = np.flatnonzero(np.isfinite(coarse).all(axis=(1, 2)))
    chosen = usable[np.linspace(0, len(usable) - 1, min(len(usable), DONORS)).round().astype(int)]
    grid = Frame(*(max(side // EVERY, 4) for side in small.shape))
    to_copy = np.diag([EVERY, EVERY, 1.0])
    brought = [Warper(copies[k], None, blur=BLUR).whole(coarse[k] @ to_copy, grid) for k in chosen]
    # A frame may be brighter than the others, which does not matter here.
    values = np.stack([one - np.median(one[:, ok]) if ok.any() else one for one, ok in brought])
    valid = np.stack([ok for _, ok in brought]).astype(np.float32)
    return _Scene(medians(values, valid)[0], grid, to_copy)


@dataclass(frozen=True)
class _Scene:
    """What frames are compared with: a background, looked at in some of its pixels only."""

    background: Floats32  # (h, w), NaN where unknown
    grid: Frame  # of these pixels
    to_copy: Floats  # (3, 3) from that grid to the small copies

    def misfit(self, copy: Warper, matrix: Floats) -> float:
        """How far a frame at ``matrix`` is from the background: the mean, large errors cut."""
        values, valid = copy.whole(matrix @ self.to_copy, self.grid)
        both = valid & np.isfinite(self.background)
        if both.mean() < LEAST_SHARED:
            return np.inf
        error = values[0][both] - self.background[both]
        error = np.abs(error - np.median(error))
        return float(np.minimum(error, CUT * np.median(error)).mean())

    def best_shift(self, copy: Warper, starts: Sequence[Floats]) -> tuple[Floats, float]:
        """The best of some places moved by whole steps, then by smaller ones, and its misfit."""
        ranked = sorted(starts, key=lambda start: self.misfit(copy, start))
        far = np.arange(-REACH, REACH + 1, STEPS[0])
        tried = [_shifted(start, x, y) for start in ranked[:SEARCHED] for x in far for y in far]
        best, least = self._best(copy, tried)
        for step in STEPS[1:]:
            near = (-step, 0.0, step)
            best, least = self._best(copy, [_shifted(best, x, y) for x in near for y in near])
        return best, least

    def _best(self, copy: Warper, tried: Sequence[Floats]) -> tuple[Floats, float]:
        """The place with the least misfit."""
        misfits = [self.misfit(copy, matrix) for matrix in tried]
        k = int(np.argmin(misfits))
        return tried[k], misfits[k]


def _shifted(matrix: Floats, x: float, y: float) -> Floats:
    """A place moved by some px of the frame."""
    return np.asarray(shift(np.array([x, y])) @ matrix)


def _on_canvas(transforms: Floats, frame: Frame, remarks: tuple[str, ...], path: str) -> Placing:
    """Lay the canvas over all frames."""
    ok = np.isfinite(transforms).all(axis=(1, 2))
    corners = map_points(inverse(transforms[ok]), np.tile(frame.corners, (ok.sum(), 1, 1)))
    low = np.floor(corners.min(axis=(0, 1)))
    width, height = (np.ceil(corners.max(axis=(0, 1))) - low + 1).astype(int)
    times = width * height / np.prod(frame.shape)
    if not 0 < times <= LARGEST_CANVAS:
        raise InputError(
            f"the frames of {path} together cover {times:.0f} times the area of one; choose a "
            "shorter part of the video"
        )
    canvas = Frame(int(height), int(width))
    return Placing(transforms @ shift(low), canvas, moves=True, remarks=remarks)
