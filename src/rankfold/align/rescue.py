"""Bring back single pictures that went astray: many starts, a robust fit, proof that it helped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from rankfold.align.agreement import agreement, confirmation, feature_model, rows_at
from rankfold.align.basis import Basis
from rankfold.align.confirmation import Confirmation
from rankfold.align.job import Job
from rankfold.align.model import Model
from rankfold.align.packing import pack_places, unpack_places
from rankfold.align.progress import Progress, advance
from rankfold.align.registration import register
from rankfold.align.routes import ROUTES
from rankfold.align.settings import RescueSettings
from rankfold.align.steps import displacements
from rankfold.align.verdicts import judge
from rankfold.families import Family, Floats, get_family
from rankfold.verdicts import BatchVerdict
from rankfold.warp.linearisation import Motion
from rankfold.warp.sampling import Sampler

Bools = npt.NDArray[np.bool_]

# Places whose cost is computed at a time, so that their pixels stay in cache.
TOGETHER = 48
# A basis needs more pictures than this.
LEAST = 3


@dataclass(frozen=True)
class Search:
    """How far to look for a better place."""

    angles: tuple[float, ...]  # degrees
    shifts: tuple[float, ...]  # px of the frame
    # Corner displacement from the start, px, beyond which a place is not believed.
    bound: float

    @classmethod
    def near(cls, numbers: RescueSettings) -> Search:
        """After a start that is nearly right."""
        return cls(numbers.near_angles, numbers.near_shifts, numbers.near_bound)

    @classmethod
    def wide(cls, numbers: RescueSettings, side: int) -> Search:
        """After a far start, in a frame whose short side is ``side`` px."""
        return cls(numbers.wide_angles, numbers.wide_shifts, numbers.wide_bound * side)

    @classmethod
    def local(cls, numbers: RescueSettings) -> Search:
        """Around the current place."""
        return cls(numbers.local_angles, numbers.local_shifts, np.inf)


@dataclass(frozen=True)
class Test:
    """Whether the others confirm a picture's place, as the verdicts ask it."""

    job: Job
    found: Confirmation
    share: Floats  # (n,) confirmed where the pictures are
    rough: bool  # whether the batch agrees only roughly

    @classmethod
    def at(cls, job: Job, progress: Progress) -> Test:
        """With the pictures where they are."""
        found = progress.confirmation or confirmation(job, progress.motion.transforms)
        judgement = judge(found, job.request.settings.verdicts)
        rough = judgement.batch is BatchVerdict.ROUGH
        return cls(job, found, judgement.confirmed, rough)

    @property
    def unconfirmed(self) -> Bools:
        """Which pictures (n,) may be somewhere else."""
        numbers = self.job.request.settings.verdicts
        return self.share < (numbers.rough_placed if self.rough else numbers.agrees)

    @property
    def trusted(self) -> Bools | None:
        """Pictures (n,) whose places are confirmed; None where they are too few for a basis."""
        group = self.found.group
        return None if self.rough or group.sum() <= LEAST else group

    def is_better(self, index: int, place: Floats) -> bool:
        """Whether more of a picture is confirmed at another place (3, 3) than where it is."""
        numbers = self.job.request.settings.verdicts
        rows = rows_at(self.job, [(index, place)])
        there = self.found.share_elsewhere(rows, np.array([index]), numbers, self.rough)
        return bool(there[0] > self.share[index])


def rescue_stage(job: Job, progress: Progress) -> Progress:
    """Some rounds: move single pictures, let all settle, keep it if the pictures agree better."""
    numbers = job.request.settings.rescue
    far = came_from_far(progress)
    rescued = np.zeros(len(job.request.start), dtype=bool)
    lowest = agreement(job, progress.motion.transforms)
    # Pictures that went astray together explain each other. A basis too small for them tells them
    # from the rest, so the first round after a far start has one.
    ranks = [numbers.few if far else None, *[None] * (numbers.rounds - 1)]
    tried: set[int | None] = set()
    # Pictures (n,) that were searched and stayed where they are, by the size of the basis.
    in_vain = {rank: np.zeros_like(rescued) for rank in ranks}
    for rank in ranks:
        if rank in tried:
            # Nothing has changed since, so the answer would be the same.
            continue
        tried.add(rank)
        trial, searched, moved = _round(job, progress, rank, far, in_vain[rank])
        if trial.over:
            return trial
        if not moved.any():
            continue
        value = agreement(job, trial.motion.transforms)
        if value < lowest:
            progress = trial
            lowest = value
            rescued = rescued | moved
            tried.clear()
            if moved.mean() < numbers.few_moved:
                # The others look as before.
                in_vain[rank] = (in_vain[rank] | searched) & ~moved
            else:
                in_vain = {rank: np.zeros_like(moved) for rank in ranks}
    return replace(progress, rescued=rescued)


def came_from_far(progress: Progress) -> bool:
    """Whether pictures may still be far from where they belong, after the route that was kept."""
    return any(ROUTES[record.route].far for record in progress.attempts if record.kept)


