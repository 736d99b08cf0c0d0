"""What a stage is given that never changes: the request, and its pictures ready to be sampled."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rankfold.admm import Settings, Steps, default_sparsity
from rankfold.align.features import contrast_sampler
from rankfold.align.journal import Forgetful, Journal
from rankfold.align.loop import InnerLoop, OuterLoop
from rankfold.align.reduction import lossless_reduction
from rankfold.align.request import Request
from rankfold.errors import InputError
from rankfold.families import Floats, shift
from rankfold.scale import Executor
from rankfold.stack import Frame, Stack
from rankfold.stack.views import View
from rankfold.status import Observer
from rankfold.warp.sampling import Sampler, prepare

# Unit: px. No picture is made shorter than this for a smaller frame.
SHORTEST = 32


@dataclass(frozen=True)
class Job:
    """A request with its pictures ready to be sampled, and who runs and watches it."""

    request: Request
    executor: Executor
    observe: Observer | None = None
    # The pictures as they were given, where those of the request were made coarser since.
    given: Stack | None = None
    # What remembers expensive calls, so that an interrupted run can go on.
    journal: Journal = field(default_factory=Forgetful)

    @property
    def views(self) -> tuple[View, ...]:
        """Small grey copies of the pictures as they were given, in which keypoints are found."""
        stack = self.given or self.request.stack
        return stack.views_to_match(self.request.settings.matching.side)

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
        return stack.luminance()

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

    def contrast_at(self, scale: float) -> Sampler:
        """The same features with all lengths ``scale`` times as long."""
        request = self.request
        numbers = request.settings.features
        longer = replace(numbers, smooth=scale * numbers.smooth, surround=scale * numbers.surround)
        return contrast_sampler(
            self.guide.luminance(), request.frame, request.start, self.rough, self.executor, longer
        )

    def blurred(self, blur: float) -> Sampler:
        """The guide blurred with a standard deviation in px of the frame."""
        request = self.request
        return prepare(
            self.guide, request.frame, request.start, self.rough, self.executor, blur=blur
        )

    @property
    def is_large(self) -> bool:
        """Whether the pictures in the frame are too many values for a cache."""
        stack = self.request.stack
        values = len(stack) * self.request.frame.height * self.request.frame.width * stack.channels
        return values > self.request.settings.decomposition.single_above

    @property
    def precision(self) -> npt.DTypeLike:
        """The precision in which pictures are sampled and decomposed."""
        schedule = self.request.schedule
        single = schedule.single or (self.is_large and not schedule.exact)
        return np.float32 if single else self.request.dtype

    @property
    def rough(self) -> npt.DTypeLike:
        """The precision on features and blurred pixels, where a step needs three digits."""
        single = self.request.schedule.rough_steps.single
        return np.float32 if single else self.request.dtype

    def sparsity(self, sampler: Sampler) -> float:
        """λ for rows of a sampler."""
        shape = (len(sampler), int(np.prod(sampler.row_shape)))
        return default_sparsity(shape, self.request.sparsity_weight)

    def plain(self, tol: float, surrogate: str = "nuclear") -> Settings:
        """Inner settings without the manifold, at most as fine as the caller's tolerance."""
        request = self.request
        return replace(
            request.inner,
            tol=max(tol, request.inner.tol),
            penalty=request.schedule.rough_steps.penalty,
            surrogate=surrogate,
            clone=None,
        )

    def inner_loop(self, sampler: Sampler, settings: Settings) -> InnerLoop:
        """How the linearised problems on a sampler are solved."""
        schedule = self.request.schedule
        steps = schedule.steps if sampler is self.pixels else schedule.rough_steps
        if len(sampler) < steps.least:
            steps = Steps()
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

    @cached_property
    def search(self) -> Job:
        """The same job on a smaller frame, on which places are searched."""
        return self.on_smaller_frame(self.request.settings.resolution.side)

    @cached_property
    def rehearsal(self) -> Job:
        """The same job on a smaller frame, on which starts are tried."""
        return self.on_smaller_frame(self.request.settings.routes.side)

    @cached_property
    def overview(self) -> Job:
        """The same job on a smaller frame, on which it is asked whether pictures agree."""
        return self.on_smaller_frame(self.request.settings.verdicts.side)

    def on_smaller_frame(self, side: int) -> Job:
        """The same job with at most ``side`` px on the short side of its frame; itself if so."""
        request = self.request
        factor = min(request.frame.shape) / side
        if factor <= 1:
            return self
        small = Frame(*(round(size / factor) for size in request.frame.shape))
        start = request.start @ self._from_frame(small)
        # Pixels that are finer than the smaller frame can show would only take time.
        stack = request.stack.reduced(self._reduction_for(small, start), views=False)
        start = stack.from_original(request.stack.to_original(start))
        reduced = replace(request, stack=stack, frame=small, start=start)
        return replace(self, request=reduced, given=self.given or request.stack)

    def _reduction_for(self, small: Frame, start: Floats) -> int:
        """How much coarser the pictures may be for a smaller frame."""
        shortest = min(min(source.shape[:2]) for source in self.request.stack.sources)
        most = int(shortest) // SHORTEST
        return max(min(lossless_reduction(start, small), most), 1)

    def to_smaller(self, small: Job, transforms: Floats) -> Floats:
        """Transforms (..., 3, 3) of this job as those of the same job on a smaller frame."""
        if small is self:
            return transforms
        moved = self.request.stack.to_original(transforms @ self._from_frame(small.request.frame))
        return small.request.stack.from_original(moved)

    def from_smaller(self, small: Job, transforms: Floats) -> Floats:
        """Transforms (..., 3, 3) of the same job on a smaller frame as those of this job."""
        if small is self:
            return transforms
        in_originals = small.request.stack.to_original(transforms)
        to_small = np.linalg.inv(self._from_frame(small.request.frame))
        moved = self.request.stack.from_original(in_originals) @ to_small
        return np.asarray(moved / moved[..., 2:, 2:])

    def _from_frame(self, small: Frame) -> Floats:
        """Map coordinates of a smaller frame to this job's, by one factor about the middle."""
        frame = self.request.frame
        # One factor for both axes, so that a turn stays a turn.
        factor = min(frame.shape) / min(small.shape)
        return shift(frame.centre) @ np.diag([factor, factor, 1.0]) @ shift(-small.centre)

    def forget(self, *names: str) -> None:
        """Let go of what was made ready to be sampled: what comes next needs the room."""
        for name in names:
            self.__dict__.pop(name, None)

    def starting_at(self, start: Floats) -> Job:
        """The same job from another start (n, 3, 3), for which pictures are prepared anew."""
        if start is self.request.start:
            return self
        return replace(self, request=replace(self.request, start=start))

    def check_guide(self) -> None:
        """Refuse pictures that are constant in grey: colours that differ may be equally bright."""
        if self.request.method.moves and not self.guided_by_all:
            self.guide.check_alignable()

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

    def _prepare(self, stack: Stack) -> Sampler:
        request = self.request
        return prepare(stack, request.frame, request.start, self.precision, self.executor)
