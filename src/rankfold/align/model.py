"""How well a picture fits the others: bases that are made without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.basis import LEAST_SINGLE_SCALE, Basis, ordinary_residual
from rankfold.align.settings import BasisSettings
from rankfold.scale import Executor, Serial, shared_out

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int_]

# Pictures of a fold that are fitted at a time, so that their pixels stay in cache.
GROUP = 8


@dataclass(frozen=True)
class Model:
    """For every picture a basis (r, m) of the others, and the scale c of an ordinary residual."""

    bases: tuple[Floats, ...]  # one a fold, orthonormal rows
    fold: Ints  # (n,) which of them is picture i's
    scale: float
    rounds: int = BasisSettings.rounds  # of a reweighted fit

    def others(self, index: int, dtype: npt.DTypeLike = np.float64) -> Basis:
        """The basis that picture ``index`` is fitted to, in the precision that is needed."""
        rows = self.bases[self.fold[index]].astype(dtype, copy=False)
        return Basis.of(rows, self.scale, self.rounds)

    def shared(self) -> list[Ints]:
        """Pictures in groups of a few that are fitted to the same basis."""
        groups = [np.flatnonzero(self.fold == k) for k in range(len(self.bases))]
        return [group[k : k + GROUP] for group in groups for k in range(0, len(group), GROUP)]

    def for_groups(self, function: Callable[[Ints], Floats], executor: Executor) -> Floats:
        """A value (n,) for every picture from a function that does a group of them at a time."""
        found = np.empty(len(self.fold))
        groups = self.shared()
        run = shared_out(executor, len(groups[0]) * self.bases[0].shape[1]).run
        for group, values in zip(groups, run(function, groups), strict=True):
            found[group] = values
        return found


def fit_model(
    data: Array,
    low_rank: Array,
    valid: Bools,
    numbers: BasisSettings,
    good: Bools | None = None,
    rank: int | None = None,
    executor: Executor | None = None,
) -> Model:
    """Leave-one-out bases from the low-rank rows (n, m), and the scale from the data (n, m).

    Only ``good`` (n,) pictures go into the bases. The ``rank`` follows from n unless given.
    """
    n = len(data)
    executor = executor or Serial()
    counted = np.ones(n, dtype=bool) if good is None else good
    if rank is None:
        wanted = n // numbers.pictures_a_dimension
        rank = int(np.clip(wanted, numbers.min_rank, numbers.max_rank))
    folds = min(n, numbers.folds)
    fold = np.arange(n) % folds
    # A fold's basis is made from the pictures of all other folds.
    groups = [np.flatnonzero((fold != k) & counted) for k in range(folds)]
    bases = _bases(low_rank.astype(np.float64, copy=False), groups, min(rank, n - 1), executor)

    def residual(i: int) -> Floats:
        basis = bases[fold[i]]
        rest = data[i] - (data[i] @ basis.T) @ basis
        return np.asarray(np.abs(rest)[valid[i]], dtype=np.float64)

    pooled = np.concatenate(shared_out(executor, data.shape[1]).run(residual, range(n)))
    # Pictures that are alike to the last bit leave nothing.
    scale = max(ordinary_residual(pooled), LEAST_SINGLE_SCALE)
    return Model(bases, fold, scale, numbers.rounds)


def _bases(A: Floats, groups: list[Ints], rank: int, executor: Executor) -> tuple[Floats, ...]:
    """Leading right singular vectors (r, m) of several groups of rows of A, the mean kept in.

    All rows are combinations of the right singular vectors of A = U S V', of which there are few.
    So for each group only the small matrix of its rows of U S is decomposed.
    """
    squares, U = np.linalg.eigh(A @ A.T)
    alive = _alive(squares)
    U = U[:, alive]
    singular = np.sqrt(squares[alive])
    V = (U / singular).T @ A

    def one(group: Ints) -> Floats:
        rows = U[group] * singular
        values, vectors = np.linalg.eigh(rows.T @ rows)
        keep = np.flatnonzero(_alive(values))[::-1][:rank]
        return np.asarray(vectors[:, keep].T @ V)

    return tuple(shared_out(executor, U.size).run(one, groups))


def _alive(values: Floats) -> Bools:
    """Which eigenvalues, ascending, are not zero."""
    largest = values[-1] if len(values) else 0.0
    return np.asarray(values > 1e-12 * max(largest, np.finfo(np.float64).tiny))
