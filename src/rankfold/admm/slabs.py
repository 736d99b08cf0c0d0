"""The one object that knows where the pixels are: layout, storage, and every pass over them.

This is the fast :class:`~rankfold.admm.passes.Storage`. ``reference.py`` is the plain one, and says
in a few lines what each pass computes; read it first.

Where the rows of a slab are whole (a small problem is one slab; slabs may be cut along the images)
or no image moves, the change of δ is known as soon as a row is thresholded. Then
:meth:`Slabs.shrink` also does what :meth:`Slabs.ascend` would do, in one sweep over a row while it
is in cache.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm.blocks import project_onto
from rankfold.admm.certificate import Certificate
from rankfold.admm.layout import ALL, SLAB_VALUES, Slab, cut
from rankfold.admm.passes import Pass, Shrunk
from rankfold.admm.problem import Problem, Solution
from rankfold.admm.proximal import (
    Thresholding,
    Wanted,
    largest_singular_value,
    threshold_gram,
    threshold_triangles,
)
from rankfold.manifold import AnyProjector
from rankfold.scale import Executor, Serial

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Part = tuple[Slab, slice]  # a slab and the rows, or the columns, of it that are done at a time


class Slabs:
    """A problem in memory, cut along its longer axis and worked on by an executor.

    Parameters
    ----------
    problem : Problem
    executor : Executor
        Who runs the slabs; the bits do not depend on it.
    """

    def __init__(self, problem: Problem, executor: Executor) -> None:
        n, m = problem.data.shape
        self._problem = problem
        self._executor = executor
        self._tall = n > m
        self._slabs = cut(problem)
        self._parts = [(slab, rows) for slab in self._slabs for rows in slab.runs]
        self._fused = all(slab.independent for slab in self._slabs)
        # The norms that a fused sweep has found and `ascend` has not yet reported.
        self._norms: list[Floats] = []

    # -- where to begin ---------------------------------------------------------------------------

    def measure(self) -> tuple[float, float]:
        """Return σ_1 and the largest magnitude of the data."""
        # X is free until `start` fills it, so it can hold D meanwhile.
        for slab in self._slabs:
            slab.X[...] = slab.V
        largest = largest_singular_value(reduce(np.add, self._reductions("own")))
        peak = max(float(np.abs(slab.V).max()) for slab in self._slabs)
        return largest, peak

    def start(self, divisor: float, mu: float) -> None:
        """Y = D / divisor, E = 0, δ = 0; X = D + Y/μ."""
        self._executor.run(_start, self._slabs, divisor, mu)

    def resume(self, near: Solution, mu: float) -> None:
        """E and Y as in a solution of a similar problem, δ = 0; X = D - E + Y/μ."""
        self._executor.run(_resume, self._slabs, near.sparse, near.dual, mu)

    # -- one iteration ----------------------------------------------------------------------------

    def threshold(self, wanted: Wanted) -> Thresholding:
        """A = SVT(X) = M X. The pixels of A follow in :meth:`shrink`; M is what is returned."""
        reductions = self._reductions(wanted.form)
        if wanted.form == "triangle":
            return threshold_triangles(reductions, wanted)
        return threshold_gram(reduce(np.add, reductions), wanted)

    def certify(self, A: Thresholding, mu: float, sparsity: float) -> Certificate:
        """What the X that made A proves: the subgradient μ(X - A), clipped and scaled."""
        M = A.factors(self._problem.data.dtype)
        pieces = [(slab, block) for slab in self._slabs for block in slab.blocks]
        parts = self._executor.run(_certify, pieces, M, self._tall, mu, sparsity)
        l1, product = reduce(np.add, [sums for sums, _ in parts])
        norm = largest_singular_value(reduce(np.add, [gram for _, gram in parts]))
        return Certificate(float(l1), float(product), norm)

    def shrink(self, A: Thresholding, scalars: Pass) -> Shrunk:
        """E = S_{λΩ/μ}[V - A + Y/μ], V = D + Qδ."""
        M = A.factors(self._problem.data.dtype)
        if self._fused:
            return self._sweep(M, scalars)
        parts = self._executor.run(_shrink, self._slabs, M, scalars)
        products = [
            (slab.rows, product) for slab, (product, _) in zip(self._slabs, parts, strict=True)
        ]
        return Shrunk(self._add_up(products), sum(l1 for _, l1 in parts))

    def ascend(self, change: Floats, scalars: Pass) -> tuple[float, float, float]:
        """V += Q change; Y += μ(V - A - E); X = V - E + Y/μ_next, merged with Φ if there is one.

        Returns the norms of V - A - E, of the dual residual Y - μ(X - A), and of Y.
        """
        if not self._fused:
            self._norms = self._executor.run(_ascend, self._parts, change, scalars)
        primal, dual, size = np.sqrt(reduce(np.add, self._norms))
        self._norms = []
        return float(primal), float(dual), float(size)

    def project(self, projector: AnyProjector, A: Thresholding, beta: float) -> None:
        """Φ = projection of A; X becomes (X + βΦ)/(1 + β)."""
        # To wake a thread takes longer than a small problem saves by it.
        small = self._problem.data.size <= SLAB_VALUES
        executor = Serial() if small else self._executor
        gram = None if self._tall else A.gram()
        project_onto(projector, self._problem, self._slabs, gram, executor)
        self._executor.run(_merge, self._parts, beta)

    # -- at the end -------------------------------------------------------------------------------

    def results(self) -> tuple[Array, Array, Array]:
        """A, E and Y, n x m each."""
        whole = [self._gather(getattr(slab, name) for slab in self._slabs) for name in "AEY"]
        return whole[0], whole[1], whole[2]

    # -- pieces -----------------------------------------------------------------------------------

    def _reductions(self, form: str) -> list[Floats]:
        """Small matrices that carry the singular values of X, one a block."""
        blocks = [slab.X[:, columns] for slab in self._slabs for columns in slab.blocks]
        return self._executor.run(_reduction, blocks, self._tall, form)

    def _sweep(self, M: tuple[Array, ...], scalars: Pass) -> Shrunk:
        """Everything of an iteration that comes after the thresholding, row by row."""
        first = self._slabs[0]
        if len(first.runs) > 1:
            # A product of few rows with X is slow: first all rows of a block of columns are
            # multiplied, then the rows are swept in runs.
            self._executor.run(lambda block: _multiply(first, M, False, block), first.blocks)
            M = ()
        ends = self._executor.run(_sweep, self._parts, M, self._tall, scalars)
        self._norms = [norms for _, _, _, norms in ends]
        products = self._add_up([(rows, product) for rows, product, _, _ in ends])
        return Shrunk(products, sum(l1 for _, _, l1, _ in ends))

    def _add_up(self, parts: list[tuple[slice, Floats]]) -> Floats:
        """Sum of parts (rows x p) in the order in which they come."""
        total = np.zeros((len(self._problem.data), self._problem.size))
        for rows, part in parts:
            total[rows] += part
        return total

    def _gather(self, arrays: Iterable[Array]) -> Array:
        """Put the pieces of one array together; a single piece is returned as it is."""
        if len(self._slabs) == 1:
            return next(iter(arrays))
        whole = np.empty(self._problem.data.shape, self._problem.data.dtype)
        for slab, piece in zip(self._slabs, arrays, strict=True):
            whole[slab.rows, slab.columns] = piece
        return whole


# -- what is done to one slab ---------------------------------------------------------------------


def _start(slab: Slab, divisor: float, mu: float) -> None:
    """Y = D / divisor; X = D + Y/μ."""
    np.divide(slab.V, divisor, out=slab.Y)
    np.divide(slab.Y, mu, out=slab.X)
    slab.X += slab.V


def _resume(slab: Slab, sparse: Array, dual: Array, mu: float) -> None:
    """E and Y as given; X = D - E + Y/μ."""
    slab.E[...] = sparse[slab.rows, slab.columns]
    slab.Y[...] = dual[slab.rows, slab.columns]
    np.divide(slab.Y, mu, out=slab.X)
    slab.X += slab.V
    slab.X -= slab.E


def _reduction(X: Array, tall: bool, form: str) -> Floats:
    """X X' (n x n), or the triangle R of X' = Q R (see ``form_for``); X' X and so on if tall."""
    long_axis_first = X if tall else X.T
    if form != "own":
        long_axis_first = long_axis_first.astype(np.float64, copy=False)
    if form == "triangle":
        return np.asarray(np.linalg.qr(long_axis_first, mode="r"))
    return (long_axis_first.T @ long_axis_first).astype(np.float64, copy=False)


