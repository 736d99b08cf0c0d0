"""The outer loop (Algorithm 1): one linearisation, one inner solve, one guarded step an iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Problem, Settings, Solution, solve
from rankfold.align.steps import Gauge, apply_gauge, displacements, guarded_step
from rankfold.errors import InputError
from rankfold.executors import Executor
from rankfold.families import Floats
from rankfold.status import InnerRecord, Observer, OuterRecord, Status
from rankfold.warp.linearisation import Linearised, Motion, linearise
from rankfold.warp.sampling import Sampler

QUICK = 1e-3  # inner tolerance where only a step is wanted
QUICK_STEP = 3e-3  # and where the next one goes on from where it ended
QUICK_START = 1e-2  # and as long as the objective falls by a share of QUICK_FALL a step: a fifth fewer iterations
QUICK_FALL = 5e-3
QUICK_STRIDES = {
    "penalty_start": 8.0,
    "penalty_growth": 1.7,
    "relaxation": 1.4,
}  # there; ρ 1.5 or a 1.6 take longer
QUICK_END = 40.0  # μ_0 σ_1 of the decomposition at the end, which goes on from there too: four iterations fewer


@dataclass(frozen=True)
class OuterSettings:
    """How the outer loop steps and when it stops; lengths in canonical pixels."""

    max_outer: int = 50
    outer_tol: float = 0.02  # stop: median over images of the largest corner displacement of a step
    objective_tol: float = 0.01  # stop: the objective fell by less (RASL's rule)
    patience: int = (
        1  # so many times in a row; more for MeADMM, whose objective need not fall every time
    )
    trust: float = 3.0  # no corner moves further in one step; infinity = no limit
    halvings: int | None = (
        3  # shorten a step that does not lower its residual; None = take every step whole
    )
    gauge: Gauge = "mean"
    quick: bool = (
        False  # solve each linearised problem to a few digits only, from where the last one ended
    )

    def __post_init__(self) -> None:
        """Refuse limits that make no sense."""
        if self.max_outer < 1:
            raise InputError(f"max_outer={self.max_outer} must be at least 1")
        if not self.outer_tol >= 0:
            raise InputError(f"outer_tol={self.outer_tol} must be zero or a length in pixels")


@dataclass(frozen=True)
class OuterResult:
    """Where the outer loop ended."""

    motion: Motion
    solution: Solution  # of the last linearised problem
    inner: tuple[InnerRecord, ...]
    outer: tuple[OuterRecord, ...]
    status: Status
    stop_rule: str


Discretisation = Callable[[Sampler, Motion, Executor], Linearised]


def iterate(
    sampler: Sampler,
    motion: Motion,
    sparsity: float,
    inner: Settings,
    settings: OuterSettings,
    executor: Executor,
    observe: Observer | None = None,
    discretisation: Discretisation = linearise,
    stage: str = "pixels",
    first: int = 0,
    start: Floats | None = None,
) -> OuterResult:
    """Repeat linearise, solve, step, gauge until a stop rule is met.

    ``first`` and ``stage`` go into the records; ``start`` (n, 3, 3) is what the gauge refers to.
    """
    start = motion.transforms if start is None else start
    corners = sampler.frame.corners
    final, quick = inner, settings.quick and inner.convex
    if quick:
        inner = replace(inner, **QUICK_STRIDES)  # type: ignore[arg-type]
        final = replace(inner, tol=max(inner.tol, QUICK_STEP))
        inner = replace(inner, tol=max(inner.tol, QUICK_START))
        sampler = replace(
            sampler, dtype=np.float32
        )  # twice as fast, and a step of three digits does not feel it
        settings = replace(
            settings, patience=settings.patience + 1
        )  # an objective of three digits may hesitate once
    settled = 0  # outer iterations before the inner tolerance was the final one
    solution: Solution | None = None
    inner_records: list[InnerRecord] = []
    outer_records: list[OuterRecord] = []
    status, rule = Status.MAX_ITER, "max_outer"
    for k in range(settings.max_outer):
        if inner.tol > final.tol and k == settings.max_outer - 1:
            inner, settled = final, k  # what comes next begins where this one ends
        local = discretisation(sampler, motion, executor)
        problem = Problem(
            local.data,
            sparsity,
            weights_of(local.valid),
            local.basis,
            units=sampler.value_range / local.norms,
            shape=sampler.row_shape,
        )
        solution = solve(problem, inner, executor, observe, first + k, solution if quick else None)
        inner_records += solution.records
        if solution.status in (Status.NON_FINITE, Status.STOPPED):
            status, rule = solution.status, "inner loop"
            break

        # Δτ_i = R_i^{-1} δ_i, then line 6: τ <- τ + Δτ, guarded, and the gauge
        increments = (local.to_parameters @ solution.increments[:, :, None])[:, :, 0]
        step = guarded_step(
            sampler, motion, increments, local, solution.low_rank, settings, executor
        )
        moved = apply_gauge(motion.with_parameters(step.parameters), start, settings.gauge)
        displacement = displacements(motion.transforms, moved.transforms, corners)
        motion = moved

        last = solution.records[-1]
        record = OuterRecord(
            outer=first + k,
            stage=stage,
            objective=last.objective,
            nuclear_norm=last.nuclear_norm,
            l1_norm=last.l1_norm,
            rank=last.rank,
            inner_iterations=len(solution.records),
            inner_status=solution.status,
            median_displacement=float(np.median(displacement)),
            displacement=displacement,
            step=step.lengths,
            residual=step.residuals,
            transforms=motion.transforms.copy(),  # an observer may do with it as it likes
        )
        outer_records.append(record)
        if observe is not None and observe(record):
            status, rule = Status.STOPPED, "observer"
            break
        met = stop_rule(outer_records[settled:], step.improved, settings)
        if inner.tol > final.tol and (met or _falls_slowly(outer_records)):
            # from here on with all digits; objectives of fewer cannot be compared with these
            inner, settled, met = final, len(outer_records), ""
        if met:
            status, rule = Status.CONVERGED, met
            break
    assert solution is not None
    return OuterResult(motion, solution, tuple(inner_records), tuple(outer_records), status, rule)


def stop_rule(
    records: list[OuterRecord], improved: npt.NDArray[np.bool_], settings: OuterSettings
) -> str:
    """Name of the stop rule that is met, or an empty string."""
    if records[-1].median_displacement < settings.outer_tol:
        return "displacement"
    before, recent = records[: -settings.patience], records[-settings.patience :]
    if (
        before
        and min(r.objective for r in before) - min(r.objective for r in recent)
        < settings.objective_tol
    ):
        return "objective"
    if not improved.any():
        return "no residual improved"
    return ""


def _falls_slowly(records: list[OuterRecord]) -> bool:
    """Whether the last step lowered the objective by less than QUICK_FALL of it."""
    return (
        len(records) > 1
        and records[-2].objective - records[-1].objective < QUICK_FALL * records[-1].objective
    )


def weights_of(valid: npt.NDArray[np.bool_]) -> npt.NDArray[Any] | None:
    """Ω of the inner problem; None where every pixel is valid."""
    return None if valid.all() else valid
