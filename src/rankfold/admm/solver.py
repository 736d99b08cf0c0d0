"""Algorithm 2: one step on one screen, one loop.

The pixels are in a :class:`~rankfold.admm.passes.Storage`; what is here is small. What each pass
over them does is in ``reference.py``, in plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankfold.admm.certificate import EVERY, Certificate, Watch
from rankfold.admm.passes import Pass, Storage
from rankfold.admm.problem import Problem, Settings, Solution
from rankfold.admm.proximal import Wanted, form_for
from rankfold.admm.slabs import Slabs
from rankfold.errors import InputError, WorkerError, WorkerLost
from rankfold.scale import Executor, Serial
from rankfold.status import InnerRecord, Observer, Status, asks_to_stop

Floats = npt.NDArray[np.float64]

# A relative dual residual above this is not an optimum.
DUAL_TOL = 1e-3

# How often a decomposition is begun anew when workers of a cluster go away.
ATTEMPTS = 5


@dataclass(frozen=True)
class State:
    """What is known between two iterations. A, E, Y and the next X are in the slabs."""

    iteration: int
    delta: Floats  # δ, n x p
    mu: float  # μ
    growth: float  # what μ is multiplied by in the next step
    beta: float  # β of the Φ that is merged into X; 0 before the first Φ
    largest: float  # σ_1 of the data; from a near solution, σ_1 of its last X
    form: str  # what X is reduced to, see form_for
    rank: int  # of the last A
    watch: Watch  # what is proved of the objective
    singular_values: Floats  # of A
    record: InnerRecord | None


def solve(
    problem: Problem,
    settings: Settings | None = None,
    executor: Executor | None = None,
    observe: Observer | None = None,
    outer: int = -1,
    near: Solution | None = None,
    storage: Callable[[Problem, Executor], Storage] = Slabs,
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
        Of a problem that is nearly the same: E and Y start there. For a penalty that starts late.
    storage : callable
        Where the pixels are kept and who passes over them: Slabs, or another Storage.
    """
    settings = settings or Settings()
    executor = executor or Serial()
    if settings.certified and problem.basis is not None:
        raise InputError("nothing can be proved of a problem with transforms")
    if problem.norm == 0 or not np.isfinite(problem.norm):
        return _without_answer(problem, problem.norm, outer)
    for _ in range(ATTEMPTS):
        try:
            return _run(problem, settings, storage(problem, executor), observe, outer, near)
        except WorkerLost:
            # The storage is made anew on the workers that are left. The same steps from the same
            # start have the same bits.
            continue
    raise WorkerError(
        f"workers went away {ATTEMPTS} times during one decomposition; look at their logs, they "
        "may have been killed for want of memory"
    )


def _run(
    problem: Problem,
    settings: Settings,
    slabs: Storage,
    observe: Observer | None,
    outer: int,
    near: Solution | None,
) -> Solution:
    """The loop, from the first iteration to the result; the storage is closed, however it ends."""
    try:
        state, status, records = _iterate(problem, settings, slabs, observe, outer, near)
        A = slabs.result("A")
        E = slabs.result("E") if settings.keeps else None
        Y = slabs.result("Y") if settings.keeps else None
    finally:
        slabs.close()
    return Solution(A, E, Y, state.delta, state.singular_values, status, tuple(records))


def _iterate(
    problem: Problem,
    settings: Settings,
    slabs: Storage,
    observe: Observer | None,
    outer: int,
    near: Solution | None,
) -> tuple[State, Status, list[InnerRecord]]:
    """Step after step, until a rule or an observer says stop."""
    state = _initial_state(problem, settings, slabs, near)
    records: list[InnerRecord] = []
    for _ in range(settings.max_iter):
        state = step(problem, settings, slabs, state, problem.norm, outer)
        assert state.record is not None
        records.append(state.record)
        status = _outcome(state.record, settings)
        # An observer that says stop ends the whole run, also where this loop is at its end.
        if asks_to_stop(observe, state.record) and status is not Status.NON_FINITE:
            status = Status.STOPPED
        if status is not None:
            return state, status, records
    return state, Status.MAX_ITER, records


