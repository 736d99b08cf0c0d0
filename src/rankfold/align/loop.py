"""The outer loop (Algorithm 1): linearise, solve, take a guarded step, again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Problem, Settings, Solution, Solver, Steps, solve, weights_of
from rankfold.align.settings import StepSettings
from rankfold.align.steps import Gauge, Step, apply_gauge, displacements, guarded_step
from rankfold.families import Floats
from rankfold.scale import Executor
from rankfold.status import InnerRecord, Observer, OuterRecord, Status
from rankfold.warp.linearisation import Linearised, Motion, linearise
from rankfold.warp.sampling import Sampler

Bools = npt.NDArray[np.bool_]
Discretisation = Callable[[Sampler, Motion, Executor], Linearised]


@dataclass(frozen=True)
class InnerLoop:
    """How each linearised problem is solved."""

    sparsity: float  # λ
    settings: Settings = field(default_factory=Settings)
    solve: Solver = solve
    # To how many digits, and from where.
    steps: Steps = field(default_factory=Steps)

    def levels(self) -> list[Settings]:
        """The settings of the inner solver, from few digits to those that are wanted at the end."""
        own = self.settings.tol
        tolerances = dict.fromkeys([max(own, tol) for tol in self.steps.tolerances] or [own])
        return [replace(self.settings, tol=tol, penalty=self.steps.penalty) for tol in tolerances]


@dataclass(frozen=True)
class OuterLoop:
    """How the outer loop steps and when it stops; lengths in pixels of the frame."""

    max_outer: int = 50
    # Stop: median over the images of the largest corner displacement of a step.
    outer_tol: float = 0.02
    # Stop: over so many outer iterations the objective fell by less than ``objective_tol``.
    patience: int = 1
    gauge: Gauge = "mean"
    # The gauge refers to these transforms (n, 3, 3); None: to those at which the loop starts.
    start: Floats | None = None
    numbers: StepSettings = field(default_factory=StepSettings)
    linearise: Discretisation = linearise
    # Written into the records: the stage, and the number of the first outer iteration.
    stage: str = "pixels"
    first: int = 0


@dataclass(frozen=True)
class OuterResult:
    """Where the outer loop ended."""

    motion: Motion
    solution: Solution  # of the last linearised problem
    inner: tuple[InnerRecord, ...]
    outer: tuple[OuterRecord, ...]
    status: Status
    stop_rule: str


def iterate(
    sampler: Sampler,
    motion: Motion,
    inner: InnerLoop,
    outer: OuterLoop,
    executor: Executor,
    observe: Observer | None = None,
) -> OuterResult:
    """Repeat linearise, solve, step, gauge until a stop rule is met."""
    start = motion.transforms if outer.start is None else outer.start
    if inner.steps.single:
        sampler = replace(sampler, dtype=np.float32)
    digits = _Digits(inner)
    solution: Solution | None = None
    inner_records: list[InnerRecord] = []
    records: list[OuterRecord] = []
    status = Status.MAX_ITER
    rule = "max_outer"
    for k in range(outer.max_outer):
        if k == outer.max_outer - 1:
            # What comes after this loop begins where it ends, so it ends with all digits.
            digits.use_all(k)
        # Lines 3 and 4 of Algorithm 1: warp, normalise, differentiate.
        local = outer.linearise(sampler, motion, executor)
        problem = linearised_problem(sampler, local, inner.sparsity)
        # Line 5: the inner loop, Algorithm 2.
        near = solution if inner.steps.warm else None
        solution = inner.solve(problem, digits.settings, executor, observe, outer.first + k, near)
        inner_records += solution.records
        if solution.status in (Status.NON_FINITE, Status.STOPPED):
            status = solution.status
            rule = "observer" if status is Status.STOPPED else "not finite"
            break
        # Line 6: τ <- τ + Δτ with Δτ_i = R_i^{-1} δ_i, guarded; then the gauge.
        change = (local.to_parameters @ solution.delta[:, :, None])[:, :, 0]
        step = guarded_step(
            sampler, motion, change, local, solution.low_rank, outer.numbers, executor
        )
        moved = apply_gauge(motion.with_parameters(step.parameters), start, outer.gauge)
        records.append(_record(outer, k, solution, step, motion, moved, sampler))
        motion = moved
        if observe is not None and observe(records[-1]):
            status = Status.STOPPED
            rule = "observer"
            break
        met = stop_rule(records[digits.since :], step.improved, outer, inner.steps.patience)
        slow = _falls_slowly(records, inner.steps.falls)
        if (met or slow) and digits.use_more(len(records)):
            continue
        if met:
            status = Status.CONVERGED
            rule = met
            break
    assert solution is not None
    return OuterResult(motion, solution, tuple(inner_records), tuple(records), status, rule)


class _Digits:
    """The settings of the inner solver at the moment: few digits first, all of them at the end."""

    def __init__(self, inner: InnerLoop) -> None:
        self._levels = inner.levels()
        # The outer iteration since which the tolerance is the same: objectives of different
        # tolerances cannot be compared.
        self.since = 0

    @property
    def settings(self) -> Settings:
        """For the next inner loop."""
        return self._levels[0]

    def use_more(self, iteration: int) -> bool:
        """Take the next tolerance from this outer iteration on; False if there is none."""
        if len(self._levels) == 1:
            return False
        self._levels = self._levels[1:]
        self.since = iteration
        return True

    def use_all(self, iteration: int) -> None:
        """Take the last tolerance from this outer iteration on."""
        while self.use_more(iteration):
            pass


def linearised_problem(sampler: Sampler, local: Linearised, sparsity: float) -> Problem:
    """P2 of the paper at one linearisation."""
    return Problem(
        local.data,
        sparsity,
        weights_of(local.valid),
        local.basis,
        units=sampler.value_range / local.norms,
        shape=sampler.row_shape,
    )


def stop_rule(
    records: list[OuterRecord], improved: Bools, outer: OuterLoop, more_patience: int = 0
) -> str:
    """Name of the stop rule that is met, or an empty string."""
    if records[-1].median_displacement < outer.outer_tol:
        return "displacement"
    patience = outer.patience + more_patience
    before = [record.objective for record in records[:-patience]]
    recent = [record.objective for record in records[-patience:]]
    if before and min(before) - min(recent) < outer.numbers.objective_tol:
        return "objective"
    if not improved.any():
        return "no residual improved"
    return ""


def _falls_slowly(records: list[OuterRecord], share: float) -> bool:
    """Whether the last step lowered the objective by less than a share of it."""
    if len(records) < 2:
        return False
    now = records[-1].objective
    return records[-2].objective - now < share * now


def _record(
    outer: OuterLoop,
    k: int,
    solution: Solution,
    step: Step,
    before: Motion,
    after: Motion,
    sampler: Sampler,
) -> OuterRecord:
    """What an observer and the trace see of an outer iteration."""
    displacement = displacements(before.transforms, after.transforms, sampler.frame.corners)
    last = solution.records[-1]
    transforms: Any = after.transforms.copy()  # an observer may do with it as it likes
    return OuterRecord(
        outer=outer.first + k,
        stage=outer.stage,
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
        transforms=transforms,
    )
