"""The data layout: the long axis cut into slabs of fixed size, and what is done to one slab.

Every array of the inner iteration is cut along its longer axis (pixels, as a rule) into slabs whose size depends
on the problem alone, never on the number of threads. A pass over the data is one of the functions below run on
every slab by an executor; whatever they return is small and is summed in slab order. So the result has the same
bits for every executor.

Where rows are whole (a small problem is one slab; slabs may be cut along the images) or no image moves, an iteration
is one :func:`sweep`. Otherwise δ needs all slabs: :func:`shrink`, wait, :func:`ascend`. A problem that is one slab is
swept in runs of rows and multiplied in blocks of columns, so that there is something to share out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm.problem import Problem
from rankfold.executors import Executor

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

SLAB_VALUES = (
    2**17
)  # values of one array in a slab: a megabyte, so that a few of them stay in cache
SLAB_MIN = 128  # shortest slab, for the efficiency of the matrix products
WHOLE_VALUES = 2**21  # values of one array in a problem that is one slab
RUNS = 4  # in which the rows of such a problem are swept

ALL = slice(None)


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
    runs: list[slice]  # rows that are swept at a time
    blocks: list[slice]  # columns that are multiplied at a time
    tall: bool  # whether there are more images than pixels

    @property
    def independent(self) -> bool:
        """Whether δ, if there is one, needs no other slab."""
        return self.columns == ALL or self.Q.shape[1] == 0


def cut(problem: Problem) -> list[Slab]:
    """Copy a problem into slabs; all but V = D start at zero."""
    n, m = problem.data.shape
    # every product returns a matrix of the size of the short axis, which must not be what the time goes into
    length = max(SLAB_MIN, 2 * min(n, m), SLAB_VALUES // min(n, m))
    if n > m:
        return [_slab(problem, rows, ALL) for rows in _pieces(n, length)]
    if n * m > WHOLE_VALUES:
        return [_slab(problem, ALL, columns) for columns in _pieces(m, length)]
    slab = _slab(problem, ALL, ALL)
    slab.blocks = _pieces(m, length)
    if n * m > SLAB_VALUES:
        slab.runs = _pieces(n, -(-n // RUNS))
    return [slab]


def _pieces(size: int, length: int) -> list[slice]:
    """An axis in pieces of a length, the last one shorter."""
    return [slice(start, min(start + length, size)) for start in range(0, size, length)]


def _slab(problem: Problem, rows: slice, columns: slice) -> Slab:
    """Copy one piece of a problem."""
    D = problem.data[rows, columns]
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
    # in one piece: large pieces of memory come in large pages, and to touch a new page takes as long as to fill it
    V, X, A, E, Y = np.zeros((5, *D.shape), D.dtype)
    V[...] = D
    P = np.empty((0, 0), D.dtype)
    tall = problem.data.shape[0] > problem.data.shape[1]
    return Slab(rows, columns, V, Q, W, X, A, E, Y, P, runs=[ALL], blocks=[ALL], tall=tall)


def start(slab: Slab, dual_norm: float, mu: float) -> None:
    """Y = D / max(σ_1, max|D|/λ), E = 0, δ = 0; X = D + Y/μ."""
    np.divide(slab.V, dual_norm, out=slab.Y)
    np.divide(slab.Y, mu, out=slab.X)
    slab.X += slab.V


def resume(slab: Slab, sparse: Array, dual: Array, mu: float) -> None:
    """E and Y as given, δ = 0; X = D - E + Y/μ."""
    slab.E[...], slab.Y[...] = sparse[slab.rows, slab.columns], dual[slab.rows, slab.columns]
    np.divide(slab.Y, mu, out=slab.X)
    slab.X += slab.V
    slab.X -= slab.E


def reductions(slabs: list[Slab], executor: Executor, form: str) -> list[Floats]:
    """Small matrices that carry the singular values of X, one a block."""
    blocks = [slab.X[:, columns] for slab in slabs for columns in slab.blocks]
    return executor.run(reduction, blocks, slabs[0].tall, form)


def reduction(X: Array, tall: bool, form: str) -> Floats:
    """X X' (n x n), or the triangle R of X' = Q R (see ``form_for``); X' X and so on where ``tall``."""
    X = X if tall else X.T
    if form != "own":
        X = X.astype(np.float64, copy=False)
    if form == "triangle":
        return np.asarray(np.linalg.qr(X, mode="r"))
    return (X.T @ X).astype(np.float64, copy=False)


