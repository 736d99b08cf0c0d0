"""Algorithm 2 of the paper as it is printed, so that a reader can see what it does: it does not converge.

Line by line: A = SVT_{1/μ}(V'_m + Y/μ - E); E = S_{1/μ}[D + JΔτ + Y/μ - A] (λ is lost); Δτ by the pseudo-inverse (the
printed J has the wrong shape); Y += μ (D + JΔτ - A - E) (the printed L_μ is a number); μ = max(0.9 μ, μ~);
V'_m = Φ(A + E). The data D are not in the A-step: a fixed point needs V_m = Φ(V_m) and V_m = D + JΔτ at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankfold.admm.problem import Clone, Problem, Settings, Solution
from rankfold.executors import Executor
from rankfold.manifold import Context
from rankfold.status import InnerRecord, Observer, Status

Floats = npt.NDArray[np.float64]

FLOOR = 1e-3  # μ~ as a share of μ_0: the paper gives none
LIMIT = 200  # iterations: far more than it takes to see that nothing converges


def solve_literal(
    problem: Problem, settings: Settings, executor: Executor, observe: Observer | None, outer: int
) -> Solution:
    """Run the printed updates until the residual is small (it is not), the values explode, or the limit."""
    assert settings.clone is not None
    D = problem.data.astype(np.float64, copy=False)
    n, m = D.shape
    Q = np.zeros((n, 0, m)) if problem.basis is None else problem.basis
    largest = float(np.linalg.norm(D, 2))
    size = float(np.linalg.norm(D))
    Y = D / max(largest, np.abs(D).max() / problem.sparsity)
    mu = settings.penalty_start / largest
    floor = FLOOR * mu
    E, delta, V = np.zeros_like(D), np.zeros(Q.shape[:2]), D
    A, kept = D, np.zeros(0)
    records: list[InnerRecord] = []
    status = Status.MAX_ITER
    for iteration in range(min(settings.max_iter, LIMIT)):
        U, sigma, Vt = np.linalg.svd(V + Y / mu - E, full_matrices=False)
        kept = np.maximum(sigma - 1 / mu, 0.0)
        A = (U * kept) @ Vt
        kept = kept[kept > 0]
        moved = D + np.einsum("npm,np->nm", Q, delta)
        R = moved + Y / mu - A
        E = np.sign(R) * np.maximum(np.abs(R) - 1 / mu, 0.0)
        delta = np.einsum("npm,nm->np", Q, A + E - D - Y / mu)
        moved = D + np.einsum("npm,np->nm", Q, delta)
        Z = moved - A - E
        Y = Y + mu * Z
        primal = float(np.linalg.norm(Z)) / size
        l1 = float(np.abs(E).sum())
        objective = float(kept.sum()) + problem.sparsity * l1
        records.append(
            InnerRecord(
                outer, iteration, objective, float(kept.sum()), l1, len(kept), primal, primal, mu
            )
        )
        if not np.isfinite(objective) or objective > 1e6 * largest:
            status = Status.NON_FINITE
            break
        if primal <= settings.tol:
            status = Status.CONVERGED
            break
        if observe is not None and observe(records[-1]):
            status = Status.STOPPED
            break
        mu = max(0.9 * mu, floor)
        V = _embed(problem, settings.clone, A, E, executor)
    return Solution(A, E, Y, delta, kept, status, tuple(records))


def _embed(problem: Problem, clone: Clone, A: Floats, E: Floats, executor: Executor) -> Floats:
    """V'_m = Φ(V_m, V_m) with V_m = A + E."""
    V = A + E
    n, m = V.shape
    units = np.full(n, float(np.ptp(problem.data))) if problem.units is None else problem.units
    valid = None if problem.weights is None else problem.weights > 0
    shape = problem.shape or (1, 1, m)
    return np.asarray(
        clone.projector(Context(V, E, V, valid, V @ V.T, units, shape, executor)), dtype=np.float64
    )
