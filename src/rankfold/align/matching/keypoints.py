"""Keypoints and their descriptors: the only place that imports OpenCV."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.settings import MatchSettings
from rankfold.errors import InputError
from rankfold.families import Floats
from rankfold.stack.views import View

Descriptors = npt.NDArray[np.float32]

# Descriptors are whole numbers of this length, so that sums of their products are exact in single
# precision (they stay below 2^24): the same bits, whatever the library and its threads.
LENGTH = 512.0


@dataclass(frozen=True)
class Keypoints:
    """What was found in one picture."""

    points: Floats  # (k, 2) as (x, y), px of the original
    descriptors: Descriptors  # (k, 128), whole numbers
    extent: Floats  # (2,) width and height of the original, px
    reduction: int  # px of the original that one px of the view spans

    def __len__(self) -> int:
        """Count the keypoints."""
        return len(self.points)


def available() -> bool:
    """Return whether OpenCV can be used, in any of its distributions."""
    try:
        load()
    except InputError:
        return False
    return True


def load() -> Any:
    """Return the module cv2, or refuse to go on with a sentence that says how to get it."""
    try:
        import cv2
    except ModuleNotFoundError as error:
        raise InputError("OpenCV is not installed; run `pip install rankfold[match]`") from error
    except ImportError as error:
        # Desktop builds need libraries that a server may not have.
        raise InputError(
            f"OpenCV is installed but cannot be imported ({error}); run "
            "`pip install rankfold[match]` for a build that needs no desktop"
        ) from error
    if not hasattr(cv2, "SIFT_create"):
        raise InputError(
            f"OpenCV {cv2.__version__} has no SIFT; run `pip install rankfold[match]` for a newer"
        )
    return cv2


@contextmanager
def one_thread(cv2: Any) -> Iterator[None]:
    """Let OpenCV use one thread, and give it back what it had."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(threads)


def detect(view: View, numbers: MatchSettings, most: int) -> Keypoints:
    """Find at most so many keypoints in a view: SIFT, none at missing pixels."""
    cv2 = load()
    with one_thread(cv2):
        sift = _sift(cv2, numbers)
        found = sift.detect(view.pixels, _usable(cv2, view, numbers))
        chosen = _strongest(found, view.pixels.shape, numbers.cells, most)
        described, raw = sift.compute(view.pixels, chosen)
    if not len(described):
        nothing = np.zeros((0, 128), np.float32)
        return Keypoints(np.zeros((0, 2)), nothing, view.extent, view.reduction)
    points = np.array([keypoint.pt for keypoint in described], dtype=np.float64)
    return Keypoints(view.to_original(points), _root(raw), view.extent, view.reduction)


def _sift(cv2: Any, numbers: MatchSettings) -> Any:
    """The detector; where this OpenCV can, without its bias of a quarter of a pixel."""
    options = {"contrastThreshold": numbers.contrast}
    try:
        return cv2.SIFT_create(**options, enable_precise_upscale=True)
    except (TypeError, cv2.error):
        # OpenCV before 4.8 does not know the option.
        return cv2.SIFT_create(**options)


def _usable(cv2: Any, view: View, numbers: MatchSettings) -> Any:
    """Where keypoints are looked for, (h, w) uint8; None for everywhere."""
    if view.valid.all():
        return None
    side = 2 * numbers.margin + 1
    return cv2.erode(view.valid.astype(np.uint8), np.ones((side, side), np.uint8))


def _strongest(found: Any, shape: tuple[int, ...], cells: int, most: int) -> list[Any]:
    """The strongest keypoints, at first no more than its share of each cell of a grid.

    Without the shares, one tree takes all keypoints of a picture.
    """
    keypoints = list(found)
    if len(keypoints) <= most:
        return keypoints
    places = np.array([keypoint.pt for keypoint in keypoints])
    strengths = np.array([keypoint.response for keypoint in keypoints])
    # Ties are broken by the place, so that the order does not depend on the detector's.
    order = np.lexsort((places[:, 0], places[:, 1], -strengths))
    size = np.array(shape[::-1]) / cells
    column, row = (np.minimum(places[order] // size, cells - 1)).astype(int).T
    rank = _rank_within(row * cells + column)
    share = most / cells**2
    # Twice an equal share a cell comes first; what is left over goes by strength alone.
    first = np.argsort(rank >= 2 * share, kind="stable")[:most]
    return [keypoints[k] for k in order[first]]


def _rank_within(labels: npt.NDArray[np.int_]) -> npt.NDArray[np.int_]:
    """For every entry (k,), how many entries before it have the same label."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    rank = np.empty(len(labels), dtype=int)
    rank[order] = np.arange(len(labels)) - starts
    return rank


def _root(raw: npt.NDArray[Any]) -> Descriptors:
    """Descriptors (k, 128) whose plain distance is the Hellinger distance of SIFT histograms."""
    total = raw.sum(axis=1, keepdims=True)
    shares = raw / np.maximum(total, 1e-12)
    return np.asarray(np.rint(LENGTH * np.sqrt(shares)), dtype=np.float32)
