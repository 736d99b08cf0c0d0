"""J = Q R of one picture, compiled: orthonormal rows Q, and the way back to parameters, R^-1.

How to read this file. In the inner problem a picture may move along the rows of Q, by δ; the
parameters then move by Δτ = R^-1 δ (Eq. 1). ``orthonormalise`` turns J (p x m, p at most 8) into Q
and writes R^-1. It works through the p x p Gram matrix of the rows: ``gram`` computes it,
``diagonalise`` gives its eigenvectors, ``recombine`` applies a p x p matrix to the rows.

LAPACK is not used: called from several threads at once it does not always give the same last bit.
The order of the operations is part of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.compiled import compiled
from rankfold.sums import PIECE, combine, dots

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# A direction in which a picture changes this much less than in its best one is left alone.
DEGENERATE = 1e-6

# Unit: change of a unit-norm picture per px of corner motion. A picture that changes less is flat.
FLAT = 1e-6

# Rounds of Jacobi rotations at most; about six are enough.
SWEEPS = 30

# Off-diagonal entries this small, relative to the largest diagonal one, count as zero.
DIAGONAL = 1e-17


@compiled()
def orthonormalise(J: Array, reach: Floats, noise: float, to_parameters: Floats) -> None:
    """Make the rows of J (p, m) orthonormal in place, and write R^-1 to ``to_parameters`` (p, p).

    Directions that do not change the picture (a turn of a disc, any motion of a flat patch) get a
    zero row and a zero column of ``to_parameters`` instead of noise.

    Parameters
    ----------
    J : (p, m) array
        Derivative of a unit-norm row by each parameter; becomes Q.
    reach : (p,) array
        How far in px a unit of each parameter moves a corner; makes the rows of J comparable.
    noise : float
        Rounding error of sums in the precision of J.
    to_parameters : (p, p) array
        Written: Δτ = to_parameters δ.
    """
    p = len(J)
    # The Gram matrix; ``diagonalise`` leaves its eigenvalues there and its eigenvectors in U.
    G = np.empty((p, p))
    U = np.empty((p, p))
    # Q = T J.
    T = np.zeros((p, p))
    gram(J, G)
    divide_by_reach(G, reach)
    diagonalise(G, U)
    whiten(G, U, reach, noise, T)
    recombine(T, J)
    # One pass leaves an error that grows with the square of the condition of J. A second one
    # removes it, unless it is below the noise of the data's precision already.
    gram(J, G)
    if distance_from_identity(G) > noise:
        C = np.zeros((p, p))
        diagonalise(G, U)
        inverse_root(G, U, C)
        recombine(C, J)
        recombine(C, T)
    # Q Q' = T J J' T' = 1, so R^-1 = T'.
    for k in range(p):
        for l in range(p):
            to_parameters[k, l] = T[l, k]


@compiled()
def divide_by_reach(G: Floats, reach: Floats) -> None:
    """Turn the Gram matrix G (p, p) into that of rows divided by their ``reach`` (p,)."""
    for k in range(len(G)):
        for l in range(len(G)):
            G[k, l] /= reach[k] * reach[l]


@compiled()
def whiten(G: Floats, U: Floats, reach: Floats, noise: float, T: Floats) -> None:
    """Write T (p, p), whose rows make J orthonormal, from eigenvalues G and eigenvectors U."""
    p = len(G)
    largest = 0.0
    for k in range(p):
        largest = max(largest, G[k, k])
    least = max(DEGENERATE * np.sqrt(largest), FLAT, noise)
    for k in range(p):
        s = np.sqrt(max(G[k, k], 0.0))
        # Other rows of T stay zero: the picture does not change in these directions.
        if s > least:
            for l in range(p):
                T[k, l] = U[l, k] / s / reach[l]


@compiled()
def distance_from_identity(G: Floats) -> Any:
    """Largest entry of G (p, p) minus the identity, with zeros there for rows of norm zero."""
    p = len(G)
    off = 0.0
    for k in range(p):
        for l in range(p):
            one = 1.0 if k == l and G[k, k] > 0.5 else 0.0
            off = max(off, abs(G[k, l] - one))
    return off


@compiled()
def inverse_root(G: Floats, U: Floats, C: Floats) -> None:
    """Add U G^-1/2 U' to C (p, p), for eigenvalues on the diagonal of G that are not zero."""
    p = len(G)
    for i in range(p):
        for k in range(p):
            for l in range(p):
                if G[i, i] > 0.5:
                    C[k, l] += U[k, i] * U[l, i] / np.sqrt(G[i, i])


@compiled()
def diagonalise(G: Floats, U: Floats) -> None:
    """Replace a small symmetric G (p, p) by U'GU, which is diagonal, by Jacobi's rotations."""
    p = len(G)
    for i in range(p):
        for j in range(p):
            U[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        if is_diagonal(G):
            return
        for i in range(p):
            for j in range(i):
                if G[i, j] != 0:
                    rotate(G, U, i, j)


@compiled()
def is_diagonal(G: Floats) -> Any:
    """Whether the entries of G (p, p) off the diagonal are zero up to rounding."""
    rest = 0.0
    size = 0.0
    for i in range(len(G)):
        size = max(size, abs(G[i, i]))
        for j in range(i):
            rest = max(rest, abs(G[i, j]))
    return rest <= DIAGONAL * size


@compiled()
def rotate(G: Floats, U: Floats, i: int, j: int) -> None:
    """Turn axes i and j of G (p, p) so that G[i, j] vanishes, and these columns of U (p, p)."""
    p = len(G)
    # t is the tangent of the angle, the smaller of two solutions; c is its cosine.
    slope = (G[j, j] - G[i, i]) / (2 * G[i, j])
    t = (1.0 if slope >= 0 else -1.0) / (abs(slope) + np.sqrt(slope * slope + 1))
    c = 1 / np.sqrt(t * t + 1)
    for k in range(p):
        at_i = U[k, i]
        at_j = U[k, j]
        U[k, i] = c * (at_i - t * at_j)
        U[k, j] = c * (at_j + t * at_i)
        at_i = G[k, i]
        at_j = G[k, j]
        G[k, i] = c * (at_i - t * at_j)
        G[k, j] = c * (at_j + t * at_i)
    for k in range(p):
        at_i = G[i, k]
        at_j = G[j, k]
        G[i, k] = c * (at_i - t * at_j)
        G[j, k] = c * (at_j + t * at_i)


@compiled()
def gram(rows: Array, out: Floats) -> None:
    """Write the inner products (p, p) of rows (p, m)."""
    p, m = rows.shape
    every = np.arange(p)
    out[:] = 0
    # The lower triangle, one piece of the long axis after the other.
    for first in range(0, m, PIECE):
        for k in range(p):
            dots(rows, every[: k + 1], first, rows[k, first : first + PIECE], out[k])
    for k in range(p):
        for l in range(k):
            out[l, k] = out[k, l]


@compiled()
def recombine(matrix: Floats, rows: Array) -> None:
    """Replace rows (p, m) by matrix (p, p) times rows."""
    p, m = rows.shape
    old = np.empty((p, PIECE), rows.dtype)
    every = np.arange(p)
    for first in range(0, m, PIECE):
        size = min(PIECE, m - first)
        for k in range(p):
            for j in range(size):
                old[k, j] = rows[k, first + j]
        for k in range(p):
            combine(matrix[k], old, every, 0, rows[k, first : first + size])
