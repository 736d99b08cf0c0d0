"""The one object that knows where the pixels are: layout, storage, and every pass over them.

This is the fast :class:`~rankfold.admm.passes.Storage`. ``reference.py`` is the plain one, and says
in a few lines what each pass computes; read it first.

Where the rows of a slab are whole (a small problem is one slab; slabs may be cut along the images)
or no image moves, the change of δ is known as soon as a row is thresholded. Then
:meth:`Slabs.shrink` also does what :meth:`Slabs.ascend` would do, in one sweep over a row while it
is in cache.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm.bands import bands_of
from rankfold.admm.certificate import Certificate
from rankfold.admm.held import Held, Holder, Part
from rankfold.admm.layout import ALL, Slab
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
from rankfold.scale import Executor

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


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
        self._tall = n > m
        self._held: Holder = bands_of(problem, executor) or Held(problem, executor)
        forms = self._held.run(_form, "whole")
        self._several = len(forms) > 1
        # Where rows are whole, or nothing moves, the change of δ needs no other slab.
        self._fused = all(independent for independent, _ in forms)
        self._in_runs = any(runs > 1 for _, runs in forms)
        # The norms that a fused sweep has found and `ascend` has not yet reported.
        self._norms: list[Floats] = []

    # -- where to begin ---------------------------------------------------------------------------

    def measure(self) -> tuple[float, float]:
        """Return σ_1 and the largest magnitude of the data."""
        # X is free until `start` fills it, so it can hold D meanwhile.
        peak = max(self._held.run(_copy_data, "whole"))
        largest = largest_singular_value(self._gram("own"))
        return largest, peak

    def start(self, divisor: float, mu: float) -> None:
        """Y = D / divisor, E = 0, δ = 0; X = D + Y/μ."""
        self._held.run(_start, "whole", divisor, mu)

    def resume(self, near: Solution, mu: float) -> None:
        """E and Y as in a solution of a similar problem, δ = 0; X = D - E + Y/μ."""
        assert near.sparse is not None
        assert near.dual is not None
        self._held.load("E", near.sparse)
        self._held.load("Y", near.dual)
        self._held.run(_resume, "whole", mu)

    # -- one iteration ----------------------------------------------------------------------------

    def threshold(self, wanted: Wanted) -> Thresholding:
        """A = SVT(X) = M X. The pixels of A follow in :meth:`shrink`; M is what is returned."""
        if wanted.form == "triangle":
            return threshold_triangles(self._triangles(), wanted)
        return threshold_gram(self._gram(wanted.form), wanted)

    def certify(self, A: Thresholding, mu: float, sparsity: float) -> Certificate:
        """What the X that made A proves: the subgradient μ(X - A), clipped and scaled."""
        M = self._factors(A)
        if self._several:
            sums, gram = self._held.total(_certify, _add_both, M, self._tall, mu, sparsity)
        else:
            parts = self._held.run(_certify, "blocks", M, self._tall, mu, sparsity)
            sums, gram = reduce(_add_both, parts)
        return Certificate(float(sums[0]), float(sums[1]), largest_singular_value(gram))

    def shrink(self, A: Thresholding, scalars: Pass) -> Shrunk:
        """E = S_{λΩ/μ}[V - A + Y/μ], V = D + Qδ."""
        M = self._factors(A)
        if self._fused:
            return self._sweep(M, scalars)
        parts = self._held.run(_shrink, "whole", M, scalars)
        products = [(rows, product) for rows, product, _ in parts]
        return Shrunk(self._add_up(products), sum(l1 for _, _, l1 in parts))

    def ascend(self, change: Floats, scalars: Pass) -> tuple[float, float, float]:
        """V += Q change; Y += μ(V - A - E); X = V - E + Y/μ_next, merged with Φ if there is one.

        Returns the norms of V - A - E, of the dual residual Y - μ(X - A), and of Y.
        """
        if not self._fused:
            self._norms = self._held.run(_ascend, "runs", change, scalars)
        primal, dual, size = np.sqrt(reduce(np.add, self._norms))
        self._norms = []
        return float(primal), float(dual), float(size)

    def project(self, projector: AnyProjector, A: Thresholding, beta: float) -> None:
        """Φ = projection of A; X becomes (X + βΦ)/(1 + β)."""
        self._held.project(projector, None if self._tall else A.gram())
        self._held.run(_merge, "runs", beta)

    # -- at the end -------------------------------------------------------------------------------

    def result(self, name: str) -> Array:
        """A, E or Y, n x m."""
        return self._held.gather(name)

    def close(self) -> None:
        """Let go of the pixels, where they are on other machines."""
        self._held.close()

    # -- pieces -----------------------------------------------------------------------------------

    def _factors(self, A: Thresholding) -> tuple[Array, ...]:
        """Matrices whose product is M, which A = M X."""
        M = A.factors(self._problem.data.dtype)
        if not self._several:
            return M
        # Several slabs may be on other machines. The last bits of a product depend on the order
        # of its factors in memory, and only this one is kept when they are sent.
        return tuple(np.ascontiguousarray(factor) for factor in M)

    def _gram(self, form: str) -> Floats:
        """X X', or X' X if tall."""
        if self._several:
            return self._held.total(_reduce, np.add, self._tall, form)
        return reduce(np.add, self._held.run(_reduce, "blocks", self._tall, form))

    def _triangles(self) -> list[Floats]:
        """Triangles that carry the singular values of X: one of all slabs, or one a block."""
        if self._several:
            return [self._held.total(_reduce, _one_triangle, self._tall, "triangle")]
        return self._held.run(_reduce, "blocks", self._tall, "triangle")

    def _sweep(self, M: tuple[Array, ...], scalars: Pass) -> Shrunk:
        """Everything of an iteration that comes after the thresholding, row by row."""
        if self._in_runs:
            # A product of few rows with X is slow: first all rows of a block of columns are
            # multiplied, then the rows are swept in runs.
            self._held.run(_multiply_block, "blocks", M)
            M = ()
        ends = self._held.run(_sweep, "runs", M, self._tall, scalars)
        self._norms = [norms for _, _, _, norms in ends]
        products = self._add_up([(rows, product) for rows, product, _, _ in ends])
        return Shrunk(products, sum(l1 for _, _, l1, _ in ends))

    def _add_up(self, parts: list[tuple[slice, Floats]]) -> Floats:
        """Sum of parts (rows x p) in the order in which they come."""
        total = np.zeros((len(self._problem.data), self._problem.size))
        for rows, part in parts:
            total[rows] += part
        return total


# -- what is done to one slab ---------------------------------------------------------------------


def _form(part: Part) -> tuple[bool, int]:
    """Whether δ needs no other slab, and in how many runs the rows are swept."""
    slab, _ = part
    return slab.independent, len(slab.runs)


def _copy_data(part: Part) -> float:
    """X = D; returns the largest magnitude."""
    slab, _ = part
    slab.X[...] = slab.V
    return float(np.abs(slab.V).max())


def _start(part: Part, divisor: float, mu: float) -> None:
    """Y = D / divisor; X = D + Y/μ."""
    slab, _ = part
    np.divide(slab.V, divisor, out=slab.Y)
    np.divide(slab.Y, mu, out=slab.X)
    slab.X += slab.V


def _resume(part: Part, mu: float) -> None:
    """X = D - E + Y/μ."""
    slab, _ = part
    np.divide(slab.Y, mu, out=slab.X)
    slab.X += slab.V
    slab.X -= slab.E


def _reduce(part: Part, tall: bool, form: str) -> Floats:
    """What carries the singular values of some columns of X."""
    slab, block = part
    return _reduction(slab.X[:, block], tall, form)


def _one_triangle(one: Floats, other: Floats) -> Floats:
    """The triangle of two slabs from those of each."""
    return np.asarray(np.linalg.qr(np.concatenate([one, other]), mode="r"))


def _add_both(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The sums, and the matrices, of two parts of a certificate."""
    return one[0] + other[0], one[1] + other[1]


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


