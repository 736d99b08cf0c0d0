"""The elementwise work of an inner iteration, fused into two compiled passes.

A row is done in pieces that fit into the first-level cache, a piece in short loops that each write one or two arrays:
then the compiler vectorises all of them. Sums are loops of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from rankfold.sums import (
    PIECE,
    combine,
    dot_piece,
    dots,
    sum_absolute,
    sum_dual,
    sum_primal,
    sum_weighted,
)

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def soft_threshold(
    X: Array,
    A: Array,
    E: Array,
    Y: Array,
    W: Array,
    P: Array,
    Q: Array,
    threshold: float,
    beta: float,
    relaxation: float,
    mu: float,
    products: Floats,
) -> float:
    """E <- S_{wt}[R], Y <- R - E and ``products`` (n, p) <- QY for R = X + E - A; returns Σ w|E|.

    An empty W means w = 1. If P = Φ is not empty, X holds (X + βΦ)/(1 + β) and is set back to X first. With a
    ``relaxation`` a other than one, A is replaced in R by aA + (1 - a)(V_m - E), where V_m - E = X - Y/μ.
    """
    total = 0.0
    for i in range(len(X)):
        total += threshold_row(i, X, A, E, Y, W, P, Q, threshold, beta, relaxation, mu, products)
    return total


@njit(cache=True, nogil=True)
def multiplier_step(
    V: Array,
    Q: Array,
    A: Array,
    E: Array,
    Y: Array,
    X: Array,
    P: Array,
    change: Floats,
    mu: float,
    mu_next: float,
    beta: float,
    merge: bool,
    norms: Floats,
) -> None:
    """Update V_m = D + Jδ by the ``change`` of δ, Y, and the next X, given in Y what the threshold cut off.

    With C the content of Y on entry, V_old - A - E + Y_old/μ = C, hence Y_old + μ Z = μ (C + J(δ - δ_old)).
    If P = Φ is not empty, the next X becomes (X + βΦ)/(1 + β): the two squares of L_{μ,1} merged into one. Not so
    without ``merge``: a new Φ is to come.
    ``norms`` (3,) gets the squares of Z = V - A - E, of the dual residual Y - μ (X_old - A), which is how far the new
    Y is from the subgradient that made A, and of Y.
    """
    turned = np.empty(PIECE, V.dtype)
    norms[:] = 0
    for i in range(len(V)):
        multiplier_row(i, V, Q, A, E, Y, X, P, change, mu, mu_next, beta, merge, turned, norms)


@njit(cache=True, nogil=True)
def merge_clone(X: Array, P: Array, beta: float) -> None:
    """X becomes (X + βΦ)/(1 + β), with the bits that :func:`multiplier_step` would have given it."""
    pull, share = X.dtype.type(beta), X.dtype.type(1 / (1 + beta))
    for i in range(len(X)):
        x, phi = X[i], P[i]
        for j in range(len(x)):
            x[j] = (x[j] + pull * phi[j]) * share


@njit(cache=True, nogil=True)
def sweep(
    X: Array,
    A: Array,
    E: Array,
    Y: Array,
    W: Array,
    P: Array,
    Q: Array,
    V: Array,
    threshold: float,
    beta: float,
    relaxation: float,
    mu: float,
    mu_next: float,
    merge: bool,
    change: Floats,
    norms: Floats,
) -> float:
    """Thresholds and multipliers of whole rows, where the ``change`` of δ is known as soon as a row is thresholded."""
    turned = np.empty(PIECE, V.dtype)
    total = 0.0
    norms[:] = 0
    for i in range(len(X)):
        total += threshold_row(i, X, A, E, Y, W, P, Q, threshold, beta, relaxation, mu, change)
        for k in range(Q.shape[1]):
            change[i, k] = -change[i, k]
        multiplier_row(i, V, Q, A, E, Y, X, P, change, mu, mu_next, beta, merge, turned, norms)
    return total


@njit(cache=True, nogil=True)
def threshold_row(
    i: int,
    X: Array,
    A: Array,
    E: Array,
    Y: Array,
    W: Array,
    P: Array,
    Q: Array,
    threshold: float,
    beta: float,
    relaxation: float,
    mu: float,
    products: Floats,
) -> float:
    """One row of :func:`soft_threshold`."""
    m = X.shape[1]
    t, pull = X.dtype.type(threshold), X.dtype.type(beta)
    stay, down = X.dtype.type(1 - relaxation), X.dtype.type(1 / mu)
    weighted, cloned, relaxed = W.size > 0, P.size > 0, relaxation != 1.0
    every = np.arange(Q.shape[1])
    total = 0.0
    products[i] = 0
    for first in range(0, m, PIECE):
        last = min(first + PIECE, m)
        x, a, e, y = X[i, first:last], A[i, first:last], E[i, first:last], Y[i, first:last]
        if cloned:
            phi = P[i, first:last]
            for j in range(last - first):
                x[j] += pull * (x[j] - phi[j])
        if relaxed:
            for j in range(last - first):
                e[j] += stay * (a[j] - x[j] + y[j] * down)
        if weighted:
            w = W[i, first:last]
            for j in range(last - first):
                r, wt = x[j] + e[j] - a[j], t * w[j]
                y[j] = min(max(r, -wt), wt)
                e[j] = r - y[j]
            total += sum_weighted(e, w)
        else:
            for j in range(last - first):
                r = x[j] + e[j] - a[j]
                y[j] = min(max(r, -t), t)
                e[j] = r - y[j]
            total += sum_absolute(e)
        dots(Q[i], every, first, y, products[i])
    return total


@njit(cache=True, nogil=True)
def multiplier_row(
    i: int,
    V: Array,
    Q: Array,
    A: Array,
    E: Array,
    Y: Array,
    X: Array,
    P: Array,
    change: Floats,
    mu: float,
    mu_next: float,
    beta: float,
    merge: bool,
    turned: Array,
    norms: Floats,
) -> None:
    """One row of :func:`multiplier_step`; ``turned`` is room for J(δ - δ_old)."""
    m = V.shape[1]
    moving, cloned = change.size > 0, merge and P.size > 0
    pull, share = V.dtype.type(beta), V.dtype.type(1 / (1 + beta))
    up, down = V.dtype.type(mu), V.dtype.type(1 / mu_next)
    every = np.arange(Q.shape[1])
    for first in range(0, m, PIECE):
        last = min(first + PIECE, m)
        size = last - first
        v, a, e = V[i, first:last], A[i, first:last], E[i, first:last]
        y, x = Y[i, first:last], X[i, first:last]
        if moving:
            combine(change[i], Q[i], every, first, turned[:size])
            for j in range(size):
                v[j] += turned[j]
            for j in range(size):
                y[j] = up * (y[j] + turned[j])
        else:
            for j in range(size):
                y[j] *= up
        norms[0] += sum_primal(v, a, e)
        norms[1] += sum_dual(y, x, a, up)
        norms[2] += dot_piece(y, y)
        if cloned:
            phi = P[i, first:last]
            for j in range(size):
                x[j] = (v[j] - e[j] + y[j] * down + pull * phi[j]) * share
        else:
            for j in range(size):
                x[j] = v[j] - e[j] + y[j] * down
