"""What keeps a step honest: trust region, backtracking on the true residual, and the gauge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.executors import Executor, shared_out
from rankfold.families import Floats, inverse, map_points, mean
from rankfold.warp.linearisation import Linearised, Motion
from rankfold.warp.sampling import Sampler

if TYPE_CHECKING:
    from rankfold.align.loop import OuterSettings

Array = npt.NDArray[Any]
Gauge = str | int

GAIN = 1e-6  # a residual that fell by less did not improve
SLACK = 1.0001  # a step may raise the L1 residual by this factor: rounding, not descent, decides below it


@dataclass(frozen=True)
class Step:
    """What became of the proposed increments."""

    parameters: Floats  # (n, p) after the step
    lengths: Floats  # (n,) share of the increment that was taken
    residuals: Floats  # (n,) ‖y/n - A‖_1 at the new parameters
    improved: npt.NDArray[np.bool_]  # (n,) whether that is lower than before


def guarded_step(
    sampler: Sampler,
    motion: Motion,
    increments: Floats,
    local: Linearised,
    low_rank: Array,
    settings: OuterSettings,
    executor: Executor,
) -> Step:
    """Limit every increment to the trust region, then halve it until the image's own L1 residual agrees."""
    increments = limit(motion, increments, sampler.frame.corners, settings.trust)
    before = np.abs(local.data - low_rank, where=local.valid, out=np.zeros_like(local.data)).sum(
        axis=1
    )
    n = len(increments)
    if settings.halvings is None:
        return Step(motion.parameters + increments, np.ones(n), before, np.ones(n, dtype=bool))
    lengths = [0.5**k for k in range(settings.halvings + 1)]
    trials = [motion.with_parameters(motion.parameters + length * increments) for length in lengths]

    def one(index: int) -> tuple[float, float, bool]:
        for length, trial in zip(lengths, trials, strict=True):
            old, new = residuals(sampler, trial.transforms[index], index, local, low_rank)
            if new <= SLACK * old:
                return length, new, new < (1 - GAIN) * old
        return 0.0, float(before[index]), False

    tried = shared_out(executor, local.data.shape[1]).run(one, range(n))
    taken, after, improved = (np.array(column) for column in zip(*tried, strict=True))
    return Step(motion.parameters + taken[:, None] * increments, taken, after, improved)


def residuals(
    sampler: Sampler, matrix: Floats, index: int, local: Linearised, low_rank: Array
) -> tuple[float, float]:
    """L1 residual against A before and at a trial transform, over the pixels that both of them see.

    The trial is scaled to the norm that the old picture has on those pixels: otherwise a transform could lower its
    residual by running out of the picture. One that loses half of the pixels is refused (infinite).
    """
    from rankfold.warp.kernels import try_out

    planes, cells, there = sampler.source(index, matrix)
    old = (local.data[index], local.valid[index], low_rank[index])
    before, after = try_out(planes, cells, there @ matrix, *sampler.frame.shape, *old)
    return float(before), float(after)


def limit(motion: Motion, increments: Floats, corners: Floats, trust: float) -> Floats:
    """Shorten increments (n, p) so that no corner moves further than ``trust`` canonical px."""
    increments = np.where(np.isfinite(increments), increments, 0.0)
    if np.isinf(trust):
        return increments
    # First order, with room to spare: a turn by 1000 rad may end where it began, but is no small step.
    old = motion.transforms
    zoom = np.maximum(np.sqrt(np.abs(np.linalg.det(old[:, :2, :2]))), 1e-12)
    reach = (motion.reach(corners) * np.abs(increments)).sum(axis=1)
    increments = increments * np.minimum(1.0, 8 * trust * zoom / np.maximum(reach, 1e-300))[:, None]
    for _ in range(60):
        moved = displacements(
            old, motion.with_parameters(motion.parameters + increments).transforms, corners
        )
        far = ~(moved <= trust)  # also where a corner went through infinity
        if not far.any():
            return increments
        share = np.clip(trust / np.maximum(np.nan_to_num(moved, nan=np.inf), 1e-12), 0.25, 0.95)
        increments = np.where(far[:, None], share[:, None] * increments, increments)
    return np.where(far[:, None], 0.0, increments)


def displacements(old: Floats, new: Floats, corners: Floats) -> Floats:
    """How far (n,) the corner that moved most has moved, in canonical px."""
    return np.asarray(
        np.linalg.norm(map_points(inverse(old) @ new, corners) - corners, axis=2).max(axis=1)
    )


def apply_gauge(motion: Motion, start: Floats, gauge: Gauge) -> Motion:
    """Take out the motion that all images share: T_i <- T_i G^{-1}.

    ``"mean"``: G is the robust mean of the motions so far, so the mean transform stays what it was at the start;
    an index k: G is image k's motion, so it stays where it was; ``"none"``: nothing is taken out.
    """
    if gauge == "none":
        return motion
    motions = inverse(start) @ motion.transforms
    if gauge == "mean":
        return motion.after(mean(motions, motion.family, motion.origin))
    return motion.after(motions[int(gauge)])


def check_gauge(gauge: Gauge, n: int) -> Gauge:
    """Refuse what is no gauge for n images."""
    if gauge in ("mean", "none"):
        return gauge
    if isinstance(gauge, str) or not isinstance(gauge, int | np.integer):
        raise InputError(
            f"unknown gauge {gauge!r}; use 'mean', 'none' or the index of an image to hold"
        )
    if not 0 <= gauge < n:
        raise InputError(f"gauge={gauge} is not the index of one of {n} images")
    return int(gauge)
