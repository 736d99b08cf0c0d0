"""Transforms whose parameters are entries of the matrix: affine maps and homographies."""

from __future__ import annotations

import numpy as np

from rankfold.families.contract import Family
from rankfold.families.points import Floats, affine_matrix, homogeneous, map_points

# Gauss-Newton steps that refine the linear solution of a homography's fit.
FIT_STEPS = 10


class Affine(Family):
    """x' = A x + t; parameters are the first two rows (a11, a12, t_x, a21, a22, t_y)."""

    name = "affine"
    size = 6
    min_points = 3

    def matrix(self, parameters: Floats) -> Floats:
        """Return matrices (..., 3, 3): the two rows over (0, 0, 1)."""
        rows = parameters.reshape(*parameters.shape[:-1], 2, 3)
        return affine_matrix(rows[..., :2], rows[..., 2])

    def parameters(self, matrix: Floats) -> Floats:
        """Return parameters (..., 6): the first two rows."""
        return matrix[..., :2, :].reshape(*matrix.shape[:-2], 6)

    def derivative(self, parameters: Floats) -> Floats:
        """Return derivatives (..., 6, 3, 3): a one for each entry."""
        return _entry_by_entry(parameters)

    def fit(self, canonical: Floats, source: Floats) -> Floats:
        """Return the matrix (3, 3) of the linear least-squares fit to points (k, 2)."""
        solution = np.linalg.lstsq(homogeneous(canonical), source, rcond=None)[0]
        return self.matrix(solution.T.astype(np.float64).reshape(6))


class Homography(Family):
    """Projective map; parameters are the matrix row by row with its last entry held at one."""

    name = "homography"
    size = 8
    min_points = 4

    def matrix(self, parameters: Floats) -> Floats:
        """Return matrices (..., 3, 3): eight entries and a one."""
        leading = parameters.shape[:-1]
        entries = np.concatenate([parameters, np.ones((*leading, 1))], axis=-1)
        return entries.reshape(*leading, 3, 3)

    def parameters(self, matrix: Floats) -> Floats:
        """Return parameters (..., 8): all entries, divided by the last one."""
        flat = matrix.reshape(*matrix.shape[:-2], 9)
        return flat[..., :8] / flat[..., 8:]

    def derivative(self, parameters: Floats) -> Floats:
        """Return derivatives (..., 8, 3, 3): a one for each entry."""
        return _entry_by_entry(parameters)

    def fit(self, canonical: Floats, source: Floats) -> Floats:
        """Return the matrix (3, 3) that minimises the squared distances to points (k, 2)."""
        N, a = _conditioned(canonical)
        M, b = _conditioned(source)
        parameters = _direct_linear_transform(a, b)
        # That minimised an algebraic error. With points to spare, Gauss-Newton steps minimise the
        # distances; four points are met exactly already.
        for _ in range(FIT_STEPS if len(a) > 4 else 0):
            residual = (b - map_points(self.matrix(parameters), a)).ravel()
            design = self.jacobian(parameters, a).reshape(-1, 8)
            parameters = parameters + np.linalg.lstsq(design, residual, rcond=None)[0]
        H = np.linalg.inv(M) @ self.matrix(parameters) @ N
        return np.asarray(H / H[2, 2])


def _entry_by_entry(parameters: Floats) -> Floats:
    """Derivatives (..., p, 3, 3) of a matrix whose first p entries are the parameters (..., p)."""
    p = parameters.shape[-1]
    ones = np.eye(9)[:p].reshape(p, 3, 3)
    return np.broadcast_to(ones, (*parameters.shape, 3, 3))


def _direct_linear_transform(a: Floats, b: Floats) -> Floats:
    """Parameters (8,) of the homography from points (k, 2) to points (k, 2), by linear algebra.

    Multiplied by its denominator, every equation is linear in the nine entries: h_1 u = x h_3 u
    and h_2 u = y h_3 u.
    """
    u = homogeneous(a)
    # 2 k x 9, two equations a point.
    rows = np.zeros((2 * len(a), 9))
    rows[::2, :3] = u
    rows[::2, 6:] = -b[:, :1] * u
    rows[1::2, 3:6] = u
    rows[1::2, 6:] = -b[:, 1:] * u
    # The right singular vector of the least singular value solves them best.
    entries = np.linalg.svd(rows)[2][-1]
    return np.asarray(entries[:8] / entries[8])


def _conditioned(points: Floats) -> tuple[Floats, Floats]:
    """Matrix (3, 3) that centres points (k, 2) and scales them to unit spread, and its points."""
    centre = points.mean(0)
    spread = np.sqrt(((points - centre) ** 2).mean())
    N = affine_matrix(np.eye(2) / spread, -centre / spread)
    return N, (points - centre) / spread
