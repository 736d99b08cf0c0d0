"""The elementwise work of an inner iteration, fused into two compiled passes.

Strict arithmetic: with reassociated sums the compiler takes another order where its check for overlapping arrays fails,
which depends on where they happen to lie in memory, and the last bits with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def soft_threshold(X: Array, A: Array, E: Array, Y: Array, W: Array, P: Array, threshold: float, beta: float) -> float:
    """E <- S_{wt}[R] and Y <- R - E for R = X + E - A; returns Σ w|E|. An empty W means w = 1.

    If P = Φ is not empty, X holds (X + βΦ)/(1 + β) and is set back to X first.
    """
    t, pull = X.dtype.type(threshold), X.dtype.type(beta)
    weighted, cloned = W.size > 0, P.size > 0
    total = 0.0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if cloned:
                X[i, j] += pull * (X[i, j] - P[i, j])
            r = X[i, j] + E[i, j] - A[i, j]
            wt = t * W[i, j] if weighted else t
            kept = min(max(r, -wt), wt)
            e = r - kept
            E[i, j] = e
            Y[i, j] = kept
            total += abs(e) * W[i, j] if weighted else abs(e)
    return total


@njit(cache=True, nogil=True)
def add_motion(D: Array, Q: Array, delta: Floats, out: Array) -> None:
    """V_m = D + Jδ."""
    for i in range(D.shape[0]):
        out[i] = D[i]
        for k in range(Q.shape[1]):
            a = D.dtype.type(delta[i, k])
            for j in range(D.shape[1]):
                out[i, j] += a * Q[i, k, j]


@njit(cache=True, nogil=True)
def multiplier_step(
    D: Array,
    Q: Array,
    A: Array,
    E: Array,
    Y: Array,
    X: Array,
    P: Array,
    delta: Floats,
    change: Floats,
    mu: float,
    mu_next: float,
    beta: float,
) -> Floats:
    """Update Y and the next X, given in Y what the threshold cut off.

    With C the content of Y on entry, D + Jδ_old - A - E + Y_old/μ = C, hence Y_old + μ Z = μ (C + J(δ - δ_old)).
    The dual residual is Y - μ (X_old - A): how far the new Y is from the subgradient that made A.
    If P = Φ is not empty, the next X becomes (X + βΦ)/(1 + β): the two squares of L_{μ,1} merged into one.
    """
    n, m = D.shape
    p = Q.shape[1]
    moved = np.empty(m, D.dtype)  # Jδ
    turned = np.empty(m, D.dtype)  # J(δ - δ_old)
    primal, dual, size = 0.0, 0.0, 0.0
    cloned = P.size > 0
    pull, share = D.dtype.type(beta), D.dtype.type(1 / (1 + beta))
    for i in range(n):
        moved[:] = 0
        turned[:] = 0
        for k in range(p):
            a, b = D.dtype.type(delta[i, k]), D.dtype.type(change[i, k])
            for j in range(m):
                moved[j] += a * Q[i, k, j]
                turned[j] += b * Q[i, k, j]
        up, down = D.dtype.type(mu), D.dtype.type(1 / mu_next)
        for j in range(m):
            target = D[i, j] + moved[j] - E[i, j]
            z = target - A[i, j]
            y = up * (Y[i, j] + turned[j])
            s = y - up * (X[i, j] - A[i, j])
            Y[i, j] = y
            X[i, j] = (target + y * down + pull * P[i, j]) * share if cloned else target + y * down
            primal += z * z
            dual += s * s
            size += y * y
    return np.array([primal, dual, size])