def _multiply_block(part: Part, M: tuple[Array, ...]) -> None:
    """A = M X on some columns."""
    slab, block = part
    _multiply(slab, M, False, block)


def _certify(
    part: Part, M: tuple[Array, ...], tall: bool, mu: float, sparsity: float
) -> tuple[Floats, Floats]:
    """Columns of A and of Y = clip(μ(X - A)); returns ‖Ω∘(D - A)‖_1 and <Y, D>, and Y Y'.

    In double precision, whatever the data have: what is proved should not depend on it.
    """
    slab, block = part
    _multiply(slab, M, tall, block)
    X, A, D = (array[:, block].astype(np.float64) for array in (slab.X, slab.A, slab.V))
    # What is missing may be anything in E at no cost, so Y has to be zero there.
    W = slab.W[:, block].astype(np.float64) if slab.W.size else np.ones(1)
    limit = sparsity * W
    Y = np.clip(mu * (X - A), -limit, limit)
    l1 = (W * np.abs(D - A)).sum()
    return np.array([l1, np.vdot(Y, D)]), _reduction(Y, tall, "double")


def _shrink(part: Part, M: tuple[Array, ...], scalars: Pass) -> tuple[slice, Floats, float]:
    """A = M X; E = S_{λΩ/μ}[V - A + Y/μ]. Returns rows, their part of Q'(...), and of ‖Ω∘E‖_1.

    On return Y holds what the threshold cut off, V - A - E + Y/μ: its old value is not needed.
    """
    from rankfold.admm.kernels import soft_threshold

    slab, _ = part
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
    return slab.rows, products, l1


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
