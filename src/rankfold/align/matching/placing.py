"""From pairs to one transform a picture: a tree, the refinement, and links that do not fit in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankfold.align.matching.consensus import distances
from rankfold.align.matching.graph import along_tree, groups_of, most_seen
from rankfold.align.matching.pairs import Pair, chosen_again
from rankfold.align.matching.refine import Sizes, refine
from rankfold.align.settings import MatchSettings
from rankfold.families import Family, Floats
from rankfold.stack import Bools


@dataclass(frozen=True)
class Placement:
    """Where the pictures lie, and the links that say so."""

    reference: int
    transforms: Floats  # (n, 3, 3) from the reference to each picture; NaN where not reached
    groups: tuple[tuple[int, ...], ...]
    pairs: Sequence[Pair]

    @property
    def reached(self) -> Bools:
        """Whether links connect each picture to the reference (n,)."""
        return np.asarray(np.isfinite(self.transforms).all(axis=(1, 2)))


def place(
    family: Family,
    pairs: Sequence[Pair],
    sizes: Sizes,
    reference: int | None,
    numbers: MatchSettings,
) -> Placement:
    """Bring all links together, and leave out those that contradict the others.

    A contradiction that no triangle shows, in a long chain that comes back to its start, is left
    as a link whose matches are far apart after the refinement.
    """
    while True:
        groups = groups_of(len(sizes), pairs)
        centre = most_seen(groups[0], pairs) if reference is None else reference
        transforms = along_tree(len(sizes), centre, pairs)
        agreeing = pairs
        for _ in range(numbers.refine_rounds):
            transforms = refine(family, transforms, centre, agreeing, sizes, numbers)
            agreeing = _agreeing(pairs, transforms, numbers.tolerance * sizes.reductions)
        fits = _fits(pairs, transforms, numbers.cycle * sizes.reductions)
        fits &= np.array([pair.strength >= family.min_points for pair in agreeing], dtype=bool)
        if fits.all():
            return Placement(centre, transforms, groups, agreeing)
        pairs = [pair for pair, ok in zip(pairs, fits, strict=True) if ok]


def _agreeing(pairs: Sequence[Pair], transforms: Floats, tolerances: Floats) -> list[Pair]:
    """The pairs with those of their matches that agree with the transforms of all pictures."""
    chosen = []
    for pair in pairs:
        matrix = between(transforms, pair)
        tolerance = (tolerances[pair.one] + tolerances[pair.two]) / 2
        chosen.append(pair if matrix is None else chosen_again(pair, matrix, tolerance))
    return chosen


def _fits(pairs: Sequence[Pair], transforms: Floats, tolerances: Floats) -> Bools:
    """Whether the matches of each pair are near each other (n,).

    Of those that are not, only the worst and those half as bad count: they may have pulled the
    others away.
    """
    apart = np.array([_apart(pair, transforms) / tolerances[pair.two] for pair in pairs])
    worst = apart.max(initial=0.0)
    return np.asarray(apart < max(1.0, worst / 2))


def _apart(pair: Pair, transforms: Floats) -> float:
    """The median distance of the matches of a pair, in px; zero in a group that is not reached."""
    matrix = between(transforms, pair)
    if matrix is None:
        return 0.0
    return float(np.median(distances(matrix[None], pair.points_one, pair.points_two)[0]))


def between(transforms: Floats, pair: Pair) -> Floats | None:
    """The matrix (3, 3) from one picture of a pair to the other; None where they have none."""
    one = transforms[pair.one]
    two = transforms[pair.two]
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        return None
    matrix = two @ np.linalg.inv(one)
    return np.asarray(matrix / matrix[2, 2])


def residuals(placement: Placement) -> Floats:
    """Root mean square distance (n,) of the matches of each picture; NaN where not reached."""
    n = len(placement.transforms)
    total = np.zeros(n)
    count = np.zeros(n)
    for pair in placement.pairs:
        matrix = between(placement.transforms, pair)
        if matrix is None:
            continue
        squared = distances(matrix[None], pair.points_one, pair.points_two)[0] ** 2
        for index in (pair.one, pair.two):
            total[index] += squared.sum()
            count[index] += len(squared)
    # A picture that is the reference of nothing has no matches.
    means = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return np.asarray(np.sqrt(means))
