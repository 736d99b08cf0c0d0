"""The STAGES table: what an alignment does, in order. Every other place reads this table.

The plan, the progress bar, the report, the command line and the documentation take names, costs,
colours and sentences from here. A stage is a function from a Job (what never changes) and a
Progress (what does) to the next Progress. RASL as published is the stage on pixels alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from rankfold.align.final import decomposition_stage, verdict_stage
from rankfold.align.job import Job
from rankfold.align.methods import Method
from rankfold.align.occluders import occluder_stage
from rankfold.align.pixels import feature_stage, fine_stage, pixel_stage
from rankfold.align.progress import Progress, lifted
from rankfold.align.request import Request
from rankfold.align.rescue import rescue_stage
from rankfold.align.routes import start_stage
from rankfold.align.settings import AlignSettings
from rankfold.align.steps import displacements


class Choices(Protocol):
    """What a Method chooses by itself, and a Request where the caller had a say."""

    @property
    def route(self) -> str:
        """How pictures come to their start: a row of ROUTES, or "auto"."""

    @property
    def features(self) -> str | None:
        """Which features to align first."""

    @property
    def rescue(self) -> bool:
        """Whether to look for a better place for single pictures."""

    @property
    def shared(self) -> float:
        """The largest share of pictures that an occluder may be on; 0 leaves the stage out."""


@dataclass(frozen=True)
class Stage:
    """A row of STAGES."""

    name: str
    # What it does, for tables and the progress line.
    sentence: str
    # The work itself.
    run: Callable[[Job, Progress], Progress]
    # Whether it runs. A stage that searches transforms runs only for a method that moves pictures.
    on: Callable[[Choices, AlignSettings], bool]
    # Outer iterations that it usually takes, for estimates.
    outer: int
    # Inner iterations in each of them.
    inner: int
    # Of its curve in the report.
    colour: str
    # Whether it searches transforms; the others also run when the search was stopped.
    moves: bool = True
    # Whether it works on the whole frame; the others on a smaller one, where the frame is large.
    whole: bool = False
    # Whether it only does what a smaller frame left open, and is left out without one.
    refines: bool = False

    @property
    def cost(self) -> int:
        """Its share of a run, in inner iterations."""
        return self.outer * self.inner


def always(*_: object) -> bool:
    """Whatever was chosen, the stage runs."""
    return True


STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            "start",
            "find where to begin",
            start_stage,
            on=lambda chosen, _: chosen.route != "given",
            outer=12,
            inner=8,
            colour="#2f9e68",
        ),
        Stage(
            "features",
            "align contrast features",
            feature_stage,
            on=lambda chosen, _: chosen.features is not None,
            outer=8,
            inner=8,
            colour="#e08a1e",
        ),
        Stage(
            "rescue",
            "look for a better place for pictures that stand apart",
            rescue_stage,
            on=lambda chosen, _: chosen.rescue,
            outer=4,
            inner=8,
            colour="#a855c7",
        ),
        Stage(
            "pixels",
            "align the pixels",
            pixel_stage,
            on=always,
            outer=3,
            inner=25,
            colour="#3b82f6",
        ),
        Stage(
            "fine",
            "refine the places on the whole frame",
            fine_stage,
            on=always,
            outer=3,
            inner=25,
            colour="#0e7490",
            whole=True,
            refines=True,
        ),
        Stage(
            "decomposition",
            "split the aligned pictures into low rank + sparse",
            decomposition_stage,
            on=always,
            outer=1,
            inner=60,
            colour="#64748b",
            moves=False,
            whole=True,
        ),
        Stage(
            "occluders",
            "take out what several pictures share and does not belong",
            occluder_stage,
            on=lambda chosen, _: chosen.shared > 0,
            outer=1,
            inner=20,
            colour="#c2410c",
            moves=False,
            whole=True,
        ),
        Stage(
            "verdicts",
            "ask of every picture whether it lies where the others do",
            verdict_stage,
            on=always,
            outer=1,
            inner=10,
            colour="#94a3b8",
            moves=False,
            whole=True,
        ),
    )
}
"""The stages of an alignment by their names, in the order in which they run."""


def stages_of(request: Request) -> list[Stage]:
    """The stages that will run, in order."""
    return _chosen(request, request.settings, request.method.moves, request.searches_small)


def usual_stages(method: Method, large: bool = False) -> list[Stage]:
    """The stages that run for a method where the caller says nothing, in order.

    ``large`` says whether the frame is larger than the one on which places are searched.
    """
    return _chosen(method, AlignSettings(), method.moves, large)


def _chosen(choices: Choices, settings: AlignSettings, moves: bool, large: bool) -> list[Stage]:
    """The stages that are on, without those that search transforms where nothing moves."""
    possible = [stage for stage in STAGES.values() if moves or not stage.moves]
    needed = [stage for stage in possible if large or not stage.refines]
    return [stage for stage in needed if stage.on(choices, settings)]


def run_stages(whole: Job) -> tuple[Job, Progress]:
    """Run every stage that is on, each from where the last one ended.

    The job that is returned starts where matching found the pictures, if that was kept.
    """
    job = whole.search if whole.request.searches_small else whole
    given = job.request.start
    progress = Progress.at_start(job)
    chosen = stages_of(whole.request)
    names = tuple(stage.name for stage in chosen)
    # Plain functions see iterations only; an observer with this method is told of stages too.
    begin_stage = getattr(whole.observe, "begin_stage", None)
    for stage in chosen:
        if stage.moves and progress.over:
            continue
        if begin_stage is not None:
            begin_stage(stage.name, names)
        if stage.whole and job is not whole:
            if progress.origin is not given:
                whole = whole.starting_at(whole.from_smaller(job, progress.origin))
            progress = lifted(progress, whole, job)
            job = whole
        progress = _run(stage, job, progress)
        job = job.starting_at(progress.origin)
        if not whole.request.searches_small:
            whole = job
    return job, progress


def _run(stage: Stage, job: Job, before: Progress) -> Progress:
    """Run one stage and note how far it moved each picture."""
    after = stage.run(job, before)
    if after is before or not stage.moves:
        return after
    corners = job.request.frame.corners
    distance = displacements(before.motion.transforms, after.motion.transforms, corners)
    return replace(after, moved={**after.moved, stage.name: distance})
