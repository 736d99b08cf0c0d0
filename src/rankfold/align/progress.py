"""What changes from stage to stage: where the pictures are, and what has happened."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Settings, Solution
from rankfold.align.confirmation import Confirmation
from rankfold.align.job import Job
from rankfold.align.loop import Keep, LoopState, OuterLoop, OuterResult, iterate
from rankfold.align.matching import Matches
from rankfold.align.verdicts import Judgement
from rankfold.families import Floats
from rankfold.occluders import Occluder
from rankfold.status import InnerRecord, OuterRecord, RouteRecord, Status
from rankfold.warp.linearisation import Motion
from rankfold.warp.sampling import Sampler

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """Pictures brought into the frame: unit-norm rows, their norms and their valid pixels."""

    data: Array  # D, n x m
    norms: Floats  # (n,)
    valid: Bools  # n x m
    units: Floats  # (n,): the range of a pixel, black to white, in row i
    shape: tuple[int, int, int]  # (channels, height, width) of a row


@dataclass(frozen=True)
class Progress:
    """What changes from stage to stage."""

    motion: Motion
    # Where the pictures start (n, 3, 3): as was asked for, or where matching found them.
    origin: Floats
    inner: tuple[InnerRecord, ...] = ()
    outer: tuple[OuterRecord, ...] = ()
    status: Status = Status.CONVERGED
    stop_rule: str = "fixed transforms"
    # Which starts were tried, in order.
    attempts: tuple[RouteRecord, ...] = ()
    # What matching found, where it was tried.
    matches: Matches | None = None
    # Where the stage of features leads from here, if that is known already.
    ahead: Progress | None = None
    # How far (n,) each stage moved each picture, px of the frame.
    moved: dict[str, Floats] = field(default_factory=dict)
    # (n,): which pictures the rescue gave a new place.
    rescued: Bools | None = None
    # How far the pictures confirm each other's places here, if that was asked already.
    confirmation: Confirmation | None = None
    # Of the last linearised problem.
    solution: Solution | None = None
    # Of the decomposition at the final transforms.
    rows: Rows | None = None
    decomposition: Solution | None = None
    # What several pictures had in front of them, and was taken out.
    occluders: tuple[Occluder, ...] = ()
    judgement: Judgement | None = None

    @classmethod
    def at_start(cls, job: Job) -> Progress:
        """Nothing has happened yet."""
        request = job.request
        motion = Motion.starting_at(request.start, request.family, request.frame.centre)
        return cls(motion, request.start)

    def transforms(self, job: Job) -> Floats:
        """Where the pictures are (n, 3, 3): the start to the last bit where nothing moves them."""
        return self.motion.transforms if job.request.method.moves else job.request.start

    @property
    def over(self) -> bool:
        """Whether the search for transforms is to end here."""
        return self.status.over


def advance(
    job: Job, progress: Progress, sampler: Sampler, settings: Settings, outer: OuterLoop
) -> Progress:
    """Run the outer loop from where things are, and append what happened."""
    inner = job.inner_loop(sampler, settings)
    numbered = replace(outer, first=len(progress.outer))

    def run(state: LoopState | None, keep: Keep | None) -> OuterResult:
        """The loop, from where it was interrupted if it was."""
        return iterate(
            sampler, progress.motion, inner, numbered, job.executor, job.observe, state, keep
        )

    # The next step, or the last decomposition, may go on from the solution of the last step.
    with_solution = inner.steps.warm or job.request.schedule.after_steps is not None
    result = job.journal.loop(progress.motion, run, with_solution)
    return replace(
        progress,
        motion=result.motion,
        inner=progress.inner + result.inner,
        outer=progress.outer + result.outer,
        status=result.status,
        stop_rule=result.stop_rule,
        solution=result.solution,
        confirmation=None,
    )


def lifted(progress: Progress, whole: Job, small: Job, stage: str | None = None) -> Progress:
    """A progress on a smaller frame as one on the whole frame.

    Its outer iterations are counted as those of another ``stage``, if one is named.
    """
    begun = Progress.at_start(whole)
    transforms = whole.from_smaller(small, progress.motion.transforms)
    longer = min(whole.request.frame.shape) / min(small.request.frame.shape)

    def on_whole(record: OuterRecord) -> OuterRecord:
        """Lengths and transforms of a record in terms of the whole frame."""
        return replace(
            record,
            stage=stage or record.stage,
            median_displacement=longer * record.median_displacement,
            displacement=longer * record.displacement,
            transforms=whole.from_smaller(small, record.transforms),
        )

    return replace(
        progress,
        motion=begun.motion.reaching(transforms),
        origin=whole.request.start,
        outer=tuple(on_whole(record) for record in progress.outer),
        moved={name: longer * moved for name, moved in progress.moved.items()},
        # They belong to rows of the smaller frame.
        solution=None,
        confirmation=None,
    )