def _round(
    job: Job, progress: Progress, rank: int | None, far: bool, in_vain: Bools
) -> tuple[Progress, Bools, Bools]:
    """Give unconfirmed pictures a new place and let all settle; who (n,) was searched and moved.

    Pictures ``in_vain`` (n,) are not searched again.
    """
    settings = job.request.settings
    transforms = progress.motion.transforms
    test = Test.at(job, progress)
    chosen = test.unconfirmed & ~in_vain
    if not chosen.any():
        return progress, chosen, chosen
    model, cost = feature_model(job, transforms, rank, test.trusted)
    motion, moved = rescue(job, progress.motion, model, cost, test, chosen, far)
    if not moved.any():
        return progress, chosen, moved
    inner = job.plain(settings.features.tol, "reweighted")
    outer = job.outer_loop("rescue", settings.rescue.settle)
    trial = replace(progress, motion=motion)
    return advance(job, trial, job.contrast, inner, outer), chosen, moved


def rescue(
    job: Job, motion: Motion, model: Model, cost: Floats, test: Test, chosen: Bools, far: bool
) -> tuple[Motion, Bools]:
    """Search a better place for the pictures ``chosen`` (n,); the new motion, and who moved.

    ``model`` and ``cost`` (n,) belong to the features without their +1.
    """
    numbers = job.request.settings.rescue
    side = min(job.request.frame.shape)
    # Where pictures agree only roughly, some place far away is always a little better.
    wide = far and not test.rough
    search = Search.wide(numbers, side) if wide else Search.near(numbers)
    indices = [int(i) for i in np.flatnonzero(chosen)]

    def one(i: int) -> Floats | None:
        others = model.others(i, job.contrast.dtype)
        return better_place(job, motion, i, others, cost[i], test, search)

    def run() -> tuple[Floats, Bools]:
        """Parameters (n, p) after the search, and who (n,) moved."""
        parameters = motion.parameters.copy()
        moved = np.zeros(len(parameters), dtype=bool)
        for i, found in zip(indices, job.executor.run(one, indices), strict=True):
            if found is not None:
                parameters[i] = found
                moved[i] = True
        return parameters, moved

    parameters, moved = job.journal.call("rescue", run, pack_places, unpack_places)
    return motion.with_parameters(parameters), moved


def better_place(
    job: Job,
    motion: Motion,
    index: int,
    others: Basis,
    cost: float,
    test: Test,
    search: Search,
) -> Floats | None:
    """Parameters (p,) at which a picture costs clearly less and more of it is confirmed.

    None if there are none.
    """
    numbers = job.request.settings.rescue
    sampler = job.contrast
    corners = sampler.frame.corners
    start = job.request.start[index][None]
    current = motion.matrix(index, motion.parameters[index])[None]
    best = None
    lowest = numbers.better * cost
    starts = promising_starts(sampler, motion, index, others, search, numbers)
    for parameters in [*starts, motion.parameters[index]]:
        found = register(
            sampler, motion, index, parameters, others, job.request.settings.registration
        )
        place = motion.matrix(index, found)[None]
        if displacements(start, place, corners)[0] > search.bound:
            continue
        value = cost_at(sampler, motion, index, [found], others)[0]
        moved = displacements(current, place, corners)[0] > numbers.moved
        if value < lowest and moved and test.is_better(index, place[0]):
            best = found
            lowest = value
    return best


def promising_starts(
    sampler: Sampler,
    motion: Motion,
    index: int,
    others: Basis,
    search: Search,
    numbers: RescueSettings,
) -> list[Floats]:
    """The cheapest places of a grid around the start and of one around the current place."""
    family = motion.family
    current = family.matrix(motion.parameters[index])
    around_start = [family.parameters(M) for M in grid(family, search)]
    around_now = [family.parameters(current @ M) for M in grid(family, Search.local(numbers))]
    candidates = around_start + around_now
    cost = np.concatenate(
        [
            cost_at(sampler, motion, index, candidates[k : k + TOGETHER], others)
            for k in range(0, len(candidates), TOGETHER)
        ]
    )
    cheapest = np.argsort(cost, kind="stable")[: numbers.kept_starts]
    return [candidates[k] for k in cheapest]


def grid(family: Family, search: Search) -> list[Floats]:
    """Turns and shifts about the middle of the frame, as matrices of the family."""
    euclidean = get_family("euclidean")
    # Any angle will do to ask whether the family has turns.
    turned = euclidean.matrix(np.array([0.1, 0.0, 0.0]))
    angles = search.angles if family.contains(turned) else (0.0,)
    return [
        euclidean.matrix(np.array([np.radians(angle), x, y]))
        for angle, x, y in product(angles, search.shifts, search.shifts)
    ]


def cost_at(
    sampler: Sampler, motion: Motion, index: int, candidates: list[Floats], others: Basis
) -> Floats:
    """Robust cost (k,) of a picture at other parameters; infinite where it sees less than half."""
    matrices = np.stack([motion.matrix(index, parameters) for parameters in candidates])
    rows, valid = sampler.sample_many(index, matrices)
    rows -= 1
    cost = others.cost(np.where(valid, rows, rows.dtype.type(0)), valid)
    return np.where(2 * valid.sum(axis=1) < valid.shape[1], np.inf, cost)
