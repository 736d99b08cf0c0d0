"""Where a minority of the pictures may share something: regions that split the batch in two.

For every rectangle of cells each picture is predicted there from its context. In most pictures the
prediction is about as good as the fit of the context itself. Where it is much worse in some, and
these are otherwise like the others, they may have something in front of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rankfold.align.occluders.prediction import Bools, Context, Floats, lengths, roots
from rankfold.align.settings import OccluderSettings

# Regions that are done at once, so that their arrays stay small.
TOGETHER = 64

# Pictures of a minority: two can be alike by chance.
FEWEST = 3


@dataclass(frozen=True)
class Candidate:
    """A region that splits the batch."""

    cells: Bools  # g x g
    members: Bools  # (n,): the minority


@dataclass(frozen=True)
class Sizes:
    """How many of the pictures may be a minority."""

    least: int
    most: int

    @classmethod
    def of(cls, count: int, shared: float, numbers: OccluderSettings) -> Sizes:
        """From a fifth of the pictures to the largest share that was asked for.

        Exactly half of the pictures is no minority: nobody could say which half has something.
        """
        least = max(int(np.ceil(numbers.least * count)), FEWEST)
        return cls(least, min(int(shared * count), (count - 1) // 2))

    def fit(self, members: Bools) -> bool:
        """Whether members (n,) are a minority of this size."""
        return bool(self.least <= members.sum() <= self.most)


@dataclass(frozen=True)
class Regions:
    """Pictures in and around q regions."""

    context: Context
    inside: Floats  # q x r x r: Σ v v' over the pixels of a region
    numbers: OccluderSettings

    @classmethod
    def of(cls, points: Floats, shown: Floats, cells: Bools, numbers: OccluderSettings) -> Regions:
        """Regions of some cells (q, g, g); ``shown`` (g, g, r, r) is what each cell shows."""
        inside = np.tensordot(cells.astype(np.float64), shown, axes=((1, 2), (0, 1)))
        # The basis is orthonormal: all cells together show the identity.
        seen = np.eye(inside.shape[1]) - inside
        return cls(Context.outside(points, seen), inside, numbers)

    @cached_property
    def own(self) -> Floats:
        """The norms (q, n) of what pictures show in the regions."""
        return lengths(self.context.points, self.inside)

    @cached_property
    def nearest(self) -> npt.NDArray[np.intp]:
        """The pictures (q, n, k) with the most similar contexts, by which members are judged."""
        return self.context.nearest(min(self.numbers.nearest, self.own.shape[1] - 1))

    def surprise(self, donors: Bools) -> Floats:
        """How much worse (q, n) a region is predicted from the donors than its context fits."""
        rest, misfit = self.context.predict(donors, self.numbers.ridge)
        predicted = lengths(self.context.points - rest, self.inside)
        largest = np.maximum(np.maximum(self.own, predicted), 1e-12)
        error = lengths(rest, self.inside) / largest
        return np.asarray((error + 1e-6) / (misfit + self.numbers.noise))

    def typical(self, count: int) -> Bools:
        """The pictures (q, n) that look in the region most like those of a similar context."""
        points = self.context.points
        nearest = self.context.nearest(min(self.numbers.neighbours, points.shape[1] - 1))
        gram = (points @ self.inside) @ points.transpose(0, 2, 1)
        squares = np.diagonal(gram, axis1=1, axis2=2)
        apart = squares[:, :, None] + squares[:, None, :] - 2 * gram
        distances = np.sqrt(np.maximum(np.take_along_axis(apart, nearest, axis=2), 0))
        own = np.sqrt(np.maximum(squares, 1e-24))
        return smallest(np.median(distances, axis=2) / own, count)

    def majority(self, sizes: Sizes) -> Bools:
        """The larger group (q, n) of those into which the main direction of the rest falls.

        An occluder that looks the same on all its pictures is well predicted by them. But what all
        pictures together cannot predict has one main direction then, towards the occluder.
        """
        everyone = np.ones(self.context.norms.shape, dtype=bool)
        rest, _ = self.context.predict(everyone, self.numbers.ridge)
        rest = rest @ roots(self.inside)
        _, directions = np.linalg.eigh(rest.transpose(0, 2, 1) @ rest)
        along = (rest @ directions[..., -1:])[..., 0]
        n = along.shape[1]
        group = largest_apart(along, np.arange(sizes.least, n - sizes.least + 1), 0.0)
        small = group.sum(axis=1, keepdims=True) <= n / 2
        return np.asarray(group != small)

    def score(self, members: Bools) -> Floats:
        """How well (q,) the members (q, n) are told from the others, and by nothing else.

        The groups are apart by so many standard deviations; less where the members are alike in
        their contexts too, and where the region is hardly worse than the context.
        """
        surprise = self.surprise(~members)
        excess = np.nanmedian(np.where(members, surprise, np.nan), axis=1)
        strong = np.minimum(excess / self.numbers.excess, 1)
        return np.asarray(self._apart(np.log(surprise), members) * self._mixing(members) * strong)

    def _apart(self, values: Floats, members: Bools) -> Floats:
        """How far (q,) the mean values of members and others are apart."""
        k = members.sum(axis=1)
        others = members.shape[1] - k
        above = (values * members).sum(axis=1) / k
        below = (values * ~members).sum(axis=1) / others
        centre = np.where(members, above[:, None], below[:, None])
        within = ((values - centre) ** 2).mean(axis=1)
        return np.asarray((above - below) / np.sqrt(within + self.numbers.spread**2))

    def _mixing(self, members: Bools) -> Floats:
        """How far (q,) members have others for neighbours: 1 as by chance or more, 0 if none.

        Pictures under an extreme light are nearest to each other, and split off for that reason.
        """
        q, n = members.shape
        of_all = np.broadcast_to(members[:, None], (q, n, n))
        others = ~np.take_along_axis(of_all, self.nearest, axis=2)
        share = (others.mean(axis=2) * members).sum(axis=1) / members.sum(axis=1)
        by_chance = (n - members.sum(axis=1)) / (n - 1)
        return np.asarray(np.minimum(share / by_chance, 1))

    def split(self, sizes: Sizes) -> tuple[Bools, Floats]:
        """The pictures (q, n) that the regions split off, and how well (q,).

        Who is a donor and who is split off depends on each other. So donors are chosen again and
        again, from three starts: all pictures, the typical ones, and the majority.
        """
        q, n = self.context.norms.shape
        donors = n - sizes.most
        found = np.zeros((q, n), dtype=bool)
        best = np.full(q, -np.inf)
        everyone = np.ones((q, n), dtype=bool)
        for start in (everyone, self.typical(donors), self.majority(sizes)):
            chosen = start
            for _ in range(self.numbers.rounds):
                chosen = smallest(self.surprise(chosen), donors)
            members = self._split_off(self.surprise(chosen), sizes)
            # Once more, now that all the others can be donors.
            members = self._split_off(self.surprise(~members), sizes)
            score = self.score(members)
            better = score > best
            best = np.where(better, score, best)
            found[better] = members[better]
        return found, best

    def _split_off(self, surprise: Floats, sizes: Sizes) -> Bools:
        """The pictures (q, n) that surprise most, so that the groups are as far apart as can be."""
        counts = np.arange(sizes.least, sizes.most + 1)
        return largest_apart(np.log(surprise), counts, self.numbers.spread)


def candidates(
    points: Floats, shown: Floats, cells: Bools, sizes: Sizes, numbers: OccluderSettings
) -> list[Candidate]:
    """The most promising regions (q, g, g) of pictures with ``points`` (n, r), best first.

    ``shown`` (g, g, r, r) is what each cell shows of the coordinates.
    """
    members = np.empty((len(cells), len(points)), dtype=bool)
    scores = np.empty(len(cells))
    for first in range(0, len(cells), TOGETHER):
        some = slice(first, first + TOGETHER)
        regions = Regions.of(points, shown, cells[some], numbers)
        members[some], scores[some] = regions.split(sizes)
    order = np.argsort(-scores, kind="stable")
    chosen: list[int] = []
    for index in order[scores[order] >= numbers.score]:
        if len(chosen) == numbers.candidates:
            break
        if not any(_alike(cells, members, int(index), k, numbers.alike) for k in chosen):
            chosen.append(int(index))
    return [Candidate(cells[k], members[k]) for k in chosen]


def _alike(cells: Bools, members: Bools, one: int, two: int, most: float) -> bool:
    """Whether two candidates have most of their cells and most of their pictures in common."""
    return overlap(cells[one], cells[two]) >= most and overlap(members[one], members[two]) >= most


def overlap(one: Bools, two: Bools) -> float:
    """The size of what two sets share over the size of both together."""
    return float((one & two).sum() / max(int((one | two).sum()), 1))


def largest_apart(values: Floats, counts: npt.NDArray[np.intp], spread: float) -> Bools:
    """The largest values (q, n) of each row, as many of ``counts`` as are farthest from the others.

    The distance is that of the means, over the spread within the groups and a ``spread`` more.
    """
    n = values.shape[1]
    order = np.argsort(-values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    sums = np.cumsum(ordered, axis=1)
    squares = (ordered**2).sum(axis=1, keepdims=True)
    above = sums[:, counts - 1] / counts
    below = (sums[:, -1:] - sums[:, counts - 1]) / (n - counts)
    within = np.maximum(squares - counts * above**2 - (n - counts) * below**2, 0) / n
    apart = (above - below) / np.sqrt(within + spread**2 + 1e-300)
    first = np.arange(n) < counts[apart.argmax(axis=1)][:, None]
    largest = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(largest, order, first, axis=1)
    return largest


def smallest(values: Floats, count: int) -> Bools:
    """Which of the values (q, n) are the ``count`` smallest of their row."""
    chosen = np.argpartition(values, count - 1, axis=1)[:, :count]
    out = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(out, chosen, True, axis=1)
    return out