def step(
    problem: Problem, settings: Settings, slabs: Storage, state: State, data_norm: float, outer: int
) -> State:
    """One iteration of Algorithm 2: two passes over the slabs, one small decomposition."""
    mu = state.mu
    mu_next = mu * state.growth
    threshold = 1 / (mu * (1 + state.beta))
    clone = settings.clone
    # Φ is for the next A, so it is the next μ that counts.
    project = clone is not None and clone.is_due(mu_next * state.largest, state.iteration)
    scalars = Pass(
        mu,
        mu_next,
        problem.sparsity,
        state.beta,
        settings.penalty.relaxation,
        merge=not project,
    )

    # Lines 2 and 3: A = SVT_{1/μ}(X), X = D + Qδ - E + Y/μ. With a Φ, the two squares of Eq. 4
    # merge into one: A = SVT_{1/(μ(1+β))}((X + βΦ)/(1+β)), which is the X that the slabs hold.
    A = slabs.threshold(_wanted(settings, state, threshold))
    certificate: Certificate | None = None
    if settings.certified and _is_due(state.iteration, settings):
        certificate = slabs.certify(A, mu, problem.sparsity)
    # Line 4: E = S_{λΩ/μ}[D + Qδ - A + Y/μ].
    E = slabs.shrink(A, scalars)
    # δ_i = -Q_i'(D_i - A_i - E_i + Y_i/μ), written as a change of the last δ because Q_i'Q_i = I.
    change = -E.products
    delta = state.delta + change
    # Y = Y + μ(D + Qδ - A - E), with the new δ; and X for the next A.
    Z_norm, S_norm, Y_norm = slabs.ascend(change, scalars)
    # Line 5, now and then: Φ = projection of A onto the manifold (Definition 1).
    beta = state.beta
    if clone is not None and project:
        slabs.project(clone.projector, A, clone.weight)
        beta = clone.weight

    primal = Z_norm / data_norm
    dual = S_norm / Y_norm if Y_norm > 0 else 0.0
    nuclear_norm = float(A.singular_values.sum())
    l1 = E.l1
    objective = nuclear_norm + problem.sparsity * l1
    watch = state.watch
    if certificate is not None:
        # What is proved is proved of E = D - A, so that is the objective to tell.
        l1 = certificate.l1
        feasible = nuclear_norm + problem.sparsity * l1
        watch = watch.after(certificate, objective, feasible)
        objective = feasible
    record = InnerRecord(
        outer,
        state.iteration,
        objective=objective,
        nuclear_norm=nuclear_norm,
        l1_norm=l1,
        rank=len(A.singular_values),
        primal_residual=primal,
        dual_residual=dual,
        penalty=mu,
        gap=np.nan if certificate is None else watch.gap,
    )
    return State(
        iteration=state.iteration + 1,
        delta=delta,
        mu=mu_next,
        growth=settings.penalty.growth_after(primal, dual, watch.balance),
        beta=beta,
        largest=state.largest,
        form=form_for(1 / (mu_next * (1 + beta)), A.largest),
        rank=len(A.singular_values),
        watch=watch,
        singular_values=A.singular_values,
        record=record,
    )


def _is_due(iteration: int, settings: Settings) -> bool:
    """Whether a proof is looked for in an iteration: now and then, and in the last one."""
    return iteration % EVERY == EVERY - 1 or iteration == settings.max_iter - 1


def _wanted(settings: Settings, state: State, threshold: float) -> Wanted:
    """The singular value thresholding that comes next."""
    # A start that is a power of ρ is reached in spite of rounding.
    late = state.mu * state.largest >= settings.surrogate_start * (1 - 1e-9)
    return Wanted(
        threshold,
        surrogate=settings.surrogate if late else "nuclear",
        form=state.form,
        expected=state.rank,
    )


def _outcome(record: InnerRecord, settings: Settings) -> Status | None:
    """How the loop ends with this iteration; None if it goes on."""
    if not np.isfinite(record.objective + record.primal_residual):
        return Status.NON_FINITE
    if settings.certified:
        return Status.CONVERGED if record.gap <= settings.tol else None
    # The published rule looks at the primal residual alone, which a growing penalty lets fall
    # wherever the iterates are.
    if record.primal_residual > settings.tol:
        return None
    optimal = record.dual_residual <= DUAL_TOL or not settings.convex
    return Status.CONVERGED if optimal else Status.STALLED


def _initial_state(
    problem: Problem, settings: Settings, slabs: Storage, near: Solution | None
) -> State:
    """Y = D / max(σ_1, max|D|/λ), μ = 1.25/σ_1, E = 0, δ = 0; or E and Y of a near solution."""
    if near is not None and near.rank > 0:
        # The largest singular value before the last thresholding took 1/μ off it.
        largest = float(near.singular_values[0] + 1 / near.records[-1].penalty)
        mu = settings.penalty.start / largest
        slabs.resume(near, mu)
    else:
        largest, peak = slabs.measure()
        mu = settings.penalty.start / largest
        slabs.start(max(largest, peak / problem.sparsity), mu)
    return State(
        iteration=0,
        delta=np.zeros((len(problem.data), problem.size)),
        mu=mu,
        growth=settings.penalty.growth,
        beta=0.0,
        largest=largest,
        form=form_for(1 / mu, largest),
        rank=1 if near is None else near.rank,
        watch=Watch(settings.penalty.balance),
        singular_values=np.zeros(0),
        record=None,
    )


def _without_answer(problem: Problem, data_norm: float, outer: int) -> Solution:
    """The solution for data that are all zero (A = E = 0) or not finite (there is none)."""
    status = Status.CONVERGED if data_norm == 0 else Status.NON_FINITE
    # Infinity or NaN in the data is infinity or NaN in the record; zero is zero.
    record = InnerRecord(
        outer,
        iteration=0,
        objective=data_norm,
        nuclear_norm=0.0,
        l1_norm=0.0,
        rank=0,
        primal_residual=data_norm,
        dual_residual=0.0,
        penalty=0.0,
        gap=data_norm,
    )
    delta = np.zeros((len(problem.data), problem.size))
    zeros = [np.zeros_like(problem.data) for _ in range(3)]
    return Solution(zeros[0], zeros[1], zeros[2], delta, np.zeros(0), status, (record,))
