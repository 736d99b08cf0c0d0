"""What the stages share: the Job, which never changes, and the Progress, which does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Settings, Solution, Steps, default_sparsity
from rankfold.align.features import contrast_sampler
from rankfold.align.loop import InnerLoop, OuterLoop, iterate
from rankfold.align.request import Request
from rankfold.errors import InputError
from rankfold.families import Floats
from rankfold.scale import Executor
from rankfold.stack import Stack
from rankfold.status import InnerRecord, Observer, OuterRecord, Status
from rankfold.warp.linearisation import Motion
from rankfold.warp.sampling import Sampler, prepare

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Job:
    """A request with its pictures ready to be sampled, and who runs and watches it."""

    request: Request
    executor: Executor
    observe: Observer | None = None

    @cached_property
    def full(self) -> Sampler:
        """The pictures in all channels."""
        return self._prepare(self.request.stack)

    @cached_property
    def guide(self) -> Stack:
        """The pictures from which transforms come: in grey, or in all channels."""
        stack = self.request.stack
        if self.request.joint or not stack.is_colour:
            return stack
        # Colours that differ may have one luminance: what is constant in grey cannot be aligned.
        grey = stack.luminance()
        grey.check_alignable()
        return grey

    @property
    def guided_by_all(self) -> bool:
        """Whether transforms come from the very rows that are decomposed at the end."""
        return self.guide is self.request.stack

    @cached_property
    def pixels(self) -> Sampler:
        """The guide, ready to be sampled."""
        return self.full if self.guided_by_all else self._prepare(self.guide)

    @cached_property
    def contrast(self) -> Sampler:
        """The contrast features of the guide."""
        request = self.request
        return contrast_sampler(
            self.guide.luminance(),
            request.frame,
            request.start,
            self.rough,
            self.executor,
            request.settings.features,
        )

    def blurred(self, blur: float) -> Sampler:
        """The guide blurred with a standard deviation in px of the frame."""
        request = self.request
        return prepare(
            self.guide, request.frame, request.start, self.rough, self.executor, blur=blur
        )

    @property
    def rough(self) -> npt.DTypeLike:
        """The precision on features and blurred pixels, where a step needs three digits."""
        request = self.request
        pixels = request.frame.height * request.frame.width
        values = request.family.size * len(request.stack) * pixels
        large = values > request.settings.features.single_above
        return np.float32 if large else request.dtype

    def sparsity(self, sampler: Sampler) -> float:
        """λ for rows of a sampler."""
        shape = (len(sampler), int(np.prod(sampler.row_shape)))
        return default_sparsity(shape, self.request.sparsity_weight)

    def plain(self, tol: float, surrogate: str = "nuclear") -> Settings:
        """Inner settings without the manifold, at most as fine as the caller's tolerance."""
        inner = self.request.inner
        return replace(inner, tol=max(tol, inner.tol), surrogate=surrogate, clone=None)

    def inner_loop(self, sampler: Sampler, settings: Settings) -> InnerLoop:
        """How the linearised problems on a sampler are solved."""
        # Steps to a few digits are for the convex problem: the others start at a certain penalty.
        steps = self.request.schedule.steps if settings.convex else Steps()
        solver = self.request.method.solve
        return InnerLoop(self.sparsity(sampler), settings, solver, steps)

    def outer_loop(self, stage: str, max_outer: int | None = None, patience: int = 1) -> OuterLoop:
        """How the outer loop of a stage runs."""
        request = self.request
        return OuterLoop(
            max_outer=request.max_outer if max_outer is None else max_outer,
            outer_tol=request.outer_tol,
            patience=patience,
            gauge=request.gauge,
            start=request.start,
            numbers=request.settings.steps,
            stage=stage,
        )

    def check_cover(self) -> None:
        """Refuse a frame most of which no picture covers at the start."""
        request = self.request
        least = request.settings.start.min_cover
        # One picture after the other until enough is covered; the first one is, as a rule.
        covered = np.zeros(request.frame.height * request.frame.width, dtype=bool)
        for index, transform in enumerate(request.start):
            _, _, valid = self.full.sample(index, transform)
            covered |= valid
            if covered.mean() >= least:
                return
        h, w = request.frame.shape
        raise InputError(
            f"only {covered.mean():.0%} of the {h}x{w} frame lies inside any of the pictures at "
            "the start; use a smaller frame, or an init that spreads it over more of them"
        )

    def transforms_at(self, progress: Progress) -> Floats:
        """Where the pictures are (n, 3, 3): the start to the last bit where nothing moves them."""
        return progress.motion.transforms if self.request.method.moves else self.request.start

    def _prepare(self, stack: Stack) -> Sampler:
        request = self.request
        return prepare(stack, request.frame, request.start, request.dtype, self.executor)


@dataclass(frozen=True)
class Rows:
    """Pictures brought into the frame: unit-norm rows, their norms and their valid pixels."""

    data: Array  # D, n x m
    norms: Floats  # (n,)
    valid: Bools  # n x m


@dataclass(frozen=True)
class Progress:
    """What changes from stage to stage."""

    motion: Motion
    inner: tuple[InnerRecord, ...] = ()
    outer: tuple[OuterRecord, ...] = ()
    status: Status = Status.CONVERGED
    stop_rule: str = "fixed transforms"
    # How far (n,) each stage moved each picture, px of the frame.
    moved: dict[str, Floats] = field(default_factory=dict)
    # (n,): which pictures the rescue gave a new place.
    rescued: Bools | None = None
    # Of the last linearised problem.
    solution: Solution | None = None
    # Of the decomposition at the final transforms.
    rows: Rows | None = None
    decomposition: Solution | None = None
    # (n,)
    scores: Floats | None = None

    @property
    def over(self) -> bool:
        """Whether the search for transforms is to end here."""
        return self.status in (Status.STOPPED, Status.NON_FINITE)


def advance(
    job: Job, progress: Progress, sampler: Sampler, settings: Settings, outer: OuterLoop
) -> Progress:
    """Run the outer loop from where things are, and append what happened."""
    result = iterate(
        sampler,
        progress.motion,
        job.inner_loop(sampler, settings),
        replace(outer, first=len(progress.outer)),
        job.executor,
        job.observe,
    )
    return replace(
        progress,
        motion=result.motion,
        inner=progress.inner + result.inner,
        outer=progress.outer + result.outer,
        status=result.status,
        stop_rule=result.stop_rule,
        solution=result.solution,
    )
