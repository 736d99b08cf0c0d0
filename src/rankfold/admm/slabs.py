"""The data layout: the long axis cut into slabs of fixed size, and what is done to one slab.

Every array of the inner iteration is cut along its longer axis (pixels, as a rule) into slabs whose size depends
on the problem alone, never on the number of threads. A pass over the data is one of the functions below run on
every slab by an executor; whatever they return is small and is summed in slab order. So the result has the same
bits for every executor.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm.problem import Problem

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

SLAB_VALUES = 2**17  # values of one array in a slab: a megabyte, so that a few of them stay in cache
SLAB_MIN = 128  # shortest slab, for the efficiency of the matrix products


@dataclass
class Slab:
    """One piece of every array. Its buffers are written in place by the functions below, by nothing else."""

    rows: slice
    columns: slice
    V: Array  # V_m = D + Jδ; D at the start
    Q: Array  # rows x p x columns; p = 0 without transforms
    W: Array  # Ω; 0 x 0 means all ones
    X: Array  # argument of the singular value thresholding
    A: Array
    E: Array
    Y: Array
    P: Array  # Φ; 0 x 0 until there is one

    @property
    def tall(self) -> bool:
        """Whether slabs are cut along the rows (more images than pixels)."""
        return self.columns == slice(None)


def cut(problem: Problem) -> list[Slab]:
    """Copy a problem into slabs; all but V = D start at zero."""
    D = problem.data
    n, m = D.shape
    tall = n > m
    # every slab returns a matrix of the size of the short axis, which must not be what the time goes into
    length = max(SLAB_MIN, 2 * min(n, m), SLAB_VALUES // min(n, m))
    pieces = [slice(start, start + length) for start in range(0, max(n, m), length)]
    return [
        _slab(problem, rows, columns)
        for rows, columns in (((piece, slice(None)) if tall else (slice(None), piece)) for piece in pieces)
    ]


def _slab(problem: Problem, rows: slice, columns: slice) -> Slab:
    """Copy one piece of a problem."""
    D = problem.data[rows, columns].copy()
    Q = (
        np.zeros((len(D), 0, D.shape[1]), D.dtype)
        if problem.basis is None
        else np.ascontiguousarray(problem.basis[rows, :, columns], dtype=D.dtype)
    )
    W = (
        np.ones((0, 0), D.dtype)
        if problem.weights is None
        else np.ascontiguousarray(problem.weights[rows, columns], dtype=D.dtype)
    )
    X, A, E, Y = (np.zeros_like(D) for _ in range(4))
    return Slab(rows, columns, D, Q, W, X, A, E, Y, np.empty((0, 0), D.dtype))


def start(slab: Slab, dual_norm: float, mu: float, precise: bool) -> Floats:
    """Y = D / max(σ_1, max|D|/λ), E = 0, δ = 0; X = D + Y/μ. Returns the reduction of X."""
    np.divide(slab.V, dual_norm, out=slab.Y)
    np.divide(slab.Y, mu, out=slab.X)
    slab.X += slab.V
    return reduction(slab.X, slab.tall, precise)


def reduction(X: Array, tall: bool, precise: bool) -> Floats:
    """A small matrix that carries the singular values: X X' (n x n), or the triangle R of X' = Q R."""
    X = X.astype(np.float64, copy=False) if tall else X.T.astype(np.float64, copy=False)
    if precise:
        return np.asarray(np.linalg.qr(X, mode="r"))
    return np.asarray(X.T @ X)


def shrink(
    slab: Slab, M: tuple[Array, ...], mu: float, sparsity: float, beta: float, relaxation: float
) -> tuple[Floats, float]:
    """A = M X; E = S_{λΩ/μ}[V - A + Y/μ]. Returns this slab's part of Q'(...) and of ‖Ω∘E‖_1.

    On return Y holds what the threshold cut off, C = V - A - E + Y/μ: the old Y is not needed any more. M is one
    symmetric matrix or the two factors of it.
    """
    from rankfold.admm.kernels import soft_threshold

    if slab.tall:
        np.matmul(reduce(np.matmul, M[:-1], slab.X), M[-1], out=slab.A)
    else:
        np.matmul(M[0], slab.X if len(M) == 1 else M[1] @ slab.X, out=slab.A)
    arrays = (slab.X, slab.A, slab.E, slab.Y, slab.W, slab.P, slab.Q)
    products = np.empty(slab.Q.shape[:2])
    l1 = soft_threshold(*arrays, sparsity / mu, beta, relaxation, mu, products)
    return products, l1


def turn(slab: Slab, change: Floats) -> None:
    """V += J Δδ and Y += J Δδ ahead of :func:`ascend`, which then gets no change: a projection needs V."""
    from rankfold.admm.kernels import add_motion

    add_motion(slab.V, slab.Y, slab.Q, change[slab.rows])


def ascend(slab: Slab, change: Floats, mu: float, mu_next: float, beta: float, precise: bool) -> tuple[Floats, Floats]:
    """V += J Δδ; Z = V - A - E; Y += μ Z; X = V - E + Y/μ⁺. Returns the reduction of X and three squared norms.

    The norms are those of Z, of the dual residual μ (JΔδ - ΔE) and of Y.
    """
    from rankfold.admm.kernels import multiplier_step

    norms = np.empty(3)
    arrays = (slab.V, slab.Q, slab.A, slab.E, slab.Y, slab.X, slab.P)
    multiplier_step(*arrays, change[slab.rows], mu, mu_next, beta, norms)
    return reduction(slab.X, slab.tall, precise), norms


def gather(slabs: list[Slab], pieces: Iterable[Array], shape: tuple[int, int]) -> Array:
    """Put the pieces of one array together again; a single piece is returned as it is."""
    if len(slabs) == 1:
        return next(iter(pieces))
    whole = np.empty(shape, slabs[0].V.dtype)
    for slab, piece in zip(slabs, pieces, strict=True):
        whole[slab.rows, slab.columns] = piece
    return whole


def scatter(slabs: list[Slab], phi: Array) -> None:
    """Give every slab its piece of Φ."""
    for slab in slabs:
        if slab.P.shape == slab.V.shape:
            slab.P[...] = phi[slab.rows, slab.columns]
        else:
            slab.P = phi[slab.rows, slab.columns].copy()
