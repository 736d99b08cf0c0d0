"""How a problem is cut: slabs of the long axis, and smaller pieces of a slab to share out.

Every array is cut along its longer axis (pixels, as a rule) into slabs whose size depends on the
problem alone, never on the number of threads. Whatever a pass over the slabs returns is small and
is summed in slab order, so the result has the same bits for every executor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm.problem import Problem

Array = npt.NDArray[Any]

# Values of one array in a slab: a megabyte, so that a few of them stay in cache.
SLAB_VALUES = 2**17
# The shortest slab, for the efficiency of the matrix products.
SLAB_MIN = 128
# Values of one array up to which a problem is one slab.
WHOLE_VALUES = 2**21
# Runs of rows in which such a problem is swept.
RUNS = 4

ALL = slice(None)


@dataclass
class Slab:
    """One piece of every array. Only the passes of :class:`rankfold.admm.slabs.Slabs` write to it.

    An array that is not there has no values: Q without transforms, W where all pixels are valid,
    P before the first projection.
    """

    rows: slice
    columns: slice
    V: Array  # V_m = D + Qδ; D at the start
    Q: Array  # rows x p x columns
    W: Array  # Ω
    X: Array  # argument of the singular value thresholding
    A: Array
    E: Array
    Y: Array
    P: Array  # Φ
    # Rows that are swept at a time, and columns that are multiplied at a time.
    runs: list[slice]
    blocks: list[slice]

    @property
    def independent(self) -> bool:
        """Whether δ, if there is one, needs no other slab."""
        return self.columns == ALL or self.Q.shape[1] == 0


def cut(problem: Problem) -> list[Slab]:
    """Copy a problem into slabs; all arrays but V = D start at zero."""
    n, m = problem.data.shape
    short = min(n, m)
    # A product returns a matrix of the size of the short axis. A slab that were not longer than
    # twice that would spend its time on writing it.
    length = max(SLAB_MIN, 2 * short, SLAB_VALUES // short)
    if n > m:
        return [copy_slab(problem, rows, ALL) for rows in pieces(n, length)]
    if n * m > WHOLE_VALUES:
        return [copy_slab(problem, ALL, columns) for columns in pieces(m, length)]
    slab = copy_slab(problem, ALL, ALL)
    slab.blocks = pieces(m, length)
    if n * m > SLAB_VALUES:
        slab.runs = pieces(n, -(-n // RUNS))
    return [slab]


def pieces(size: int, length: int) -> list[slice]:
    """Cut an axis into pieces of a length, the last one shorter."""
    return [slice(start, min(start + length, size)) for start in range(0, size, length)]


def copy_slab(problem: Problem, rows: slice, columns: slice) -> Slab:
    """Copy one piece of a problem."""
    D = problem.data[rows, columns]
    Q = np.zeros((len(D), 0, D.shape[1]), D.dtype)
    if problem.basis is not None:
        Q = np.ascontiguousarray(problem.basis[rows, :, columns], dtype=D.dtype)
    W = np.ones((0, 0), D.dtype)
    if problem.weights is not None:
        W = np.ascontiguousarray(problem.weights[rows, columns], dtype=D.dtype)
    # All in one piece of memory: large pieces come in large pages, and to touch a new page for
    # the first time takes as long as to fill it.
    V, X, A, E, Y = np.zeros((5, *D.shape), D.dtype)
    V[...] = D
    P = np.empty((0, 0), D.dtype)
    return Slab(rows, columns, V, Q, W, X, A, E, Y, P, runs=[ALL], blocks=[ALL])
