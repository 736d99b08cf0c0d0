"""The passes of :class:`~rankfold.admm.slabs.Slabs` in plain NumPy: read this beside the paper.

    min ‖A‖_* + λ ‖Ω∘E‖_1   subject to   D + [Q_i δ_i]_i = A + E

The same methods with the same meaning, on whole arrays, one statement an update. Nothing is
fused, cut or compiled, so this is slow. ``solve(problem, storage=Reference)`` runs Algorithm 2 with
it, and the tests in ``tests/equalities/`` hold the compiled passes to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm.certificate import Certificate
from rankfold.admm.passes import Pass, Shrunk
from rankfold.admm.problem import Problem, Solution
from rankfold.admm.proximal import SURROGATES, Thresholding, Wanted
from rankfold.manifold import AnyProjector, Context, project_rows
from rankfold.scale import Executor

Floats = npt.NDArray[np.float64]


class Reference:
    """A problem as whole arrays, n x m each, in the letters of the paper.

    Parameters
    ----------
    problem : Problem
    executor : Executor
        Given to projectors; nothing else is shared out.
    """

    def __init__(self, problem: Problem, executor: Executor) -> None:
        n, m = problem.data.shape
        self.problem = problem
        self.executor = executor
        self.V = problem.data.astype(np.float64)  # V_m = D + Qδ, and δ = 0
        # Q_i is stored as p rows of m pixels, n x p x m: so Qδ is einsum("npm,np->nm"), and Q'x is
        # einsum("npm,nm->np"). J_i Δτ_i = Q_i δ_i, because J_i = Q_i R_i.
        self.Q = np.zeros((n, 0, m)) if problem.basis is None else problem.basis
        self.W = np.ones((n, m)) if problem.weights is None else problem.weights  # Ω
        self.A = np.zeros((n, m))
        self.relaxed = self.A  # aA + (1 - a)(V - E), which is A where nothing is over-relaxed
        self.E = np.zeros((n, m))
        self.Y = np.zeros((n, m))
        self.X = self.V.copy()  # argument of the singular value thresholding
        self.Phi: Floats | None = None
        self.cut_off = np.zeros((n, m))  # what the soft threshold took from its argument

    def measure(self) -> tuple[float, float]:
        """Return σ_1 and the largest magnitude of the data."""
        return float(np.linalg.norm(self.V, 2)), float(np.abs(self.V).max())

    def start(self, divisor: float, mu: float) -> None:
        """Y = D / divisor, E = 0, δ = 0."""
        self.Y = self.V / divisor
        self.X = self.V - self.E + self.Y / mu

    def resume(self, near: Solution, mu: float) -> None:
        """E and Y as in a solution of a similar problem, δ = 0."""
        assert near.sparse is not None
        assert near.dual is not None
        self.E = near.sparse.astype(np.float64)
        self.Y = near.dual.astype(np.float64)
        self.X = self.V - self.E + self.Y / mu

    def threshold(self, wanted: Wanted) -> Thresholding:
        """A = SVT_t(X) = U (Σ - t)_+ V'."""
        U, sigma, Vt = np.linalg.svd(self.X, full_matrices=False)
        t = SURROGATES[wanted.surrogate](sigma, wanted.threshold)
        rank = int(np.count_nonzero(sigma > t))
        kept = (sigma - t)[:rank]
        self.A = (U[:, :rank] * kept) @ Vt[:rank]
        return Thresholding(U[:, :rank], kept / sigma[:rank], kept, float(sigma[0]))

    def certify(self, A: Thresholding, mu: float, sparsity: float) -> Certificate:  # noqa: ARG002
        """What is proved of A: the subgradient that made it, clipped and scaled."""
        limit = sparsity * self.W
        Y = np.clip(mu * (self.X - self.A), -limit, limit)
        return Certificate(
            l1=float((self.W * np.abs(self.V - self.A)).sum()),
            product=float((Y * self.V).sum()),
            norm=float(np.linalg.norm(Y, 2)),
        )

    def shrink(self, A: Thresholding, scalars: Pass) -> Shrunk:  # noqa: ARG002
        """E = S_{λΩ/μ}[V - A + Y/μ], with the relaxed A."""
        a = scalars.relaxation
        self.relaxed = a * self.A + (1 - a) * (self.V - self.E)
        R = self.V - self.relaxed + self.Y / scalars.mu
        t = self.W * scalars.sparsity / scalars.mu
        self.E = np.sign(R) * np.maximum(np.abs(R) - t, 0.0)
        self.cut_off = R - self.E
        # Q'(D + Qδ - A - E + Y/μ), the change that δ needs.
        products = np.einsum("npm,nm->np", self.Q, self.cut_off)
        return Shrunk(products, float((self.W * np.abs(self.E)).sum()))

    def ascend(self, change: Floats, scalars: Pass) -> tuple[float, float, float]:
        """V += Q change; Y += μ(V - A - E), with the relaxed A; the next X."""
        turned = np.einsum("npm,np->nm", self.Q, change)
        self.V = self.V + turned
        # What was cut off is V_old - A - E + Y/μ with the relaxed A, so this is Y + μ(V - A - E).
        self.Y = scalars.mu * (self.cut_off + turned)
        Z = self.V - self.A - self.E
        # Without a Φ, μ(X - A) is the subgradient of the nuclear norm that made A. With one, X is
        # set back to what it was before the merge and this leaves the clone term out: the number
        # then says nothing of optimality, and the solver does not use it.
        X = self.X
        if self.Phi is not None and scalars.beta > 0:
            X = (1 + scalars.beta) * X - scalars.beta * self.Phi
        S = self.Y - scalars.mu * (X - self.A)
        self.X = self.V - self.E + self.Y / scalars.mu_next
        if scalars.merge and self.Phi is not None:
            self.X = (self.X + scalars.beta * self.Phi) / (1 + scalars.beta)
        return float(np.linalg.norm(Z)), float(np.linalg.norm(S)), float(np.linalg.norm(self.Y))

    def project(self, projector: AnyProjector, A: Thresholding, beta: float) -> None:
        """Φ = projection of A; X becomes (X + βΦ)/(1 + β)."""
        weights = self.problem.weights
        context = Context(
            low_rank=self.A,
            sparse=self.E,
            target=self.V,
            valid=None if weights is None else weights > 0,
            gram=A.gram(),
            units=self.problem.row_units,
            shape=self.problem.row_shape,
            executor=self.executor,
        )
        self.Phi = project_rows(projector, context)
        self.X = (self.X + beta * self.Phi) / (1 + beta)

    def result(self, name: str) -> Any:
        """A, E or Y."""
        return getattr(self, name)

    def close(self) -> None:
        """Do nothing: all is here."""
