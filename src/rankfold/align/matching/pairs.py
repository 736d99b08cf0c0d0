"""The transform between two pictures, and whether to believe it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import KDTree

from rankfold.align.matching.consensus import consensus, distances
from rankfold.align.matching.keypoints import Keypoints
from rankfold.align.matching.tentative import Tentative, alike
from rankfold.align.settings import MatchSettings
from rankfold.families import Family, Floats, inverse, map_points, point_jacobian
from rankfold.stack import Bools

# Matches this many tolerances away from a transform are left for a rival of it.
APART = 3.0


@dataclass(frozen=True)
class Pair:
    """Two pictures, the transform between them and the matches behind it."""

    one: int
    two: int
    matrix: Floats  # (3, 3) from picture one to picture two, px of the originals
    points_one: Floats  # (k, 2) as (x, y), px of the originals
    points_two: Floats  # (k, 2)
    tentative: Tentative  # what the matches were chosen from

    @property
    def strength(self) -> int:
        """How many matches agree."""
        return len(self.points_one)


def chosen_again(pair: Pair, matrix: Floats, tolerance: float) -> Pair:
    """A pair with another transform (3, 3), and the tentative matches that agree with that."""
    matches = pair.tentative
    near = matches.only(distances(matrix[None], matches.one, matches.two)[0] < tolerance)
    return replace(pair, matrix=matrix, points_one=near.one, points_two=near.two)


@dataclass(frozen=True)
class Hypothesis:
    """A transform, the matches among which it was found and those that agree with it."""

    matrix: Floats  # (3, 3)
    among: Tentative
    agreeing: Tentative


def compare(
    indices: tuple[int, int],
    one: Keypoints,
    two: Keypoints,
    family: Family,
    numbers: MatchSettings,
) -> Pair | None:
    """The transform between two pictures; None where there is none to be believed.

    Of two transforms, each with its own matches, the one that covers more of the pictures is the
    scene's; the other is that of something in front of it. Where both cover about the same places,
    a texture repeats itself, and nothing says which of them is right.
    """
    matches = alike(one, two, numbers.ratio)
    tolerance = numbers.tolerance * (one.reduction + two.reduction) / 2
    hypotheses = _two_hypotheses(family, matches, tolerance, numbers)
    believed = [found for found in hypotheses if is_believable(found, numbers)]
    if not believed:
        return None
    # The first of equals has more matches.
    best = max(believed, key=lambda found: found.agreeing.cover(numbers.cells))
    others = [found for found in hypotheses if found is not best]
    if any(are_rivals(best, other, numbers) for other in others):
        return None
    return Pair(*indices, best.matrix, best.agreeing.one, best.agreeing.two, matches)


def _two_hypotheses(
    family: Family, matches: Tentative, tolerance: float, numbers: MatchSettings
) -> list[Hypothesis]:
    """The transform that most matches agree on, and the one that most of the others agree on."""
    first = _hypothesis(family, matches, tolerance, numbers)
    if first is None:
        return []
    apart = distances(first.matrix[None], matches.one, matches.two)[0] > APART * tolerance
    rest = matches.only(apart)
    # If all of the rest together is no rival and covers no more, nothing in it does.
    few = len(rest) <= numbers.rival * len(first.agreeing)
    if few and rest.cover(numbers.cells) <= first.agreeing.cover(numbers.cells):
        return [first]
    second = _hypothesis(family, rest, tolerance, numbers)
    return [first] if second is None else [first, second]


def _hypothesis(
    family: Family, matches: Tentative, tolerance: float, numbers: MatchSettings
) -> Hypothesis | None:
    """The transform that most matches agree on; None where they are too few."""
    if len(matches) <= numbers.min_inliers:
        return None
    found = consensus(family, matches.one, matches.two, tolerance, numbers)
    if found is None:
        return None
    return Hypothesis(found.matrix, matches, matches.only(found.inliers))


def is_believable(found: Hypothesis, numbers: MatchSettings) -> bool:
    """Whether a transform has enough matches, well spread, and is no mirror or squeeze."""
    count = len(found.agreeing)
    if count <= numbers.min_inliers + numbers.min_share * _in_sight(found):
        return False
    if found.agreeing.spread() < numbers.min_spread:
        return False
    # How the transform turns and stretches around each match, k x 2 x 2.
    local = point_jacobian(found.matrix, found.agreeing.one)
    stretch = np.linalg.svd(local, compute_uv=False)
    sizes_fit = stretch.max() < numbers.max_scale and stretch.min() > 1 / numbers.max_scale
    return bool(sizes_fit and (np.linalg.det(local) > 0).all())


def _in_sight(found: Hypothesis) -> int:
    """How many matches lie where both pictures see the same; others say nothing against it."""
    among = found.among
    there = _inside(map_points(found.matrix, among.one), among.extent_two)
    back = _inside(map_points(inverse(found.matrix), among.two), among.extent_one)
    return int((there & back).sum())


def _inside(points: Floats, extent: Floats) -> Bools:
    """Whether points (k, 2) lie in a picture of an extent (2,)."""
    return np.asarray(((points > -0.5) & (points < extent - 0.5)).all(axis=1))


def are_rivals(best: Hypothesis, other: Hypothesis, numbers: MatchSettings) -> bool:
    """Whether another transform explains nearly as much, and at the same places.

    Something in front of the scene has matches of its own, but at other places.
    """
    least_cover = numbers.rival * best.agreeing.cover(numbers.cells)
    least_count = numbers.rival * len(best.agreeing)
    if len(other.agreeing) <= least_count or other.agreeing.cover(numbers.cells) <= least_cover:
        return False
    among_one = _among(other.agreeing.one, best.agreeing.one)
    among_two = _among(other.agreeing.two, best.agreeing.two)
    return min(among_one, among_two) > numbers.mixed


def _among(points: Floats, others: Floats) -> float:
    """The share of points (k, 2) whose nearest neighbour is one of the others (l, 2)."""
    to_own = KDTree(points).query(points, k=2)[0][:, 1]
    to_other = KDTree(others).query(points)[0]
    return float((to_other < to_own).mean())
