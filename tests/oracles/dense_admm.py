"""Algorithm 2 without slabs, kernels, Gram matrices or anything clever: full SVDs and whole matrices."""

import numpy as np


def solve(D, lam, weights=None, Q=None, tol=1e-6, rho=1.25, max_iter=1000):
    W = np.ones_like(D) if weights is None else weights
    n = len(D)
    Q = np.zeros((n, 0, D.shape[1])) if Q is None else Q
    expand = lambda delta: np.einsum("npm,np->nm", Q, delta)  # noqa: E731
    s1 = np.linalg.norm(D, 2)
    Y = D / max(s1, np.abs(D).max() / lam)
    mu, E, delta = 1.25 / s1, np.zeros_like(D), np.zeros(Q.shape[:2])
    for k in range(1, max_iter + 1):  # noqa: B007
        U, s, Vt = np.linalg.svd(D + expand(delta) - E + Y / mu, full_matrices=False)
        A = (U * np.maximum(s - 1 / mu, 0)) @ Vt
        R = D + expand(delta) - A + Y / mu
        E = np.sign(R) * np.maximum(np.abs(R) - lam * W / mu, 0)
        delta = -np.einsum("npm,nm->np", Q, D - E - A + Y / mu)
        Z = D + expand(delta) - A - E
        Y = Y + mu * Z
        mu *= rho
        if np.linalg.norm(Z) <= tol * np.linalg.norm(D):
            break
    return A, E, delta, k, np.maximum(s - mu**-1 * rho, 0).sum() + lam * np.abs(W * E).sum()
