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
from rankfold.status import InnerRecord, Observer, OuterRecord, Status, asks_to_stop
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
class LoopState:
    """What the outer loop knows between two iterations: all that it needs to go on."""

    motion: Motion
    # Of the last linearised problem; None before the first one.
    solution: Solution | None = None
    inner: tuple[InnerRecord, ...] = ()
    outer: tuple[OuterRecord, ...] = ()
    # Which of the inner loop's levels of digits is used.
    level: int = 0
    # The outer iteration since which it is: objectives of different tolerances cannot be compared.
    since: int = 0
    # How the loop has ended; None: it goes on.
    status: Status | None = None
    # The rule by which it has.
    stop_rule: str = "max_outer"

    def with_more_digits(self, levels: int, iteration: int) -> LoopState | None:
        """The state at the next one of so many levels, from an iteration on; None without one."""
        if self.level + 1 >= levels:
            return None
        return replace(self, level=self.level + 1, since=iteration)


Keep = Callable[[LoopState], None]
"""Is given the state after every complete outer iteration, before the observer sees its record."""


@dataclass(frozen=True)
class OuterResult:
    """Where the outer loop ended."""

    motion: Motion
    # Of the last linearised problem. None where a journal remembers the loop without it.
    solution: Solution | None
    inner: tuple[InnerRecord, ...]
    outer: tuple[OuterRecord, ...]
    status: Status
    stop_rule: str

    @classmethod
    def of(cls, state: LoopState) -> OuterResult:
        """From the last state: a loop that has not ended by itself has reached its limit."""
        status = state.status or Status.MAX_ITER
        return cls(state.motion, state.solution, state.inner, state.outer, status, state.stop_rule)


def iterate(
    sampler: Sampler,
    motion: Motion,
    inner: InnerLoop,
    outer: OuterLoop,
    executor: Executor,
    observe: Observer | None = None,
    state: LoopState | None = None,
    keep: Keep | None = None,
) -> OuterResult:
    """Repeat linearise, solve, step, gauge until a stop rule is met.

    A ``state`` that ``keep`` was given earlier lets the loop go on from there, to the same bits;
    ``motion`` is where it began all the same.
    """
    start = motion.transforms if outer.start is None else outer.start
    if inner.steps.single:
        sampler = replace(sampler, dtype=np.float32)
    state = state or LoopState(motion)
    while state.status is None and len(state.outer) < outer.max_outer:
        state = _step(sampler, start, inner, outer, executor, observe, state)
        if state.status in (Status.NON_FINITE, Status.STOPPED):
            # Nothing was stepped: the iteration is not complete.
            break
        if keep is not None:
            keep(state)
        if asks_to_stop(observe, state.outer[-1]):
            state = replace(state, status=Status.STOPPED, stop_rule="observer")
    return OuterResult.of(state)


def _step(
    sampler: Sampler,
    start: Floats,
    inner: InnerLoop,
    outer: OuterLoop,
    executor: Executor,
    observe: Observer | None,
    state: LoopState,
) -> LoopState:
    """One outer iteration of Algorithm 1, and whether it was the last."""
    motion = state.motion
    levels = inner.levels()
    k = len(state.outer)
    if k == outer.max_outer - 1 and state.level < len(levels) - 1:
        # What comes after this loop begins where it ends, so it ends with all digits.
        state = replace(state, level=len(levels) - 1, since=k)
    # Lines 3 and 4 of Algorithm 1: warp, normalise, differentiate.
    local = outer.linearise(sampler, motion, executor)
    problem = linearised_problem(sampler, local, inner.sparsity)
    # Line 5: the inner loop, Algorithm 2.
    near = state.solution if inner.steps.warm else None
    settings = levels[state.level]
    solution = inner.solve(problem, settings, executor, observe, outer.first + k, near)
    state = replace(state, solution=solution, inner=state.inner + solution.records)
    if solution.status in (Status.NON_FINITE, Status.STOPPED):
        rule = "observer" if solution.status is Status.STOPPED else "not finite"
        return replace(state, status=solution.status, stop_rule=rule)
    # Line 6: τ <- τ + Δτ with Δτ_i = R_i^{-1} δ_i, guarded; then the gauge.
    change = (local.to_parameters @ solution.delta[:, :, None])[:, :, 0]
    step = guarded_step(sampler, motion, change, local, solution.low_rank, outer.numbers, executor)
    moved = apply_gauge(motion.with_parameters(step.parameters), start, outer.gauge)
    record = _record(outer, k, solution, step, motion, moved, sampler)
    state = replace(state, motion=moved, outer=(*state.outer, record))
    return _judged(state, step.improved, inner, outer, len(levels))


def _judged(
    state: LoopState, improved: Bools, inner: InnerLoop, outer: OuterLoop, levels: int
) -> LoopState:
    """The state with the next digits where a stop rule is met, or ended where there are none."""
    records = list(state.outer)
    met = stop_rule(records[state.since :], improved, outer, inner.steps.patience)
    if not (met or _falls_slowly(records, inner.steps.falls)):
        return state
    finer = state.with_more_digits(levels, len(records))
    if finer is not None:
        return finer
    return replace(state, status=Status.CONVERGED, stop_rule=met) if met else state


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
