"""A picture's derivative by the parameters of its transform, orthonormalised: what is done to one picture, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from rankfold.sums import PIECE, combine, dot, dots
from rankfold.warp.kernels import map_row, sample

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

DEGENERATE = (
    1e-6  # directions in which a picture changes this much less than in its best are left alone
)
FLAT = 1e-6  # change of a unit-norm picture per px of corner motion below which it is flat
SWEEPS = 30  # of rotations at most; six or so are enough


@njit(cache=True, nogil=True)
def differentiate(
    planes: Floats,
    cells: Bools,
    matrix: Floats,
    derivative: Floats,
    height: int,
    width: int,
    values: Array,
    jacobian: Array,
    valid: Bools,
) -> None:
    """Values (c m,), their derivative (p, c m) by the parameters, given that of the matrix (p, 3, 3), and validity."""
    channels, m = len(planes), height * width
    gradient = np.empty((channels, 2, m), values.dtype)
    sample(planes, cells, matrix, height, width, values.reshape(channels, m), gradient, valid[:m])
    for j in range(m, channels * m):
        valid[j] = valid[j - m]
    chain(gradient, matrix, derivative, height, width, jacobian.reshape(len(jacobian), channels, m))


@njit(cache=True, nogil=True)
def chain(
    gradient: Array, matrix: Floats, derivative: Floats, height: int, width: int, out: Array
) -> None:
    """Derivative ``out`` (p, c, m) by the parameters from the picture's own (c, 2, m), by the chain rule.

    ``derivative`` (p, 3, 3) is that of the matrix: a point (h_1 u, h_2 u) / h_3 u moves by the quotient rule.
    """
    channels, p, m = gradient.shape[0], derivative.shape[0], height * width
    kind = gradient.dtype.type
    us, vs = np.empty(m, gradient.dtype), np.empty(m, gradient.dtype)
    for row in range(height):
        for column in range(width):
            us[row * width + column] = column
            vs[row * width + column] = row
    tilts = matrix[2, 0] != 0 or matrix[2, 1] != 0
    for k in range(p):
        tilts |= derivative[k, 2, 0] != 0 or derivative[k, 2, 1] != 0 or derivative[k, 2, 2] != 0
    if not tilts:  # no quotient
        over = kind(1 / matrix[2, 2])
        for k in range(p):
            d = derivative[k]
            xu, xv, x1 = kind(d[0, 0]), kind(d[0, 1]), kind(d[0, 2])
            yu, yv, y1 = kind(d[1, 0]), kind(d[1, 1]), kind(d[1, 2])
            for channel in range(channels):
                gx, gy, to = gradient[channel, 0], gradient[channel, 1], out[k, channel]
                for j in range(m):
                    dx, dy = xu * us[j] + (xv * vs[j] + x1), yu * us[j] + (yv * vs[j] + y1)
                    to[j] = gx[j] * (dx * over) + gy[j] * (dy * over)
        return
    xs, ys, zs, columns = np.empty(m), np.empty(m), np.empty(m), np.arange(width).astype(np.float64)
    for row in range(height):
        here = slice(row * width, (row + 1) * width)
        map_row(matrix, row, columns, xs[here], ys[here], zs[here])
    for j in range(m):
        zs[j] = 1 / zs[j] if zs[j] > 0 else 0.0
    du, dv = np.empty(m, gradient.dtype), np.empty(m, gradient.dtype)
    for k in range(p):
        d = derivative[k]
        for j in range(m):
            tilt = d[2, 0] * us[j] + (d[2, 1] * vs[j] + d[2, 2])
            du[j] = (d[0, 0] * us[j] + (d[0, 1] * vs[j] + d[0, 2]) - xs[j] * tilt) * zs[j]
            dv[j] = (d[1, 0] * us[j] + (d[1, 1] * vs[j] + d[1, 2]) - ys[j] * tilt) * zs[j]
        for channel in range(channels):
            gx, gy, to = gradient[channel, 0], gradient[channel, 1], out[k, channel]
            for j in range(m):
                to[j] = gx[j] * du[j] + gy[j] * dv[j]


@njit(cache=True, nogil=True)
def normalise_and_orthonormalise(
    row: Array, jacobian: Array, reach: Floats, noise: float, increments: Floats
) -> Any:
    """Give a picture norm one and orthonormalise its derivative then. Returns the norm, zero if nothing is in it."""
    norm = np.sqrt(dot(row, row))
    if norm > 0:
        normalise(row, jacobian, norm)
        orthonormalise(jacobian, reach, noise, increments)
    return norm


@njit(cache=True, nogil=True)
def normalise(row: Array, jacobian: Array, norm: float) -> None:
    """Row y (m,) <- d = y/n and its derivative (p, m) <- (dy - d (d.dy)) / n: the norm depends on every parameter."""
    over = row.dtype.type(1 / norm)
    for j in range(len(row)):
        row[j] *= over
    for k in range(len(jacobian)):
        slope = jacobian[k]
        along = row.dtype.type(dot(row, slope))
        for j in range(len(row)):
            slope[j] = (slope[j] - along * row[j]) * over


@njit(cache=True, nogil=True)
def orthonormalise(J: Array, reach: Floats, noise: float, increments: Floats) -> None:
    """Make the rows of J (p, m) orthonormal in place; ``increments`` (p, p) gets what turns δ into Δτ.

    ``reach`` (p,) is how far a unit of each parameter moves a corner (px): it makes the rows of J comparable. The
    eigenvectors of their Gram matrix do the work of the thin QR, twice, because once leaves an error that grows with
    the square of the condition, unless that is below the ``noise`` of the data's precision. They also show directions
    that do not change the picture (a turn of a disc, any motion of a flat patch): those get a zero row and a zero
    increment instead of noise.
    """
    p = len(J)
    G, U, T, C = np.empty((p, p)), np.empty((p, p)), np.zeros((p, p)), np.zeros((p, p))
    gram(J, G)
    for k in range(p):
        for l in range(p):
            G[k, l] /= reach[k] * reach[l]
    diagonalise(G, U)
    largest = 0.0
    for k in range(p):
        largest = max(largest, G[k, k])
    least = max(DEGENERATE * np.sqrt(largest), FLAT, noise)
    for k in range(p):
        s = np.sqrt(max(G[k, k], 0.0))
        if s > least:
            for l in range(p):
                T[k, l] = U[l, k] / s / reach[l]
    recombine(T, J)
    gram(J, G)
    off = 0.0
    for k in range(p):
        for l in range(p):
            one = 1.0 if k == l and G[k, k] > 0.5 else 0.0  # rows are of norm one or zero
            off = max(off, abs(G[k, l] - one))
    if off > noise:
        diagonalise(G, U)
        for i in range(p):
            for k in range(p):
                for l in range(p):
                    if G[i, i] > 0.5:
                        C[k, l] += U[k, i] * U[l, i] / np.sqrt(G[i, i])
        recombine(C, J)
        recombine(C, T)
    for k in range(p):
        for l in range(p):
            increments[k, l] = T[l, k]


@njit(cache=True, nogil=True)
def diagonalise(G: Floats, U: Floats) -> None:
    """G <- U'GU, diagonal, for a small symmetric G, by Jacobi's rotations.

    LAPACK stays out of what runs in threads: called from several at once it does not always give the same last bit.
    """
    p = len(G)
    for i in range(p):
        for j in range(p):
            U[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        rest, size = 0.0, 0.0
        for i in range(p):
            size = max(size, abs(G[i, i]))
            for j in range(i):
                rest = max(rest, abs(G[i, j]))
        if rest <= 1e-17 * size:
            return
        for i in range(p):
            for j in range(i):
                if G[i, j] == 0:
                    continue
                slope = (G[j, j] - G[i, i]) / (2 * G[i, j])
                t = (1.0 if slope >= 0 else -1.0) / (abs(slope) + np.sqrt(slope * slope + 1))
                c = 1 / np.sqrt(t * t + 1)
                for k in range(p):
                    U[k, i], U[k, j] = c * (U[k, i] - t * U[k, j]), c * (U[k, j] + t * U[k, i])
                    G[k, i], G[k, j] = c * (G[k, i] - t * G[k, j]), c * (G[k, j] + t * G[k, i])
                for k in range(p):
                    G[i, k], G[j, k] = c * (G[i, k] - t * G[j, k]), c * (G[j, k] + t * G[i, k])


@njit(cache=True, nogil=True)
def gram(rows: Array, out: Floats) -> None:
    """Inner products (p, p) of rows (p, m)."""
    p, m = rows.shape
    every = np.arange(p)
    out[:] = 0
    for first in range(0, m, PIECE):
        for k in range(p):
            dots(rows, every[: k + 1], first, rows[k, first : first + PIECE], out[k])
    for k in range(p):
        for l in range(k):
            out[l, k] = out[k, l]


@njit(cache=True, nogil=True)
def recombine(matrix: Floats, rows: Array) -> None:
    """Rows (p, m) <- matrix (p, p) times rows, in place."""
    p, m = rows.shape
    old, every = np.empty((p, PIECE), rows.dtype), np.arange(p)
    for first in range(0, m, PIECE):
        size = min(PIECE, m - first)
        for k in range(p):
            for j in range(size):
                old[k, j] = rows[k, first + j]
        for k in range(p):
            combine(matrix[k], old, every, 0, rows[k, first : first + size])
