"""Links that contradict others: once round three pictures must end at the start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rankfold.align.matching.pairs import Pair
from rankfold.align.matching.refine import Sizes
from rankfold.families import map_points
from rankfold.stack import Bools

# Matches of a link at which a triangle is tried; with fewer than FEW it cannot be judged.
TRIED = 60
FEW = 4


def without_contradictions(pairs: Sequence[Pair], sizes: Sizes, tolerance: float) -> list[Pair]:
    """Drop links until every triangle of links closes.

    The link that breaks the largest share of its triangles goes first, and of equals the one with
    the fewest matches.

    Parameters
    ----------
    pairs : sequence of Pair
    sizes : Sizes
    tolerance : float
        How far from the start a triangle may end, in px of the views.
    """
    # t x 3, the positions of the links ij, jk and ik of each triangle
    triangles = _triangles(pairs)
    closes = np.zeros(len(triangles), dtype=np.bool_)
    for t, (ij, jk, ik) in enumerate(triangles):
        closes[t] = _closes(pairs[ij], pairs[jk], pairs[ik], sizes, tolerance)
    strengths = np.array([pair.strength for pair in pairs])
    dropped = np.zeros(len(pairs), dtype=bool)
    while not closes.all():
        worst = _worst(triangles, closes, strengths)
        dropped[worst] = True
        left = (triangles != worst).all(axis=1)
        triangles = triangles[left]
        closes = closes[left]
    return [pair for pair, is_out in zip(pairs, dropped, strict=True) if not is_out]


def _triangles(pairs: Sequence[Pair]) -> npt.NDArray[np.int_]:
    """Positions (t, 3) of three links between three pictures."""
    position = {(pair.one, pair.two): e for e, pair in enumerate(pairs)}
    later: dict[int, list[int]] = {}
    for one, two in sorted(position):
        later.setdefault(one, []).append(two)
    found = [
        (position[i, j], position[j, k], position[i, k])
        for i, j in sorted(position)
        for k in later.get(j, [])
        if (i, k) in position
    ]
    return np.array(found, dtype=int).reshape(-1, 3)


def _closes(ij: Pair, jk: Pair, ik: Pair, sizes: Sizes, tolerance: float) -> bool:
    """Whether i to j to k ends where i to k does, at matches of i and k that j sees too."""
    step = -(-ik.strength // TRIED)
    starts = ik.points_one[::step]
    between = map_points(ij.matrix, starts)
    # Outside of j, its two transforms are guesses.
    seen = ((between > 0) & (between < sizes.extents[ij.two])).all(axis=1)
    if seen.sum() < FEW:
        return True
    ends = map_points(jk.matrix, between[seen])
    error = np.linalg.norm(ends - ik.points_two[::step][seen], axis=1)
    return bool(np.median(error) < tolerance * sizes.reductions[ik.two])


def _worst(triangles: npt.NDArray[np.int_], closes: Bools, strengths: npt.NDArray[np.int_]) -> int:
    """The link that breaks the largest share of its triangles, the weakest of equals."""
    count = len(strengths)
    total = np.bincount(triangles.ravel(), minlength=count)
    broken = np.bincount(triangles[~closes].ravel(), minlength=count)
    share = broken / np.maximum(total, 1)
    # The last key decides first.
    return int(np.lexsort((np.arange(count), strengths, -share))[0])
