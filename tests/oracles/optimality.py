"""How far a point is from solving min ‖A‖_* + λ ‖Ω∘E‖_1 s.t. D + Qδ = A + E: by subgradients."""

import numpy as np


def violation(A, E, Y, lam, weights=None, Q=None):
    """Largest violation of the conditions on the multiplier Y, relative to what it should be."""
    W = np.ones_like(A) if weights is None else weights
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    r = int((s > 1e-9 * s[0]).sum())
    U, Vt = U[:, :r], Vt[:r]
    on = (E != 0) & (W > 0)
    conditions = [
        np.abs(U.T @ Y - Vt).max(),  # Y = U V' + W with U'W = 0 ...
        np.abs(Y @ Vt.T - U).max(),  # ... W V = 0 ...
        max(np.linalg.norm(Y, 2) - 1, 0),  # ... and ‖W‖ ≤ 1
        np.abs(Y[on] / lam - np.sign(E[on])).max(initial=0),  # Y = λ sign(E) on the support
        max((np.abs(Y) / lam - W).max(), 0),  # |Y| ≤ λΩ everywhere: zero where a value is missing
    ]
    if Q is not None:
        conditions.append(
            np.abs(np.einsum("npm,nm->np", Q, Y)).max()
        )  # the transforms are free: J'Y = 0
    return max(float(c) for c in conditions)
