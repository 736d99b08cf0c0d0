"""Algorithm 2 of the paper as it is printed, so that a reader can see what it does.

It does not converge. Line by line:

    A = SVT_{1/μ}(V'_m + Y/μ - E)
    E = S_{1/μ}[D + JΔτ + Y/μ - A]      λ is lost
    Δτ by the pseudo-inverse            the printed J has the wrong shape
    Y += μ (D + JΔτ - A - E)            the printed L_μ is a number
    μ = max(0.9 μ, μ~)
    V'_m = Φ(A + E)

The data D are not in the A-step: a fixed point needs V_m = Φ(V_m) and V_m = D + JΔτ at once.

:data:`LITERAL` is a method like those of ``rankfold.METHODS``:

    rankfold.decompose(X, method=LITERAL)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankfold import InputError, Method, Status
from rankfold.families import Floats
from rankfold.scale import Executor
from rankfold.status import InnerRecord, Observer
from rankfold_lab.inner import Context, Problem, Solution, project_rows

# μ~ as a share of μ_0: the paper gives none.
FLOOR = 1e-3
# What μ is multiplied by, as printed.
SHRINKAGE = 0.9
# Iterations: far more than it takes to see that nothing converges.
LIMIT = 200
# An objective so many times σ_1 has exploded.
EXPLODED = 1e6


def solve_literal(
    problem: Problem,
    settings: Any,
    executor: Executor,
    observe: Observer | None = None,
    outer: int = -1,
    near: Solution | None = None,  # noqa: ARG001
) -> Solution:
    """Run the printed updates until the residual is small, the values explode, or the limit.

    Parameters
    ----------
    problem : rankfold.admm.Problem
    settings : rankfold.admm.Settings
        Of which the tolerance, the limit, the start of the penalty and the projector are used.
    executor : Executor
    observe : callable, optional
    outer : int
    near : Solution
        Not used: Algorithm 2 has no warm start.
    """
    if settings.clone is None:
        raise InputError("Algorithm 2 of the paper needs a projector; set one")
    D = problem.data.astype(np.float64, copy=False)
    n, m = D.shape
    Q = np.zeros((n, 0, m)) if problem.basis is None else problem.basis
    largest = float(np.linalg.norm(D, 2))
    size = float(np.linalg.norm(D))
    Y = D / max(largest, np.abs(D).max() / problem.sparsity)
    mu = settings.penalty.start / largest
    floor = FLOOR * mu
    E = np.zeros_like(D)
    delta = np.zeros(Q.shape[:2])
    V = D
    records: list[InnerRecord] = []
    status: Status | None = None
    while status is None:
        # Lines 2 and 3.
        U, sigma, Vt = np.linalg.svd(V + Y / mu - E, full_matrices=False)
        kept = np.maximum(sigma - 1 / mu, 0.0)
        A = (U * kept) @ Vt
        kept = kept[kept > 0]
        # Line 4: E with the threshold 1/μ, then Δτ, Y and μ.
        R = _moved(D, Q, delta) + Y / mu - A
        E = np.sign(R) * np.maximum(np.abs(R) - 1 / mu, 0.0)
        delta = np.einsum("npm,nm->np", Q, A + E - D - Y / mu)
        Z = _moved(D, Q, delta) - A - E
        Y = Y + mu * Z
        record = _record(outer, len(records), kept, E, problem.sparsity, Z, size, mu)
        records.append(record)
        status = _outcome(record, settings, largest)
        if status is None and observe is not None and observe(record):
            status = Status.STOPPED
        mu = max(SHRINKAGE * mu, floor)
        # Line 5.
        V = _embedded(problem, settings.clone.projector, A + E, E, executor)
    return Solution(A, E, Y, delta, kept, status, tuple(records))


def _moved(D: Floats, Q: Any, delta: Floats) -> Floats:
    """D + JΔτ."""
    return np.asarray(D + np.einsum("npm,np->nm", Q, delta))


def _record(
    outer: int,
    iteration: int,
    kept: Floats,
    E: Floats,
    sparsity: float,
    Z: Floats,
    size: float,
    mu: float,
) -> InnerRecord:
    """What an observer sees; there is no dual residual, so the primal one stands for it."""
    nuclear = float(kept.sum())
    l1 = float(np.abs(E).sum())
    primal = float(np.linalg.norm(Z)) / size
    objective = nuclear + sparsity * l1
    return InnerRecord(
        outer, iteration, objective, nuclear, l1, len(kept), primal, primal, penalty=mu
    )


def _outcome(record: InnerRecord, settings: Any, largest: float) -> Status | None:
    """How the loop ends with this iteration; None if it goes on."""
    if not np.isfinite(record.objective) or record.objective > EXPLODED * largest:
        return Status.NON_FINITE
    if record.primal_residual <= settings.tol:
        return Status.CONVERGED
    if record.iteration + 1 >= min(settings.max_iter, LIMIT):
        return Status.MAX_ITER
    return None


def _embedded(problem: Problem, projector: Any, V: Floats, E: Floats, executor: Executor) -> Any:
    """V'_m = Φ(V_m, V_m)."""
    valid = None if problem.weights is None else problem.weights > 0
    context = Context(V, E, V, valid, V @ V.T, problem.row_units, problem.row_shape, executor)
    return project_rows(projector, context)


LITERAL = Method(
    "literal",
    "MeADMM with Algorithm 2 as it is printed in the paper; it does not converge",
    solve=solve_literal,
    projector="average",
)
