"""Every frame of a video matched to one frame of it, through another where that fails."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankfold.align.matching.keypoints import Keypoints, detect
from rankfold.align.matching.matching import Watch, counted
from rankfold.align.matching.pairs import compare
from rankfold.align.settings import MatchSettings
from rankfold.families import Family, Floats
from rankfold.stack.views import View

# Frames before and after one that has too little in common with the reference, through which it is
# matched instead, the nearest first.
LAGS = (1, 2, 3, 5, 8)


def match_to(
    reference: int,
    views: Sequence[View],
    family: Family,
    numbers: MatchSettings,
    watch: Watch | None = None,
) -> Floats:
    """Match every picture to one of them.

    A chain of links adds up its errors, so that every picture is matched to the reference itself
    where that is possible.

    Parameters
    ----------
    reference : int
    views : n View
        In the order of time.
    family : Family
    numbers : MatchSettings
    watch : function (text, int, int), optional
        Is told what is done, how many of it are done, and of how many.

    Returns
    -------
    (n, 3, 3) array
        From the reference to each picture, px of the originals; NaN where it is not reached.
    """
    n = len(views)
    most = numbers.max_keypoints if n <= numbers.all_pairs else numbers.max_keypoints_of_many
    keypoints = [detect(view, numbers, most) for view in counted(views, "keypoints", watch)]
    found = np.full((n, 3, 3), np.nan)
    found[reference] = np.eye(3)
    for k in counted(range(n), "pairs", watch):
        if k != reference:
            link = _between(keypoints, reference, k, family, numbers)
            if link is not None:
                found[k] = link
    _through_others(found, keypoints, family, numbers)
    return found


def _through_others(
    found: Floats, keypoints: Sequence[Keypoints], family: Family, numbers: MatchSettings
) -> None:
    """Place pictures that are not reached through their neighbours in time; ``found`` is written.

    A neighbour that was placed so may serve the next one.
    """
    n = len(found)
    while True:
        new: dict[int, Floats] = {}
        for k in np.flatnonzero(np.isnan(found).any(axis=(1, 2))).tolist():
            near = (k + sign * lag for lag in LAGS for sign in (-1, 1))
            for j in near:
                if not 0 <= j < n or np.isnan(found[j]).any():
                    continue
                link = _between(keypoints, j, k, family, numbers)
                if link is not None:
                    new[k] = link @ found[j]
                    break
        if not new:
            return
        for place, matrix in new.items():
            found[place] = matrix / matrix[2, 2]


def _between(
    keypoints: Sequence[Keypoints], one: int, two: int, family: Family, numbers: MatchSettings
) -> Floats | None:
    """The transform (3, 3) from one picture to another; None where there is none to believe."""
    pair = compare((one, two), keypoints[one], keypoints[two], family, numbers)
    return None if pair is None else pair.matrix
