"""How a problem is cut: slabs of the long axis, and smaller pieces of a slab to share out.

Every array is cut along its longer axis (pixels, as a rule) into slabs whose size depends on the
problem alone, never on the number of threads. Whatever a pass over the slabs returns is small and
is summed in slab order, so the result has the same bits for every executor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm.problem import Problem
from rankfold.scale import MEMORY, Store

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
    room: Array  # what holds all of the following but P
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
    def whole(self) -> list[slice]:
        """The slab in one piece."""
        return [ALL]

    @property
    def independent(self) -> bool:
        """Whether δ, if there is one, needs no other slab."""
        return self.columns == ALL or self.Q.shape[1] == 0


def cut(problem: Problem, store: Store = MEMORY) -> list[Slab]:
    """Copy a problem into slabs of a store; all arrays but V = D start at zero."""
    n, m = problem.data.shape
    whole = (ALL, ALL)
    places = places_of(n, m)
    slabs = copy_slabs(problem, places, store)
    if places == [whole]:
        slabs[0].blocks = pieces(m, slab_length(n, m))
        if n * m > SLAB_VALUES:
            slabs[0].runs = pieces(n, -(-n // RUNS))
    return slabs


def places_of(n: int, m: int) -> list[tuple[slice, slice]]:
    """Rows and columns of the slabs of an n x m problem."""
    if n > m:
        return [(rows, ALL) for rows in pieces(n, slab_length(n, m))]
    if n * m > WHOLE_VALUES:
        return [(ALL, columns) for columns in pieces(m, slab_length(n, m))]
    return [(ALL, ALL)]


def slab_length(n: int, m: int) -> int:
    """How long a slab, or a block of a slab, is along the longer axis."""
    short = min(n, m)
    # A product returns a matrix of the size of the short axis. A slab that were not longer than
    # twice that would spend its time on writing it.
    return max(SLAB_MIN, 2 * short, SLAB_VALUES // short)


def pieces(size: int, length: int) -> list[slice]:
    """Cut an axis into pieces of a length, the last one shorter."""
    return [slice(start, min(start + length, size)) for start in range(0, size, length)]


def copy_slabs(
    problem: Problem, places: Sequence[tuple[slice, slice]], store: Store = MEMORY
) -> list[Slab]:
    """Copy pieces of a problem, each given by its rows and its columns."""
    data = problem.data
    # V, X, A, E and Y, then W and Q if there are any.
    arrays = 5 + (problem.weights is not None) + problem.size
    shapes = [(arrays, *data[place].shape) for place in places]
    rooms = store.pieces(shapes, data.dtype)
    slabs = []
    for place, room in zip(places, rooms, strict=True):
        slabs.append(_copy_slab(problem, *place, room))
        store.done(data, room)
    return slabs


def _copy_slab(problem: Problem, rows: slice, columns: slice, room: Array) -> Slab:
    """Copy one piece of a problem into room for its arrays, which are zero."""
    V, X, A, E, Y = room[:5]
    V[...] = problem.data[rows, columns]
    rest = room[5:]
    W = np.ones((0, 0), room.dtype)
    if problem.weights is not None:
        W = rest[0]
        W[...] = problem.weights[rows, columns]
        rest = rest[1:]
    # The same memory in another order: p x rows x columns becomes rows x p x columns.
    Q = rest.reshape(V.shape[0], len(rest), V.shape[1])
    if problem.basis is not None:
        Q[...] = problem.basis[rows, :, columns]
    P = np.empty((0, 0), room.dtype)
    return Slab(rows, columns, room, V, Q, W, X, A, E, Y, P, runs=[ALL], blocks=[ALL])
