"""The graph of pictures that share something: groups, the reference, a way to each picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankfold.align.matching.pairs import Pair
from rankfold.families import Floats


def groups_of(count: int, pairs: Sequence[Pair]) -> tuple[tuple[int, ...], ...]:
    """Connected groups of pictures, the largest first."""
    label = np.arange(count)
    for pair in pairs:
        label[label == label[pair.two]] = label[pair.one]
    groups = [tuple(np.flatnonzero(label == one).tolist()) for one in np.unique(label)]
    return tuple(sorted(groups, key=lambda group: (-len(group), group)))


def most_seen(group: Sequence[int], pairs: Sequence[Pair]) -> int:
    """The picture of a group with the most links; of equals, the one with the most matches."""
    links = dict.fromkeys(group, 0)
    matches = dict.fromkeys(group, 0)
    for pair in pairs:
        for index in (pair.one, pair.two):
            if index in links:
                links[index] += 1
                matches[index] += pair.strength
    return max(group, key=lambda index: (links[index], matches[index], -index))


def along_tree(count: int, reference: int, pairs: Sequence[Pair]) -> Floats:
    """Transforms (n, 3, 3) from the reference along the strongest links; NaN where none leads."""
    transforms = np.full((count, 3, 3), np.nan)
    transforms[reference] = np.eye(3)
    reached = {reference}
    # Prim's algorithm: of the links that lead out of what is reached, the strongest is next.
    waiting = sorted(pairs, key=lambda pair: (-pair.strength, pair.one, pair.two))
    while True:
        leads_out = (pair for pair in waiting if (pair.one in reached) != (pair.two in reached))
        pair = next(leads_out, None)
        if pair is None:
            return transforms
        if pair.one in reached:
            new = pair.two
            matrix = pair.matrix @ transforms[pair.one]
        else:
            new = pair.one
            matrix = np.linalg.inv(pair.matrix) @ transforms[pair.two]
        transforms[new] = matrix / matrix[2, 2]
        reached.add(new)