def _multiply(slab: Slab, M: tuple[Array, ...], tall: bool, block: slice = ALL) -> None:
    """A = M X, where M is one symmetric matrix or its two thin factors; A = X M if tall."""
    if tall:
        np.matmul(reduce(np.matmul, M[:-1], slab.X), M[-1], out=slab.A)
        return
    X = slab.X[:, block]
    inner = X if len(M) == 1 else M[1] @ X
    np.matmul(M[0], inner, out=slab.A[:, block])


def _certify(
    piece: Part, M: tuple[Array, ...], tall: bool, mu: float, sparsity: float
) -> tuple[Floats, Floats]:
    """Columns of A and of Y = clip(μ(X - A)); returns ‖Ω∘(D - A)‖_1 and <Y, D>, and Y Y'.

    In double precision, whatever the data have: what is proved should not depend on it.
    """
    slab, block = piece
    _multiply(slab, M, tall, block)
    X, A, D = (array[:, block].astype(np.float64) for array in (slab.X, slab.A, slab.V))
    # What is missing may be anything in E at no cost, so Y has to be zero there.
    W = slab.W[:, block].astype(np.float64) if slab.W.size else np.ones(1)
    limit = sparsity * W
    Y = np.clip(mu * (X - A), -limit, limit)
    l1 = (W * np.abs(D - A)).sum()
    return np.array([l1, np.vdot(Y, D)]), _reduction(Y, tall, "double")


