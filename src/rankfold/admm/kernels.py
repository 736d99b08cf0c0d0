"""The elementwise work of an inner iteration, compiled; ``reference.py`` says the same in NumPy.

How to read it. X, A, E, Y, V, P = Φ and W = Ω are n x m, Q is n x p x m; they are written in
place. Capital letters are arrays, small ones the piece of a row that is being done. A row is done
in pieces that fit into the first-level cache, and a piece in short loops that each write one or two
arrays, because then the compiler vectorises all of them. Sums are loops of their own
(``rankfold.sums``).

An array without values stands for one that is not there: W where all pixels are valid, P before
there is a Φ, Q without transforms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.compiled import compiled
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


@compiled()
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

    If there is a Φ, X holds (X + βΦ)/(1 + β) and is set back to X first. With a ``relaxation`` a
    other than one, A is replaced in R by aA + (1 - a)(V_m - E), where V_m - E = X - Y/μ.
    """
    total = 0.0
    for i in range(len(X)):
        total += threshold_row(i, X, A, E, Y, W, P, Q, threshold, beta, relaxation, mu, products)
    return total


@compiled()
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
    """Update V_m = D + Qδ by the ``change`` of δ, then Y, then the next X.

    On entry Y holds what the threshold cut off.

    With C the content of Y on entry, V_old - A - E + Y_old/μ = C, hence the new multiplier is
    Y_old + μ Z = μ (C + Q(δ - δ_old)). If there is a Φ, the next X becomes (X + βΦ)/(1 + β): the
    two squares of L_{μ,1} (Eq. 4) merged into one. Not so without ``merge``: a new Φ is to come.

    ``norms`` (3,) gets the squares of Z = V - A - E, of the dual residual Y - μ (X_old - A), which
    is how far the new Y is from the subgradient that made A, and of Y.
    """
    turned = np.empty(PIECE, V.dtype)
    norms[:] = 0
    for i in range(len(V)):
        multiplier_row(i, V, Q, A, E, Y, X, P, change, mu, mu_next, beta, merge, turned, norms)


@compiled()
def merge_clone(X: Array, P: Array, beta: float) -> None:
    """X becomes (X + βΦ)/(1 + β), with the bits that :func:`multiplier_step` would give it."""
    pull = X.dtype.type(beta)
    share = X.dtype.type(1 / (1 + beta))
    for i in range(len(X)):
        x = X[i]
        phi = P[i]
        for j in range(len(x)):
            x[j] = (x[j] + pull * phi[j]) * share


@compiled()
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
    """Both passes over whole rows: ``change`` is known as soon as a row is thresholded."""
    turned = np.empty(PIECE, V.dtype)
    total = 0.0
    norms[:] = 0
    for i in range(len(X)):
        total += threshold_row(i, X, A, E, Y, W, P, Q, threshold, beta, relaxation, mu, change)
        # δ changes by -Q'(D + Qδ - A - E + Y/μ).
        for k in range(Q.shape[1]):
            change[i, k] = -change[i, k]
        multiplier_row(i, V, Q, A, E, Y, X, P, change, mu, mu_next, beta, merge, turned, norms)
    return total


@compiled()
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
    # Scalars in the precision of the data.
    t = X.dtype.type(threshold)
    pull = X.dtype.type(beta)
    stay = X.dtype.type(1 - relaxation)
    down = X.dtype.type(1 / mu)
    weighted = W.size > 0
    cloned = P.size > 0
    relaxed = relaxation != 1.0
    every = np.arange(Q.shape[1])
    total = 0.0
    products[i] = 0
    for first in range(0, m, PIECE):
        last = min(first + PIECE, m)
        size = last - first
        x = X[i, first:last]
        a = A[i, first:last]
        e = E[i, first:last]
        y = Y[i, first:last]
        if cloned:
            # (X + βΦ)/(1 + β) back to X.
            phi = P[i, first:last]
            for j in range(size):
                x[j] += pull * (x[j] - phi[j])
        if relaxed:
            for j in range(size):
                e[j] += stay * (a[j] - x[j] + y[j] * down)
        # What lies within the threshold goes to Y, the rest to E.
        if weighted:
            w = W[i, first:last]
            for j in range(size):
                r = x[j] + e[j] - a[j]
                wt = t * w[j]
                y[j] = min(max(r, -wt), wt)
                e[j] = r - y[j]
            total += sum_weighted(e, w)
        else:
            for j in range(size):
                r = x[j] + e[j] - a[j]
                y[j] = min(max(r, -t), t)
                e[j] = r - y[j]
            total += sum_absolute(e)
        dots(Q[i], every, first, y, products[i])
    return total


@compiled()
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
    """One row of :func:`multiplier_step`; ``turned`` is room for Q(δ - δ_old)."""
    m = V.shape[1]
    moving = change.size > 0
    cloned = merge and P.size > 0
    # Scalars in the precision of the data.
    pull = V.dtype.type(beta)
    share = V.dtype.type(1 / (1 + beta))
    up = V.dtype.type(mu)
    down = V.dtype.type(1 / mu_next)
    every = np.arange(Q.shape[1])
    for first in range(0, m, PIECE):
        last = min(first + PIECE, m)
        size = last - first
        v = V[i, first:last]
        a = A[i, first:last]
        e = E[i, first:last]
        y = Y[i, first:last]
        x = X[i, first:last]
        # V += Q(δ - δ_old); Y = μ (C + Q(δ - δ_old)).
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
        # X = V - E + Y/μ for the next μ.
        if cloned:
            phi = P[i, first:last]
            for j in range(size):
                x[j] = (v[j] - e[j] + y[j] * down + pull * phi[j]) * share
        else:
            for j in range(size):
                x[j] = v[j] - e[j] + y[j] * down
