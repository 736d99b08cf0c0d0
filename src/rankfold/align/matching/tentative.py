"""Keypoints of two pictures that look alike, and may be the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankfold.align.matching.keypoints import Descriptors, Keypoints
from rankfold.families import Floats
from rankfold.stack import Bools

Ints = npt.NDArray[np.int_]

# Descriptors of the first picture that are compared at once: their products stay in the cache.
ROWS = 128


@dataclass(frozen=True)
class Tentative:
    """Keypoints of two pictures that look alike, the most distinctive first."""

    one: Floats  # (k, 2) as (x, y), px of the originals
    two: Floats  # (k, 2)
    extent_one: Floats  # (2,) width and height of the original
    extent_two: Floats  # (2,)

    def __len__(self) -> int:
        """Count the matches."""
        return len(self.one)

    def only(self, chosen: Bools) -> Tentative:
        """Keep those matches for which an array (k,) is True."""
        return Tentative(self.one[chosen], self.two[chosen], self.extent_one, self.extent_two)

    def cover(self, cells: int) -> int:
        """Count the cells of a grid that have matches, in the picture in which these are fewer.

        A small thing with much texture, a poster or a tree, has many matches in few cells.
        """
        counts = []
        for points, extent in ((self.one, self.extent_one), (self.two, self.extent_two)):
            column, row = np.floor((points + 0.5) / extent.max() * cells).astype(int).T
            counts.append(len(np.unique(row * cells + column)))
        return min(counts)

    def spread(self) -> float:
        """How far the matches reach in the direction in which they reach least.

        It is a standard deviation, as a share of the long side, and that of the picture in which
        it is smaller.
        """
        shares = []
        for points, extent in ((self.one, self.extent_one), (self.two, self.extent_two)):
            least = np.linalg.eigvalsh(np.cov(points.T))[0]
            shares.append(np.sqrt(max(least, 0.0)) / extent.max())
        return float(min(shares))


def alike(one: Keypoints, two: Keypoints, ratio: float) -> Tentative:
    """Keypoints that are each other's nearest, and much nearer than the second nearest.

    ``ratio`` is the largest allowed ratio of these two distances.
    """
    if min(len(one), len(two)) < 2:
        nothing = np.zeros((0, 2))
        return Tentative(nothing, nothing, one.extent, two.extent)
    nearest, quotient, mutual = _nearest(one.descriptors, two.descriptors)
    kept = np.flatnonzero(mutual & (quotient < ratio**2))
    kept = kept[np.argsort(quotient[kept], kind="stable")]
    a = one.points[kept]
    b = two.points[nearest[kept]]
    # A keypoint with two orientations gives the same match twice; it counts once.
    _, first = np.unique(np.column_stack([a, b]).round(1), axis=0, return_index=True)
    first = np.sort(first)
    return Tentative(a[first], b[first], one.extent, two.extent)


def _nearest(one: Descriptors, two: Descriptors) -> tuple[Ints, Floats, Bools]:
    """The nearest of ``two`` for each of ``one``, how much nearer it is, and if it is mutual.

    The second array (k,) is the ratio of the squared distances to the nearest and to the second
    nearest.
    """
    across = np.ascontiguousarray(two.T)
    lengths = (two**2).sum(axis=1)
    nearest = np.empty(len(one), dtype=int)
    best = np.empty(len(one), dtype=np.float32)
    second = np.empty(len(one), dtype=np.float32)
    best_of_two = np.full(len(two), np.inf, dtype=np.float32)
    for start in range(0, len(one), ROWS):
        part = slice(start, start + ROWS)
        rows = one[part]
        # All values are whole and below 2^24, so they are exact in single precision.
        own = (rows**2).sum(axis=1, keepdims=True)
        squared = (rows @ across) * -2 + lengths + own
        every = np.arange(len(rows))
        nearest[part] = squared.argmin(axis=1)
        best[part] = squared[every, nearest[part]]
        np.minimum(best_of_two, squared.min(axis=0), out=best_of_two)
        # Without the nearest, the least is the second nearest.
        squared[every, nearest[part]] = np.inf
        second[part] = squared.min(axis=1)
    # With one added, two that are both the same as the keypoint do not seem distinctive.
    quotient = (best + 1) / (second + 1)
    return nearest, quotient.astype(np.float64), np.asarray(best_of_two[nearest] == best)
