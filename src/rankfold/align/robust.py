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

    def cost(self, index: int, rows: Array, valid: npt.NDArray[np.bool_]) -> Floats:
        """Geman-McClure cost (k,) in 0..1 of rows (k, m), versions of picture ``index``, over their valid pixels."""
        residual = robust_residual(rows, self.bases[self.fold[index]], valid, self.scale)
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


def robust_residual(
    rows: Array, basis: Floats, valid: npt.NDArray[np.bool_], scale: float, rounds: int = ROUNDS
) -> Floats:
    """Residual (k, m) of rows (k, m) after an iteratively reweighted least-squares fit to ``basis`` (r, m)."""
    weight = valid.astype(np.float64)
    residual = np.empty(rows.shape)
    ridge = 1e-9 * np.eye(len(basis))
    for _ in range(rounds):
        weighted = basis * weight[:, None, :]  # k x r x m
        normal = weighted @ basis.T + ridge
        right = (weighted @ rows[:, :, None].astype(np.float64, copy=False))[:, :, 0]
        coefficients = np.linalg.solve(normal, right[:, :, None])[:, :, 0]
        residual = rows - coefficients @ basis
        weight = valid * (scale**2 / (scale**2 + residual**2)) ** 2
    return residual


def _basis(A: Floats, gram: Floats, others: npt.NDArray[np.int_], rank: int) -> Floats:
    """Leading right singular vectors (r, m) of some rows of A, the mean kept in."""
    values, vectors = np.linalg.eigh(gram[np.ix_(others, others)])
    keep = np.arange(len(values))[::-1][:rank]
    keep = keep[values[keep] > 1e-12 * max(values[-1], np.finfo(np.float64).tiny)]
    return np.asarray((vectors[:, keep] / np.sqrt(values[keep])).T @ A[others])