def _shrink(slab: Slab, M: tuple[Array, ...], scalars: Pass) -> tuple[Floats, float]:
    """A = M X; E = S_{λΩ/μ}[V - A + Y/μ]. Returns the slab's part of Q'(...) and of ‖Ω∘E‖_1.

    On return Y holds what the threshold cut off, V - A - E + Y/μ: its old value is not needed.
    """
    from rankfold.admm.kernels import soft_threshold

    _multiply(slab, M, tall=False)
    products = np.empty(slab.Q.shape[:2])
    l1 = soft_threshold(
        slab.X,
        slab.A,
        slab.E,
        slab.Y,
        slab.W,
        slab.P,
        slab.Q,
        scalars.sparsity / scalars.mu,
        scalars.beta,
        scalars.relaxation,
        scalars.mu,
        products,
    )
    return products, l1


def _ascend(part: Part, change: Floats, scalars: Pass) -> Floats:
    """V += Q change; Y += μ(V - A - E); the next X. Returns three squared norms."""
    from rankfold.admm.kernels import multiplier_step

    slab, rows = part
    norms = np.empty(3)
    multiplier_step(
        slab.V[rows],
        slab.Q[rows],
        slab.A[rows],
        slab.E[rows],
        slab.Y[rows],
        slab.X[rows],
        _some(slab.P, rows),
        change[slab.rows][rows],
        scalars.mu,
        scalars.mu_next,
        scalars.beta,
        scalars.merge,
        norms,
    )
    return norms


def _sweep(
    part: Part, M: tuple[Array, ...], tall: bool, scalars: Pass
) -> tuple[slice, Floats, float, Floats]:
    """Shrink and ascend some rows, and multiply them first unless that is done (M is empty).

    Returns which rows of the problem these are, their products Q'(...), and their share of
    ‖Ω∘E‖_1 and of the squared norms.
    """
    from rankfold.admm.kernels import sweep

    slab, rows = part
    if M:
        _multiply(slab, M, tall)
    change = np.empty(slab.Q[rows].shape[:2])
    norms = np.empty(3)
    l1 = sweep(
        slab.X[rows],
        slab.A[rows],
        slab.E[rows],
        slab.Y[rows],
        _some(slab.W, rows),
        _some(slab.P, rows),
        slab.Q[rows],
        slab.V[rows],
        scalars.sparsity / scalars.mu,
        scalars.beta,
        scalars.relaxation,
        scalars.mu,
        scalars.mu_next,
        scalars.merge,
        change,
        norms,
    )
    # Only a slab of whole rows is swept in runs, and its rows are those of the problem.
    where = slab.rows if rows == ALL else rows
    return where, -change, l1, norms


def _merge(part: Part, beta: float) -> None:
    """X becomes (X + βΦ)/(1 + β)."""
    from rankfold.admm.kernels import merge_clone

    slab, rows = part
    merge_clone(slab.X[rows], slab.P[rows], beta)


def _some(array: Array, rows: slice) -> Array:
    """Rows of an array, or the array itself where it is the empty one that stands for none."""
    return array[rows] if array.size else array
