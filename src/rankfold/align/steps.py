"""What keeps a step honest: trust region, backtracking on the true residual, and the gauge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.settings import StepSettings
from rankfold.errors import InputError
from rankfold.families import Floats, inverse, map_points, mean
from rankfold.scale import Executor, shared_out, streamed
from rankfold.warp.linearisation import Linearised, Motion
from rankfold.warp.sampling import Sampler, plain

Array = npt.NDArray[Any]
Gauge = str | int

# How often a step that goes too far is shortened before it is given up.
ATTEMPTS = 60


@dataclass(frozen=True)
class Step:
    """What became of the proposed changes of the parameters."""

    parameters: Floats  # (n, p) after the step
    lengths: Floats  # (n,) share of the change that was taken
    # (n,): the L1 distance of each picture from its row of A. Over the pixels that it shows both
    # before and after; over all that it shows where it stays, or where nothing is halved.
    residuals: Floats
    improved: npt.NDArray[np.bool_]  # (n,) whether that is lower than before


def guarded_step(
    sampler: Sampler,
    motion: Motion,
    change: Floats,
    local: Linearised,
    low_rank: Array,
    numbers: StepSettings,
    executor: Executor,
) -> Step:
    """Limit each change Δτ (n, p) to the trust region, then halve it until its residual agrees.

    The residual is the picture's own: the L1 distance from its row of A, ``low_rank`` (n, m).
    """
    change = limit(motion, change, sampler.frame.corners, numbers.trust)
    rows = zip(streamed(local.data), streamed(low_rank), streamed(local.valid), strict=True)
    before = np.array([distance(*row) for row in rows])
    n = len(change)
    if numbers.halvings is None:
        everything = np.ones(n, dtype=bool)
        return Step(motion.parameters + change, np.ones(n), before, everything)
    lengths = [0.5**k for k in range(numbers.halvings + 1)]
    trials = [motion.with_parameters(motion.parameters + length * change) for length in lengths]

    def one(index: int) -> tuple[float, float, bool]:
        for length, trial in zip(lengths, trials, strict=True):
            old, new = residuals(sampler, trial.transforms[index], index, local, low_rank)
            if new <= numbers.slack * old:
                return length, new, new < (1 - numbers.gain) * old
        return 0.0, float(before[index]), False

    tried = shared_out(executor, local.data.shape[1]).run(one, range(n))
    taken, after, improved = (np.array(column) for column in zip(*tried, strict=True))
    return Step(motion.parameters + taken[:, None] * change, taken, after, improved)


def distance(row: Array, clean: Array, valid: npt.NDArray[np.bool_]) -> Any:
    """The L1 distance of a row (m,) of D from its row of A, over valid pixels."""
    return np.abs(row - clean, where=valid, out=np.zeros_like(row)).sum()


def residuals(
    sampler: Sampler, matrix: Floats, index: int, local: Linearised, low_rank: Array
) -> tuple[float, float]:
    """L1 residual against A before and at a trial transform, over the pixels that both see.

    The trial is scaled to the norm that the old picture has on those pixels: otherwise a transform
    could lower its residual by running out of the picture. One that loses half of the pixels is
    refused (infinite).
    """
    from rankfold.warp.kernels import try_out

    planes, cells, window = sampler.source(index, matrix)
    old = (local.data[index], local.valid[index], low_rank[index])
    place = plain(matrix)
    before, after = try_out(planes, cells, window, place, *sampler.frame.shape, *old)
    return float(before), float(after)


def limit(motion: Motion, change: Floats, corners: Floats, trust: float) -> Floats:
    """Shorten changes (n, p) so that no corner moves further than ``trust`` px of the frame."""
    if np.isinf(trust):
        return np.where(np.isfinite(change), change, 0.0)
    return limited(motion, change, corners, trust)[0]


def limited(
    motion: Motion, change: Floats, corners: Floats, trust: float
) -> tuple[Floats, Motion, Floats]:
    """The same changes, where they lead, and how far (n,) a corner moves, px of the frame."""
    change = np.where(np.isfinite(change), change, 0.0)
    old = motion.transforms
    # First order, with room to spare (8): a turn by 1000 rad may end where it began, and is no
    # small step all the same.
    zoom = np.maximum(np.sqrt(np.abs(np.linalg.det(old[:, :2, :2]))), 1e-12)
    reach = (motion.reach(corners) * np.abs(change)).sum(axis=1)
    change = change * np.minimum(1.0, 8 * trust * zoom / np.maximum(reach, 1e-300))[:, None]
    # Then exactly: shorten those that go too far, by a quarter to nearly all of what is too much.
    for _ in range(ATTEMPTS):
        trial = motion.with_parameters(motion.parameters + change)
        moved = displacements(old, trial.transforms, corners)
        far = ~(moved <= trust)  # also where a corner went through infinity
        if not far.any():
            return change, trial, moved
        distance = np.maximum(np.nan_to_num(moved, nan=np.inf), 1e-12)
        share = np.clip(trust / distance, 0.25, 0.95)
        change = np.where(far[:, None], share[:, None] * change, change)
    change = np.where(far[:, None], 0.0, change)
    trial = motion.with_parameters(motion.parameters + change)
    return change, trial, np.where(far, 0.0, moved)


def displacements(old: Floats, new: Floats, corners: Floats) -> Floats:
    """How far (n,) the corner that moved most has moved, in px of the frame."""
    # A corner may land at infinity, and is then nowhere near.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        landed = map_points(inverse(old) @ new, corners)
        return np.asarray(np.linalg.norm(landed - corners, axis=2).max(axis=1))


def apply_gauge(motion: Motion, start: Floats, gauge: Gauge) -> Motion:
    """Take out the motion that all images share: T_i <- T_i G^{-1}.

    ``"mean"``: G is the robust mean of the motions so far, so that the mean transform stays what
    it was at the start. An index k: G is image k's motion, so that it stays where it was.
    ``"none"``: nothing is taken out.
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