def sweep(
    slabs: list[Slab],
    executor: Executor,
    M: tuple[Array, ...],
    mu: float,
    mu_next: float,
    sparsity: float,
    beta: float,
    relaxation: float,
    merge: bool,
) -> list[tuple[slice, Floats, float, Floats]]:
    """All of an iteration that comes after the thresholding, on independent slabs: none waits for another's δ.

    Returns for every part its rows, the change of δ, and its share of ‖Ω∘E‖_1 and of the squared norms of
    :func:`ascend`, which says what ``merge`` is.
    """
    if (
        len(slabs[0].runs) > 1
    ):  # a product of few rows with X is slow: all rows of a block of columns, then the runs
        executor.run(lambda block: multiply(slabs[0], M, block), slabs[0].blocks)
        M = ()
    return executor.run(_sweep, parts_of(slabs), M, mu, mu_next, sparsity, beta, relaxation, merge)


def parts_of(slabs: list[Slab]) -> list[tuple[Slab, slice]]:
    """Slabs with the rows of them that are done at a time."""
    return [(slab, rows) for slab in slabs for rows in slab.runs]


def _sweep(
    part: tuple[Slab, slice],
    M: tuple[Array, ...],
    mu: float,
    mu_next: float,
    sparsity: float,
    beta: float,
    relaxation: float,
    merge: bool,
) -> tuple[slice, Floats, float, Floats]:
    """Some rows of a slab, and their A = M X unless that is done: M is empty then."""
    from rankfold.admm.kernels import sweep

    slab, rows = part
    if M:
        multiply(slab, M)
    X, A, E, Y, Q, V = (array[rows] for array in (slab.X, slab.A, slab.E, slab.Y, slab.Q, slab.V))
    W, P = (array[rows] if array.size else array for array in (slab.W, slab.P))
    change, norms = np.empty(Q.shape[:2]), np.empty(3)
    l1 = sweep(
        X, A, E, Y, W, P, Q, V, sparsity / mu, beta, relaxation, mu, mu_next, merge, change, norms
    )
    return (slab.rows if rows == ALL else rows), change, l1, norms


def multiply(slab: Slab, M: tuple[Array, ...], block: slice = ALL) -> None:
    """A = M X, of some columns where they are the long axis. M is one symmetric matrix or its two thin factors."""
    if slab.tall:
        np.matmul(reduce(np.matmul, M[:-1], slab.X), M[-1], out=slab.A)
    else:
        inner = slab.X[:, block] if len(M) == 1 else M[1] @ slab.X[:, block]
        np.matmul(M[0], inner, out=slab.A[:, block])


def shrink(
    slab: Slab, M: tuple[Array, ...], mu: float, sparsity: float, beta: float, relaxation: float
) -> tuple[Floats, float]:
    """A = M X; E = S_{λΩ/μ}[V - A + Y/μ]. Returns this slab's part of Q'(...) and of ‖Ω∘E‖_1.

    On return Y holds what the threshold cut off, C = V - A - E + Y/μ: the old Y is not needed any more.
    """
    from rankfold.admm.kernels import soft_threshold

    multiply(slab, M)
    arrays = (slab.X, slab.A, slab.E, slab.Y, slab.W, slab.P, slab.Q)
    products = np.empty(slab.Q.shape[:2])
    l1 = soft_threshold(*arrays, sparsity / mu, beta, relaxation, mu, products)
    return products, l1


def ascend(
    part: tuple[Slab, slice], change: Floats, mu: float, mu_next: float, beta: float, merge: bool
) -> Floats:
    """V += J Δδ; Z = V - A - E; Y += μ Z; X = V - E + Y/μ⁺ for some rows of a slab. Returns three squared norms.

    They are those of Z, of the dual residual μ (JΔδ - ΔE) and of Y. With ``merge`` X also gets its Φ, if there is one:
    without, :func:`clone` does that once the next Φ is known.
    """
    from rankfold.admm.kernels import multiplier_step

    slab, rows = part
    norms = np.empty(3)
    V, Q, A, E, Y, X = (array[rows] for array in (slab.V, slab.Q, slab.A, slab.E, slab.Y, slab.X))
    P = slab.P[rows] if slab.P.size else slab.P
    multiplier_step(V, Q, A, E, Y, X, P, change[slab.rows][rows], mu, mu_next, beta, merge, norms)
    return norms


def clone(part: tuple[Slab, slice], beta: float) -> None:
    """X becomes (X + βΦ)/(1 + β) for some rows of a slab."""
    from rankfold.admm.kernels import merge_clone

    slab, rows = part
    merge_clone(slab.X[rows], slab.P[rows], beta)


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
        if len(slabs) == 1 and not np.may_share_memory(phi, slab.A):
            slab.P = np.ascontiguousarray(phi)
        elif slab.P.shape == slab.V.shape:
            slab.P[...] = phi[slab.rows, slab.columns]
        else:
            slab.P = phi[slab.rows, slab.columns].copy()
