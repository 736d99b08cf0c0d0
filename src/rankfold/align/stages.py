"""The stages of an alignment: coarse, features, rescue, pixels. Each is a small piece, each can be left out.

RASL as published is the stage on pixels alone. A stage takes a Job (what never changes) and a Progress (what does) and
returns the next Progress.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Clone, Problem, Settings, Solution, solve
from rankfold.admm.problem import default_sparsity
from rankfold.align.features import contrast_sampler
from rankfold.align.loop import QUICK, OuterSettings, iterate, weights_of
from rankfold.align.rescue import Search, rescue
from rankfold.align.robust import Model, fit_model
from rankfold.align.steps import displacements
from rankfold.executors import Executor
from rankfold.families import Family, Floats
from rankfold.stack import Frame, Stack
from rankfold.status import InnerRecord, Observer, OuterRecord, Status
from rankfold.warp.linearisation import Motion, warp_normalised
from rankfold.warp.sampling import Sampler, prepare

BLURS = (4.0, 2.0)  # of the coarse stage, canonical px
ROUNDS = 3  # of rescue
FEW = 3  # dimensions of the basis in the first round after a coarse stage
PATIENCE = (
    4  # outer iterations that MeADMM may take without lowering its objective, which is not monotone
)
# of the short side: a picture that moves further on raw pixels after the features drifts, and is put back
GUARD = 0.5 / 42
# values of all derivatives of grey pictures. Fewer fit into a second-level cache, where single precision saves little;
# and of the hundred small digits of the reproduction, where rounding decides who fails, other ones would fail
LARGE = 2**18
LOOK_AHEAD = 8  # outer iterations on features by which a coarse start is judged


@dataclass(frozen=True)
class Job:
    """What never changes during an alignment."""

    guide: Stack  # what is aligned: grey, or all channels
    pixels: Sampler  # the same, ready to be sampled
    frame: Frame
    start: Floats  # (n, 3, 3)
    family: Family
    sparsity_weight: float
    inner: Settings
    outer: OuterSettings
    clone: Clone | None  # the manifold constraint, on pixels
    surrogate: str  # "reweighted": pixels are aligned with the nuclear norm first
    features: str | None
    rescue: bool
    coarse: str | bool  # "auto": tried, kept if the pictures agree better
    dtype: npt.DTypeLike
    executor: Executor
    observe: Observer | None

    @property
    def rough(self) -> npt.DTypeLike:
        """The precision on features and blurred pixels, where steps have three digits: single, where it saves time."""
        values = self.family.size * len(self.guide) * self.frame.height * self.frame.width
        return np.float32 if values > LARGE else self.dtype

    @cached_property
    def contrast(self) -> Sampler:
        """Their contrast features."""
        return contrast_sampler(
            self.guide.luminance(), self.frame, self.start, self.rough, self.executor
        )

    def sparsity(self, sampler: Sampler) -> float:
        """λ for rows of a sampler."""
        return default_sparsity(
            (len(sampler), int(np.prod(sampler.row_shape))), self.sparsity_weight
        )


@dataclass(frozen=True)
class Progress:
    """What changes from stage to stage."""

    motion: Motion
    inner: tuple[InnerRecord, ...] = ()
    outer: tuple[OuterRecord, ...] = ()
    status: Status = Status.CONVERGED
    stop_rule: str = ""
    moved: tuple[
        tuple[str, Floats], ...
    ] = ()  # stage, how far (n,) it moved each picture, canonical px
    rescued: npt.NDArray[np.bool_] | None = None  # (n,)
    solution: Solution | None = None  # of the last linearised problem

    @property
    def over(self) -> bool:
        """Whether the run is to end here."""
        return self.status in (Status.STOPPED, Status.NON_FINITE)


Stage = Callable[[Job, Progress], Progress]


def run_stages(job: Job) -> Progress:
    """Every stage in turn."""
    progress = Progress(Motion.starting_at(job.start, job.family, job.frame.centre))
    for name, stage in STAGES.items():
        before = progress.motion.transforms
        after = stage(job, progress)
        if after is not progress:
            distance = displacements(before, after.motion.transforms, job.frame.corners)
            after = replace(after, moved=(*after.moved, (name, distance)))
        progress = after
        if progress.over:
            break
    return progress


def coarse_stage(job: Job, progress: Progress) -> Progress:
    """Plain RASL on pixels blurred with 4, then 2 canonical px."""
    if not job.coarse:
        return progress
    trial = progress
    for blur in BLURS:
        sampler = prepare(job.guide, job.frame, job.start, job.rough, job.executor, blur=blur)
        settings = replace(job.outer, max_outer=8)
        trial = _iterate(job, trial, "coarse", sampler, _plain(job, tol=QUICK), settings)
    if job.coarse == "auto" and not trial.over:
        # blurred pictures often agree better at places that lead astray: ask again after a few steps on the features
        settings = replace(job.outer, max_outer=LOOK_AHEAD)
        inner = _plain(job, QUICK, "reweighted")
        ahead = [
            _iterate(job, p, "coarse", job.contrast, inner, settings) for p in (progress, trial)
        ]
        if any(p.over for p in ahead):
            return progress
        costs = [agreement(job, p.motion.transforms) for p in ahead]
        if costs[1] >= costs[0]:
            return progress
    return trial


def feature_stage(job: Job, progress: Progress) -> Progress:
    """Reweighted RASL on contrast features."""
    if job.features is None:
        return progress
    settings = replace(job.outer, max_outer=20)
    return _iterate(
        job, progress, "features", job.contrast, _plain(job, QUICK, "reweighted"), settings
    )


def rescue_stage(job: Job, progress: Progress) -> Progress:
    """Up to three rounds: move single pictures, let all settle, keep it if the pictures agree better."""
    if not job.rescue:
        return progress
    coarse = any(name == "coarse" for name, _ in progress.moved)
    search = Search.wide(min(job.frame.shape)) if coarse else Search.near()
    rescued = np.zeros(len(job.start), dtype=bool)
    lowest = agreement(job, progress.motion.transforms)
    # pictures that went astray together explain each other; a basis too small for them tells them from the rest
    tried: set[int | None] = set()
    for rank in (FEW if coarse else None, *[None] * (ROUNDS - 1)):
        if rank in tried:  # nothing has changed since, so the answer would be the same
            continue
        tried.add(rank)
        model, cost = feature_model(job, progress.motion.transforms, rank)
        motion, moved = rescue(
            job.contrast, progress.motion, job.start, model, cost, search, job.executor
        )
        if not moved.any():
            continue
        settings = replace(job.outer, max_outer=3)
        inner = _plain(job, QUICK, "reweighted")
        trial = _iterate(
            job, replace(progress, motion=motion), "rescue", job.contrast, inner, settings
        )
        if trial.over:
            return trial
        value = agreement(job, trial.motion.transforms)
        if value >= lowest:
            continue
        progress, lowest, rescued = trial, value, rescued | moved
        tried.clear()
    return replace(progress, rescued=rescued)


def pixel_stage(job: Job, progress: Progress) -> Progress:
    """The method itself on raw pixels: nuclear norm first, then the surrogate; guarded after features."""
    before = progress.motion
    guarded = job.features is not None
    for surrogate, rounds in (("nuclear", 2), ("reweighted", 1)):
        if surrogate == "reweighted" and job.surrogate != "reweighted":
            break
        settings = replace(job.outer, patience=1 if job.clone is None else PATIENCE)
        settings = replace(settings, max_outer=rounds) if guarded else settings
        inner = replace(job.inner, clone=job.clone, surrogate=surrogate)
        progress = _iterate(job, progress, "pixels", job.pixels, inner, settings)
        if progress.over:
            break
    if not guarded:
        return progress
    far = displacements(
        before.transforms, progress.motion.transforms, job.frame.corners
    ) > GUARD * min(job.frame.shape)
    kept = np.where(far[:, None], before.parameters, progress.motion.parameters)
    # a few guarded steps are all that is asked for here, so their number is no failure
    status = progress.status if progress.over else Status.CONVERGED
    rule = progress.stop_rule if progress.over else "stages done"
    return replace(progress, motion=before.with_parameters(kept), status=status, stop_rule=rule)


STAGES: dict[str, Stage] = {
    "coarse": coarse_stage,
    "features": feature_stage,
    "rescue": rescue_stage,
    "pixels": pixel_stage,
}


def agreement(job: Job, transforms: Floats) -> float:
    """Nuclear norm of the aligned, normalised feature rows: the lower, the better the pictures agree."""
    data, _, _ = warp_normalised(job.contrast, transforms, job.executor)
    data = data.astype(
        np.float64, copy=False
    )  # the root of a rounded square has half as many digits
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(data @ data.T), 0.0)).sum())


def feature_model(job: Job, transforms: Floats, rank: int | None = None) -> tuple[Model, Floats]:
    """Leave-one-out model of the aligned features (without their +1), from good pictures only, and the costs (n,)."""
    rows, low_rank, valid = feature_rows(job, transforms)

    def costs(model: Model) -> Floats:
        return model.for_groups(
            lambda group: model.others(group[0]).cost(rows[group], valid[group]), job.executor
        )

    model = fit_model(rows, low_rank, valid, rank=rank, executor=job.executor)
    cost = costs(model)
    centre = np.median(cost)
    good = cost <= centre + 2 * 1.4826 * np.median(np.abs(cost - centre))
    if 3 < good.sum() < len(rows):
        model = fit_model(rows, low_rank, valid, good, rank, job.executor)
        cost = costs(model)
    return model, cost


def feature_rows(job: Job, transforms: Floats) -> tuple[Any, Any, npt.NDArray[np.bool_]]:
    """Aligned features and their low-rank part, both without the +1, and their validity; each (n, m)."""
    data, norms, valid = warp_normalised(job.contrast, transforms, job.executor)
    problem = Problem(data, job.sparsity(job.contrast), weights_of(valid))
    low_rank = solve(problem, _plain(job, QUICK, "reweighted"), job.executor).low_rank
    scale = norms[:, None].astype(data.dtype)
    return np.where(valid, data * scale - 1, 0), low_rank * scale - 1, valid


def _plain(job: Job, tol: float, surrogate: str = "nuclear") -> Settings:
    """Inner settings without the manifold, at a tolerance that is at most as fine as the caller's."""
    return replace(job.inner, tol=max(tol, job.inner.tol), surrogate=surrogate, clone=None)


def _iterate(
    job: Job,
    progress: Progress,
    stage: str,
    sampler: Sampler,
    inner: Settings,
    outer: OuterSettings,
) -> Progress:
    """Run the outer loop from where things are and append what happened."""
    run = iterate(
        sampler,
        progress.motion,
        job.sparsity(sampler),
        inner,
        outer,
        job.executor,
        job.observe,
        stage=stage,
        first=len(progress.outer),
        start=job.start,
    )
    return replace(
        progress,
        motion=run.motion,
        inner=progress.inner + run.inner,
        outer=progress.outer + run.outer,
        status=run.status,
        stop_rule=run.stop_rule,
        solution=run.solution,
    )
