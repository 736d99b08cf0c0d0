"""Algorithm 2 without slabs, kernels or Gram matrices: full SVDs and whole matrices."""

import numpy as np


def solve(
    D,
    lam,
    weights=None,
    Q=None,
    tol=1e-6,
    rho=1.25,
    max_iter=1000,
    project=None,
    beta=0.5,
    start=28,
    period=3,
):
    """``project`` turns (A, E, V_m) into Φ, every ``period`` iterations once μ ≥ ``start`` μ_0."""
    W = np.ones_like(D) if weights is None else weights
    n = len(D)
    Q = np.zeros((n, 0, D.shape[1])) if Q is None else Q
    expand = lambda delta: np.einsum("npm,np->nm", Q, delta)  # noqa: E731
    s1 = np.linalg.norm(D, 2)
    Y = D / max(s1, np.abs(D).max() / lam)
    mu, E, delta, Phi = 1.25 / s1, np.zeros_like(D), np.zeros(Q.shape[:2]), None
    for k in range(1, max_iter + 1):
        X = D + expand(delta) - E + Y / mu
        b = 0.0 if Phi is None else beta
        U, s, Vt = np.linalg.svd(X if Phi is None else (X + b * Phi) / (1 + b), full_matrices=False)
        s = np.maximum(s - 1 / (mu * (1 + b)), 0)
        A = (U * s) @ Vt
        R = D + expand(delta) - A + Y / mu
        E = np.sign(R) * np.maximum(np.abs(R) - lam * W / mu, 0)
        delta = -np.einsum("npm,nm->np", Q, D - E - A + Y / mu)
        Z = D + expand(delta) - A - E
        Y = Y + mu * Z
        mu *= rho
        if project is not None and mu >= (1 - 1e-9) * start * 1.25 / s1 and (k - 1) % period == 0:
            Phi = project(A, E, D + expand(delta))
        if np.linalg.norm(Z) <= tol * np.linalg.norm(D):
            break
    return A, E, delta, k, s.sum() + lam * np.abs(W * E).sum()
