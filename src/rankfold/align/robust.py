"""How well a picture fits the others: a robust fit to a basis that was made without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.executors import Executor, Serial, shared_out

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

FOLDS = 40  # at most so many bases are made; with more pictures a few are left out together
ROUNDS = 6  # of the reweighted fit
FEW = 4  # rows below which a fit does not use products of pairs
GROUP = 8  # pictures of a fold that are fitted at a time


@dataclass(frozen=True)
class Model:
    """For every picture a basis (r, m) of the others, and the scale c of an ordinary residual."""

    bases: tuple[Floats, ...]  # one a fold, orthonormal rows
    fold: npt.NDArray[np.int_]  # (n,) which of them is picture i's
    scale: float

    def others(self, index: int, dtype: npt.DTypeLike = np.float64) -> Basis:
        """The basis that picture ``index`` is fitted to, in single precision where no more is needed."""
        return Basis.of(self.bases[self.fold[index]].astype(dtype, copy=False), self.scale)

    def shared(self) -> list[npt.NDArray[np.int_]]:
        """Pictures in groups that are fitted to the same basis, not too many in one: their pixels are kept together."""
        groups = [np.flatnonzero(self.fold == k) for k in range(len(self.bases))]
        return [group[k : k + GROUP] for group in groups for k in range(0, len(group), GROUP)]

    def for_groups(
        self, function: Callable[[npt.NDArray[np.int_]], Floats], executor: Executor
    ) -> Floats:
        """A value (n,) for every picture from a function that does a group of them at a time."""
        found, groups = np.empty(len(self.fold)), self.shared()
        run = shared_out(executor, len(groups[0]) * self.bases[0].shape[1]).run
        for group, values in zip(groups, run(function, groups), strict=True):
            found[group] = values
        return found


@dataclass(frozen=True)
class Basis:
    """A basis B ready for weighted least squares: B diag(w) B' is linear in w, so its coefficients are kept."""

    rows: Array  # B, r x m
    pairs: Array  # r (r + 1) / 2 x m: products of its rows
    scale: float  # c of an ordinary residual

    @classmethod
    def of(cls, rows: Array, scale: float) -> Basis:
        """Multiply all pairs of rows."""
        r, m = rows.shape
        pairs, done = np.empty((r * (r + 1) // 2, m), rows.dtype), 0
        for k in range(r):
            np.multiply(rows[k], rows[k:], out=pairs[done : done + r - k])
            done += r - k
        return cls(rows, pairs, scale)

    def normal(self, weight: Array) -> Floats:
        """B diag(w) B' (k, r, r) for weights (k, m), with a small ridge."""
        r = len(self.rows)
        if len(weight) < FEW:  # the products of all pairs of rows are more to read than they save
            matrices = np.stack(
                [((self.rows * row) @ self.rows.T).astype(np.float64, copy=False) for row in weight]
            )
        else:
            matrices = (weight @ self.pairs.T)[:, pair_of(r)].astype(np.float64, copy=False)
        return matrices + ridge_for(self.rows.dtype) * np.eye(r)

    def residual(
        self,
        rows: Array,
        valid: npt.NDArray[np.bool_],
        rounds: int = ROUNDS,
        scale: float | None = None,
    ) -> Array:
        """Residual (k, m) of rows (k, m) after an iteratively reweighted least-squares fit."""
        rows = rows.astype(self.rows.dtype, copy=False)
        return rows - self._fit(rows, valid, rounds, (self.scale if scale is None else scale) ** 2)

    def cost(self, rows: Array, valid: npt.NDArray[np.bool_]) -> Floats:
        """Geman-McClure cost (k,) in 0..1 of rows (k, m) over their valid pixels."""
        from rankfold.align.kernels import misfit

        rows, square = rows.astype(self.rows.dtype, copy=False), self.scale**2
        fitted = self._fit(rows, valid, ROUNDS, square)
        return np.array([misfit(*one, square) for one in zip(rows, fitted, valid, strict=True)])

    def _fit(self, rows: Array, valid: npt.NDArray[np.bool_], rounds: int, square: float) -> Array:
        """What the basis makes of rows (k, m): the first time by all valid pixels, then by those that fit."""
        from rankfold.align.kernels import reweigh

        weight, weighted, fitted = valid.astype(rows.dtype), rows * valid, np.empty_like(rows)
        whole = bool(valid.all())
        if whole:  # the basis is orthonormal
            np.matmul(rows @ self.rows.T, self.rows, out=fitted)
        for done in range(int(whole), rounds):
            if done:
                reweigh(rows, fitted, valid, square, weight, weighted)
            right = (weighted @ self.rows.T).astype(np.float64, copy=False)
            coefficients = np.linalg.solve(self.normal(weight), right[:, :, None])[:, :, 0]
            np.matmul(coefficients.astype(rows.dtype, copy=False), self.rows, out=fitted)
        return fitted


@cache
def pair_of(r: int) -> npt.NDArray[np.int_]:
    """Which of the products of pairs, in the order in which a Basis has them, is that of rows i and j: (r, r)."""
    places, upper = np.empty((r, r), dtype=int), np.triu_indices(r)
    places[upper] = places.T[upper] = np.arange(len(upper[0]))
    return places


def ridge_for(dtype: npt.DTypeLike) -> float:
    """What is added to a normal matrix of unit diagonal: little, but above the rounding of its sums."""
    return max(1e-9, 10 * float(np.finfo(dtype).eps))


def fit_model(
    data: Array,
    low_rank: Array,
    valid: npt.NDArray[np.bool_],
    good: npt.NDArray[np.bool_] | None = None,
    rank: int | None = None,
    executor: Executor | None = None,
) -> Model:
    """Leave-one-out bases of ``rank`` dimensions from the low-rank rows, and the scale from the data.

    Only ``good`` (n,) pictures go into the bases. The rank is clip(n/5, 3, 12) unless given.
    """
    n = len(data)
    good = np.ones(n, dtype=bool) if good is None else good
    rank = min(int(np.clip(n // 5, 3, 12)) if rank is None else rank, n - 1)
    folds = min(n, FOLDS)
    fold = np.arange(n) % folds
    A = low_rank.astype(np.float64, copy=False)
    executor = executor or Serial()
    bases = _bases(A, [np.flatnonzero((fold != k) & good) for k in range(folds)], rank, executor)

    def residual(i: int) -> Floats:
        basis = bases[fold[i]]
        return np.asarray(np.abs(data[i] - (data[i] @ basis.T) @ basis)[valid[i]], dtype=np.float64)

    pooled = np.concatenate(shared_out(executor, data.shape[1]).run(residual, range(n)))
    scale = max(2 * 1.4826 * float(np.median(pooled)), float(np.sqrt((pooled**2).mean())))
    return Model(bases, fold, max(scale, float(np.finfo(np.float64).tiny)))


def _bases(
    A: Floats, groups: list[npt.NDArray[np.int_]], rank: int, executor: Executor
) -> tuple[Floats, ...]:
    """Leading right singular vectors (r, m) of some rows of A, the mean kept in, for several groups of rows.

    All rows are combinations of the right singular vectors of A, of which there are few: A = U S V'. So for each group
    only the small matrix of its rows of U S is decomposed.
    """
    squares, U = np.linalg.eigh(A @ A.T)
    U, singular = U[:, alive := _alive(squares)], np.sqrt(squares[alive])
    V = (U / singular).T @ A

    def one(group: npt.NDArray[np.int_]) -> Floats:
        rows = U[group] * singular
        values, vectors = np.linalg.eigh(rows.T @ rows)
        keep = np.flatnonzero(_alive(values))[::-1][:rank]
        return np.asarray(vectors[:, keep].T @ V)

    return tuple(shared_out(executor, U.size).run(one, groups))


def _alive(values: Floats) -> npt.NDArray[np.bool_]:
    """Eigenvalues, ascending, that are not zero."""
    return np.asarray(
        values > 1e-12 * max(values[-1] if len(values) else 0.0, np.finfo(np.float64).tiny)
    )
