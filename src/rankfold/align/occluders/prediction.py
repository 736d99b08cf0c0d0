"""Predict a part of every picture from the rest of it, as the other pictures have it.

The low-rank pictures are points of few coordinates, A = P V with orthonormal rows in V. What is
left of a picture without a region is P_i seen through M = Σ_x v_x v_x' over the pixels x outside
it, an r x r matrix. So a ridge regression from contexts to whole pictures is a matter of r x r
systems, and many regions are done at once: arrays with q in front have one entry a region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

# Singular values below this share of the largest are no coordinates.
FAINT = 1e-4


@dataclass(frozen=True)
class Coordinates:
    """Low-rank pictures A = P V."""

    points: Floats  # P, n x r
    basis: Floats  # V, r x m, orthonormal rows

    @classmethod
    def of(cls, low_rank: Array) -> Coordinates:
        """The coordinates of rows (n, m) in their right singular vectors."""
        A = low_rank.astype(np.float64, copy=False)
        squares, U = np.linalg.eigh(A @ A.T)
        alive = squares > FAINT**2 * max(squares[-1], np.finfo(np.float64).tiny)
        values = np.sqrt(squares[alive])
        points = U[:, alive] * values
        return cls(points, (U[:, alive] / values).T @ A)


@dataclass(frozen=True)
class Context:
    """What pictures show outside of q regions, each at norm one."""

    rows: Floats  # C, q x n x r: contexts, whose inner products are those of the pixels
    points: Floats  # q x n x r: whole pictures, over the norm of their context
    norms: Floats  # (q, n) of the contexts

    @classmethod
    def outside(cls, points: Floats, seen: Floats) -> Context:
        """Contexts of points (n, r); ``seen`` (q, r, r) is M of every region."""
        rows = points @ roots(seen)
        norms = np.linalg.norm(rows, axis=2)
        # A picture without context is predicted as zero.
        norms = np.maximum(norms, 1e-12 * max(float(norms.max()), 1e-300))
        return cls(rows / norms[..., None], points / norms[..., None], norms)

    def predict(self, donors: Bools, ridge: float) -> tuple[Floats, Floats]:
        """What a ridge regression on the ``donors`` (q, n) leaves of every whole picture.

        No picture is its own donor: a donor is predicted by the others, in closed form.

        Returns
        -------
        rest : (q, n, r) array
            The points minus their predictions.
        misfit : (q, n) array
            The norm of what the regression leaves of the contexts, which have norm one.
        """
        C = self.rows
        chosen = C * donors[..., None]
        H = C.transpose(0, 2, 1) @ chosen + ridge * np.eye(C.shape[2])
        fitted = C @ np.linalg.inv(H)
        predicted = fitted @ (chosen.transpose(0, 2, 1) @ self.points)
        leverage = (fitted * C).sum(axis=2)
        left_out = np.where(donors, 1 / np.maximum(1 - leverage, 1e-12), 1.0)
        rest = (self.points - predicted) * left_out[..., None]
        misfit = ridge * np.linalg.norm(fitted, axis=2) * left_out
        return rest, misfit

    def nearest(self, count: int) -> npt.NDArray[np.intp]:
        """The pictures (q, n, count) with the most similar contexts, in no order."""
        likeness = self.rows @ self.rows.transpose(0, 2, 1)
        n = likeness.shape[1]
        likeness[:, np.arange(n), np.arange(n)] = -np.inf
        return np.argpartition(-likeness, count - 1, axis=2)[..., :count]


def roots(seen: Floats) -> Floats:
    """Matrices R (q, r, r) with M = R R': points @ R have the lengths that M shows."""
    values, vectors = np.linalg.eigh(seen)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0))[:, None, :])


def lengths(points: Floats, inside: Floats) -> Floats:
    """Norms (q, n) of points (q, n, r) seen through M (q, r, r)."""
    squares = ((points @ inside) * points).sum(axis=2)
    return np.asarray(np.sqrt(np.maximum(squares, 0)))
