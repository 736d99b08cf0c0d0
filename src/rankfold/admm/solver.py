"""Algorithm 2: one step on one screen, one loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import slabs as on_slab
from rankfold.admm.literal import solve_literal
from rankfold.admm.problem import Clone, Problem, Settings, Solution
from rankfold.admm.proximal import (
    Thresholding,
    form_for,
    largest_singular_value,
    threshold_gram,
    threshold_triangles,
)
from rankfold.admm.slabs import Slab
from rankfold.executors import Executor, Serial
from rankfold.manifold import Context
from rankfold.status import InnerRecord, Observer, Status

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class State:
    """Between two iterations. A, E, Y and the next X live in the slabs; the rest is small and is here."""

    delta: Floats  # δ, n x p
    mu: float  # μ
    growth: float  # what μ is multiplied by after the next step
    cloned: bool  # whether there is a Φ, and X in the slabs is (X + βΦ)/(1 + β)
    largest: float  # σ_1 of the data
    form: str  # what X is to be reduced to, see form_for
    rank: int | None  # of the last A
    frozen: bool  # μ has outrun the dual residual: the rank may not grow any more, nothing is over-relaxed
    singular_values: Floats  # of A
    record: InnerRecord | None


def solve(
    problem: Problem,
    settings: Settings | None = None,
    executor: Executor | None = None,
    observe: Observer | None = None,
    outer: int = -1,
    near: Solution | None = None,
) -> Solution:
    """Minimise a Problem by the inexact augmented Lagrangian method with a growing penalty.

    Parameters
    ----------
    problem : Problem
    settings : Settings, optional
    executor : Executor, optional
        Who runs the slabs; the result does not depend on it.
    observe : callable, optional
        Called with an InnerRecord after every iteration; returns True to stop.
    outer : int
        Written into the records.
    near : Solution, optional
        Of a problem that is nearly the same: E and Y start there. For a schedule that starts late: "quick".
    """
    settings, executor = settings or Settings(), executor or Serial()
    data_norm = float(np.linalg.norm(problem.data.astype(np.float64, copy=False)))
    if data_norm == 0 or not np.isfinite(data_norm):
        return _trivial(problem, data_norm, outer)
    if settings.variant == "literal" and settings.clone is not None:
        return solve_literal(problem, settings, executor, observe, outer)
    slabs = on_slab.cut(problem)
    state = _initial_state(problem, settings, slabs, executor, near)
    records: list[InnerRecord] = []
    status = Status.MAX_ITER
    for iteration in range(settings.max_iter):
        state = step(problem, settings, slabs, state, executor, data_norm, (outer, iteration))
        assert state.record is not None
        record = state.record
        records.append(record)
        if not np.isfinite(record.objective + record.primal_residual):
            status = Status.NON_FINITE
            break
        optimal = record.dual_residual <= settings.dual_tol or not settings.convex
        # the published rule looks at the primal residual alone; a balanced run also waits for the dual one
        if record.primal_residual <= settings.tol and (optimal or np.isinf(settings.balance)):
            status = Status.CONVERGED if optimal else Status.STALLED
            break
        if observe is not None and observe(record):
            status = Status.STOPPED
            break
    low_rank, sparse, dual = (
        on_slab.gather(slabs, (getattr(slab, name) for slab in slabs), problem.data.shape)
        for name in "AEY"
    )
    return Solution(
        low_rank, sparse, dual, state.delta, state.singular_values, status, tuple(records)
    )


def step(
    problem: Problem,
    settings: Settings,
    slabs: list[Slab],
    state: State,
    executor: Executor,
    data_norm: float,
    index: tuple[int, int],
) -> State:
    """One iteration of Algorithm 2: two passes over the slabs, one small decomposition."""
    mu, lam, clone = state.mu, problem.sparsity, settings.clone
    beta = clone.weight if clone is not None and state.cloned else 0.0

    # A = SVT_{1/μ}(X), X = D + Jδ - E + Y/μ, as a matrix M that the slabs multiply by;
    # with Φ present A = SVT_{1/(μ(1+β))}((X + βΦ)/(1+β)): the clone penalty has the metric of the augmented term
    growth = mu * state.largest / settings.penalty_start
    surrogate = settings.surrogate if growth >= settings.surrogate_start else "nuclear"
    svt = _threshold(slabs, state, executor, 1 / (mu * (1 + beta)), surrogate)
    # over-relaxation hastens the multipliers; once those are frozen it would only hold the primal residual back
    relaxation = 1.0 if state.frozen else settings.relaxation

    # E = S_{λΩ/μ}[D + Jδ - A + Y/μ];  δ_i = -Q_i'(D_i - E_i - A_i + Y_i/μ), where Q_i'Q_i = I
    # V = D + Jδ;  Z = V - A - E;  Y += μ Z;  μ *= ρ;  and X for the next A, with βΦ unless a new Φ is due
    operator = svt.factors(problem.data.dtype)
    mu_next, cloned = mu * state.growth, state.cloned
    due = clone is not None and clone.due(
        mu_next * state.largest / settings.penalty_start, index[1]
    )
    if all(slab.independent for slab in slabs):
        ends = on_slab.sweep(slabs, executor, operator, mu, mu_next, lam, beta, relaxation, not due)
        change = _add_up([(rows, part) for rows, part, _, _ in ends], state.delta)
        l1, norms = sum(part for _, _, part, _ in ends), [part for _, _, _, part in ends]
    else:
        parts = executor.run(on_slab.shrink, slabs, operator, mu, lam, beta, relaxation)
        products = [(slab.rows, part) for slab, (part, _) in zip(slabs, parts, strict=True)]
        change, l1 = -_add_up(products, state.delta), sum(part for _, part in parts)
        norms = executor.run(
            on_slab.ascend, on_slab.parts_of(slabs), change, mu, mu_next, beta, not due
        )
    delta = state.delta + change
    if clone is not None and due:
        # Φ = project(A, E, V), now and then
        on_slab.scatter(slabs, _project(problem, clone, slabs, svt, executor))
        beta, cloned = clone.weight, True
        executor.run(on_slab.clone, on_slab.parts_of(slabs), beta)
    primal, dual, size = np.sqrt(reduce(np.add, norms))
    primal, dual = primal / data_norm, dual / size if size > 0 else 0.0
    nuclear = float(svt.singular_values.sum())
    record = InnerRecord(
        *index,
        objective=nuclear + lam * l1,
        nuclear_norm=nuclear,
        l1_norm=l1,
        rank=len(svt.singular_values),
        primal_residual=primal,
        dual_residual=dual,
        penalty=mu,
    )
    frozen = settings.frozen(primal, dual)
    # a rank that is kept does not depend on digits of singular values that are near the threshold
    form = form_for(1 / (mu_next * (1 + beta)), svt.largest, precise=not frozen)
    growth, rank = settings.growth(primal, dual), len(svt.singular_values)
    return State(
        delta,
        mu_next,
        growth,
        cloned,
        state.largest,
        form,
        rank,
        frozen,
        svt.singular_values,
        record,
    )


def _initial_state(
    problem: Problem,
    settings: Settings,
    slabs: list[Slab],
    executor: Executor,
    near: Solution | None,
) -> State:
    """Y = D / max(σ_1, max|D|/λ), μ = 1.25/σ_1, E = 0, δ = 0; or E and Y of a solution that is near, and its σ_1."""
    if near is not None and near.rank > 0:
        largest = float(near.singular_values[0] + 1 / near.records[-1].penalty)
        mu = settings.penalty_start / largest
        executor.run(on_slab.resume, slabs, near.sparse, near.dual, mu)
    else:
        for slab in slabs:
            slab.X[...] = slab.V
        largest = largest_singular_value(reduce(np.add, on_slab.reductions(slabs, executor, "own")))
        peak = max(float(np.abs(slab.V).max()) for slab in slabs)
        mu = settings.penalty_start / largest
        executor.run(on_slab.start, slabs, max(largest, peak / problem.sparsity), mu)
    p = 0 if problem.basis is None else problem.basis.shape[1]
    delta, growth = np.zeros((len(problem.data), p)), settings.penalty_growth
    rank = 1 if near is None else near.rank
    return State(
        delta, mu, growth, False, largest, form_for(1 / mu, largest), rank, False, np.zeros(0), None
    )


def _threshold(
    slabs: list[Slab], state: State, executor: Executor, threshold: float, surrogate: str
) -> Thresholding:
    """SVT of X through its small matrices, one a slab."""
    reductions = on_slab.reductions(slabs, executor, state.form)
    most = state.rank if state.frozen else None
    if state.form == "triangle":
        return threshold_triangles(reductions, threshold, surrogate, most)
    return threshold_gram(
        reduce(np.add, reductions), threshold, surrogate, most, expected=state.rank
    )


def _project(
    problem: Problem, clone: Clone, slabs: list[Slab], svt: Thresholding, executor: Executor
) -> npt.NDArray[Any]:
    """Φ from the whole rows; the Gram matrix of A is at hand where slabs are cut along the pixels."""
    shape = problem.data.shape
    A, E, V = (
        on_slab.gather(slabs, (getattr(slab, name) for slab in slabs), shape) for name in "AEV"
    )
    small = problem.data.size <= on_slab.SLAB_VALUES  # to wake a thread takes longer than it saves
    valid = None if problem.weights is None else problem.weights > 0
    context = Context(
        low_rank=A,
        sparse=E,
        target=V,
        valid=valid,
        gram=np.asarray(A @ A.T, dtype=np.float64) if slabs[0].tall else svt.gram(),
        units=np.full(shape[0], float(np.ptp(problem.data)))
        if problem.units is None
        else problem.units,
        shape=problem.shape or (1, 1, shape[1]),
        executor=Serial() if small else executor,
    )
    return clone.projector(context)


def _add_up(parts: list[tuple[slice, Floats]], like: Floats) -> Floats:
    """Sum of parts (rows x p) in the order in which they come."""
    total = np.zeros_like(like)
    for rows, part in parts:
        total[rows] += part
    return total


def _trivial(problem: Problem, data_norm: float, outer: int) -> Solution:
    """Answer for data that are all zero (A = E = 0) or not finite (no answer)."""
    status = Status.CONVERGED if data_norm == 0 else Status.NON_FINITE
    record = InnerRecord(outer, 0, data_norm, 0.0, 0.0, 0, data_norm, 0.0, 0.0)
    p = 0 if problem.basis is None else problem.basis.shape[1]
    nothing = np.zeros((len(problem.data), p))
    zero = np.zeros_like(problem.data)
    return Solution(zero, zero.copy(), zero.copy(), nothing, np.zeros(0), status, (record,))
