"""Where one picture lies in the frame of an aligned sample, and how it is explained there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.agreement import rows_at
from rankfold.align.basis import annealed_fit
from rankfold.align.crowd.learned import Explaining, Learned
from rankfold.align.crowd.places import Place, Rung
from rankfold.align.job import Job
from rankfold.align.registration import register
from rankfold.align.rescue import Search, promising_starts
from rankfold.align.steps import displacements
from rankfold.families import Floats
from rankfold.scale import Executor
from rankfold.stack import Stack
from rankfold.stack.scaling import valid_pixels
from rankfold.verdicts import BatchVerdict
from rankfold.warp.linearisation import Motion

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


def find_place(learned: Learned, one: Stack, start: Floats, between: tuple[int, int]) -> Place:
    """Place one picture by itself.

    Parameters
    ----------
    learned : Learned
    one : Stack
        The picture.
    start : (3, 3) array
        Where it begins, into the picture as it was read.
    between : two int
        The pictures of the sample before and after it.
    """
    # Matching may have found a better start for the sample; its neighbour's is the nearest guess.
    near = between[0]
    base = start
    if not np.array_equal(learned.start[near], learned.origin[near]):
        base = start @ np.linalg.inv(learned.start[near]) @ learned.origin[near]
    visit = Visit(learned, learned.job_for(one, base), base, between)
    if not learned.request.method.moves or not _varies(one):
        return visit.at(base)
    return visit.best_place()


def reunited(learned: Learned, sample: Stack, executor: Executor) -> Floats | None:
    """Where (k, 3, 3) the pictures of the sample lie together; None if they do.

    A part of the sample may have come to lie together a few pixels away from the rest. Each
    picture is placed once more, on coarse frames against what most of them share.
    """
    request = learned.request
    if len(learned.levels) < 2:
        return None
    span = sample.value_range

    def one(k: int) -> Floats:
        picture = replace(sample.only(k), span=span)
        origin = learned.origin[k]
        visit = Visit(learned, learned.job_for(picture, origin), origin, (k, k))
        found = visit.best_place()
        return sample.from_original(found.transform)

    together = np.stack(executor.run(one, range(len(sample))))
    moved = displacements(learned.transforms, together, request.frame.corners)
    factor = min(request.frame.shape) / request.settings.resolution.side
    apart = moved > request.settings.sample.apart * max(factor, 1.0)
    return np.where(apart[:, None, None], together, learned.transforms) if apart.any() else None


@dataclass(frozen=True)
class Visit:
    """The search for the place of one picture."""

    learned: Learned
    job: Job
    base: Floats
    between: tuple[int, int]

    @cached_property
    def small(self) -> Job:
        """The picture on the frame of the search."""
        return self.job.search if self.job.request.searches_small else self.job

    @cached_property
    def ladder(self) -> list[Rung]:
        """The picture on the frame of each level, the coarsest first."""
        return [Rung(level.job(self.small), level.basis) for level in self.learned.levels]

    @property
    def enough(self) -> float:
        """The confirmed share with which no other start is tried."""
        numbers = self.learned.request.settings.verdicts
        return numbers.rough_placed if self.is_rough else numbers.agrees

    @property
    def is_rough(self) -> bool:
        """Whether the sample agrees only roughly, so that the rough share counts."""
        return self.learned.batch is BatchVerdict.ROUGH

    def best_place(self) -> Place:
        """Try one start after the other until the sample confirms where it leads to."""
        best: Place | None = None
        for parameters, from_grid in self._starts():
            found = replace(self._from(parameters), rescued=from_grid)
            if best is None or self._rank(found) > self._rank(best):
                best = found
            if self._figure(best) >= self.enough and best.cost <= self.learned.limit:
                break
        assert best is not None
        fits = best.cost <= self.learned.limit
        return replace(best, sure=fits or self._figure(best) >= self.enough)

    def at(self, transform: Floats) -> Place:
        """Ask the sample about a place (3, 3), into the picture as it was read."""
        numbers = self.learned.request.settings.verdicts
        rows = rows_at(self.job, [(0, transform)])
        share, rough = self.learned.newcomers.shares(rows, numbers)
        stack = self.job.request.stack
        return Place(
            transform=stack.to_original(transform),
            base=stack.to_original(self.base),
            share=float(share[0]),
            rough=float(rough[0]),
            cost=1.0,
        )

    def _figure(self, place: Place) -> float:
        """The share that counts in this batch."""
        return place.rough if self.is_rough else place.share

    def _rank(self, place: Place) -> tuple[float, float]:
        """What a better place has more of: it is plainly confirmed, and costs less.

        The share itself does not decide: the largest of several small ones is a matter of chance.
        """
        return float(self._figure(place) >= self.enough), -place.cost

    def _starts(self) -> Iterator[tuple[Floats, bool]]:
        """Give starts (p,) on the coarsest frame, and whether they are from a grid.

        First where the picture was given and where its neighbours of the sample went, the one
        that fits best first: a camera that drifts has both near. Then, where that did not do, the
        best of a grid.
        """
        first = self.ladder[0]
        usual = self._usual_starts()
        for k in np.argsort(first.costs(usual), kind="stable"):
            yield usual[int(k)], False
        request = self.learned.request
        # Where pictures agree only roughly, some other place is always a little better.
        if self.is_rough and not request.rescue:
            return
        numbers = request.settings.rescue
        side = min(first.job.request.frame.shape)
        wide = self.learned.far and not self.is_rough
        search = Search.wide(numbers, side) if wide else Search.near(numbers)
        for parameters in promising_starts(
            first.job.contrast, first.motion, 0, first.basis, search, numbers
        ):
            if first.distance(parameters, usual) <= search.bound:
                yield parameters, True

    def _usual_starts(self) -> list[Floats]:
        """The start as it was given, and the motions of the neighbours, without repetitions."""
        learned = self.learned
        places = [self.base]
        for k in dict.fromkeys(self.between):
            places.append(self.base @ np.linalg.inv(learned.origin[k]) @ learned.transforms[k])
        first = self.ladder[0]
        coarse = self.small.to_smaller(first.job, self.job.to_smaller(self.small, np.stack(places)))
        least = learned.request.settings.rescue.moved
        corners = first.job.request.frame.corners
        apart: list[Floats] = []
        for place in coarse:
            if not apart or displacements(np.stack(apart), place[None], corners).min() > least:
                apart.append(place)
        return [first.motion.reaching(place[None]).parameters[0] for place in apart]

    def _from(self, parameters: Floats) -> Place:
        """Where the picture goes from parameters (p,): on features, then on pixels."""
        numbers = self.learned.request.settings.registration
        there = self.ladder[0].motion.matrix(0, parameters)
        previous = self.ladder[0].job
        for rung in self.ladder:
            # From one frame to the next, by way of that of the search.
            on_search = self.small.from_smaller(previous, there)
            there = rung.follow(self.small.to_smaller(rung.job, on_search), numbers)
            previous = rung.job
        refined = self._refined(self.job.from_smaller(self.small, there))
        cost = self.ladder[-1].cost(self.job.to_smaller(self.small, refined))
        return replace(self.at(refined), cost=cost)

    def _refined(self, transform: Floats) -> Floats:
        """A place (3, 3) on features refined on pixels, as far as that is no drift."""
        learned = self.learned
        pixels = learned.pixels
        assert pixels is not None
        numbers = learned.request.settings
        job = self.job if learned.on_whole else self.small
        sampler = job.pixels
        before = self.job.to_smaller(job, transform)
        values, _, valid = sampler.sample(0, before)
        norm = float(np.linalg.norm(values))
        if norm == 0 or 2 * valid.sum() < valid.size:
            return transform
        request = job.request
        motion = Motion.starting_at(request.start, request.family, request.frame.centre)
        motion = motion.reaching(before[None])
        # The basis is one of unit norm, the picture is not.
        ready = replace(pixels, scale=pixels.scale * norm)
        found = register(
            sampler, motion, 0, motion.parameters[0], ready, numbers.registration, offset=0.0
        )
        after = motion.matrix(0, found)
        moved = displacements(before[None], after[None], request.frame.corners)[0]
        if not moved <= numbers.pixels.guard * min(request.frame.shape):
            return transform
        return self.job.from_smaller(job, after)


def explain(explaining: Explaining, row: Array, valid: Bools, max_rank: int) -> Floats:
    """Coefficients (r,) of a row (c m,) by a robust fit to the leading rows of the basis."""
    coefficients = np.zeros(len(explaining.rows))
    seen = valid & explaining.seen
    known = np.where(seen, row, 0.0)
    norm = float(np.linalg.norm(known))
    if norm > 0:
        leading = explaining.leading(max_rank)
        fitted, _ = annealed_fit(known[None] / norm, leading, seen[None], explaining.noise)
        coefficients[: len(leading)] = norm * fitted[0]
    return coefficients


def _varies(one: Stack) -> bool:
    """Whether a picture has anything to be placed by."""
    values = valid_pixels(one.sources[0], one.masks[0])
    return bool((values.max(axis=0) > values.min(axis=0)).any())
