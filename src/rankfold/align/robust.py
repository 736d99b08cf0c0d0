"""How well a picture fits the others: a robust fit to a basis that was made without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

FOLDS = 40  # at most so many bases are made; with more pictures a few are left out together
ROUNDS = 6  # of the reweighted fit


@dataclass(frozen=True)
class Model:
    """For every picture a basis (r, m) of the others, and the scale c of an ordinary residual."""

    bases: tuple[Floats, ...]  # one a fold, orthonormal rows
    fold: npt.NDArray[np.int_]  # (n,) which of them is picture i's
    scale: float

    def others(self, index: int) -> Basis:
        """The basis that picture ``index`` is fitted to."""
        return Basis.of(self.bases[self.fold[index]], self.scale)


@dataclass(frozen=True)
class Basis:
    """A basis B ready for weighted least squares: B diag(w) B' is linear in w, so its coefficients are kept."""

    rows: Floats  # B, r x m
    pairs: Floats  # r (r + 1) / 2 x m: products of its rows
    scale: float  # c of an ordinary residual

    @classmethod
    def of(cls, rows: Floats, scale: float) -> Basis:
        """Multiply all pairs of rows."""
        one, other = np.triu_indices(len(rows))
        return cls(rows, rows[one] * rows[other], scale)

    def normal(self, weight: Floats) -> Floats:
        """B diag(w) B' (k, r, r) for weights (k, m), with a small ridge."""
        r = len(self.rows)
        matrices = np.empty((len(weight), r, r))
        one, other = np.triu_indices(r)
        matrices[:, one, other] = matrices[:, other, one] = weight @ self.pairs.T
        return matrices + 1e-9 * np.eye(r)

    def residual(
        self, rows: Array, valid: npt.NDArray[np.bool_], rounds: int = ROUNDS, scale: float | None = None
    ) -> Floats:
        """Residual (k, m) of rows (k, m) after an iteratively reweighted least-squares fit."""
        square = (self.scale if scale is None else scale) ** 2
        rows = rows.astype(np.float64, copy=False)
        weight = valid.astype(np.float64)
        residual = rows
        for _ in range(rounds):
            right = (weight * rows) @ self.rows.T
            coefficients = np.linalg.solve(self.normal(weight), right[:, :, None])[:, :, 0]
            residual = rows - coefficients @ self.rows
            np.multiply(residual, residual, out=weight)
            weight += square
            np.divide(square, weight, out=weight)
            np.multiply(weight, weight, out=weight)
            weight *= valid
        return residual

    def cost(self, rows: Array, valid: npt.NDArray[np.bool_]) -> Floats:
        """Geman-McClure cost (k,) in 0..1 of rows (k, m) over their valid pixels."""
        residual = self.residual(rows, valid)
        share = residual**2 / (residual**2 + self.scale**2)
        return np.asarray((share * valid).sum(axis=1) / np.maximum(valid.sum(axis=1), 1))


def fit_model(
    data: Array,
    low_rank: Array,
    valid: npt.NDArray[np.bool_],
    good: npt.NDArray[np.bool_] | None = None,
    rank: int | None = None,
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
    gram = A @ A.T
    bases = tuple(_basis(A, gram, np.flatnonzero((fold != k) & good), rank) for k in range(folds))
    residuals = [
        np.abs(data[i] - (data[i] @ bases[fold[i]].T) @ bases[fold[i]])[valid[i]].astype(np.float64) for i in range(n)
    ]
    pooled = np.concatenate(residuals)
    scale = max(2 * 1.4826 * float(np.median(pooled)), float(np.sqrt((pooled**2).mean())))
    return Model(bases, fold, max(scale, float(np.finfo(np.float64).tiny)))


def _basis(A: Floats, gram: Floats, others: npt.NDArray[np.int_], rank: int) -> Floats:
    """Leading right singular vectors (r, m) of some rows of A, the mean kept in."""
    values, vectors = np.linalg.eigh(gram[np.ix_(others, others)])
    keep = np.arange(len(values))[::-1][:rank]
    keep = keep[values[keep] > 1e-12 * max(values[-1], np.finfo(np.float64).tiny)]
    return np.asarray((vectors[:, keep] / np.sqrt(values[keep])).T @ A[others])
