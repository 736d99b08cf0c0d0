"""Points through 3x3 matrices: where they land, and how that depends on the point or the matrix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def map_points(matrix: Floats, points: Floats) -> Floats:
    """Map points (..., k, 2) with matrices (..., 3, 3)."""
    mapped = homogeneous(points) @ np.swapaxes(matrix, -1, -2)
    return mapped[..., :2] / mapped[..., 2:]


def point_jacobian(matrix: Floats, points: Floats) -> Floats:
    """Return the derivative (m, 2, 2) of the mapped points by the points (m, 2)."""
    mapped = homogeneous(points) @ matrix.T
    ratio = mapped[:, :2] / mapped[:, 2:]
    return (matrix[:2, :2] - ratio[:, :, None] * matrix[2, :2]) / mapped[:, 2, None, None]


def coordinate_jacobian(matrix: Floats, derivative: Floats, points: Floats) -> Floats:
    """Return the derivative (..., m, 2, p) of mapped points by the parameters of the matrix.

    Parameters
    ----------
    matrix : (..., 3, 3) array
    derivative : (..., p, 3, 3) array
        Derivative of the matrix by the parameters.
    points : (m, 2) array
    """
    u = homogeneous(points)
    # ... x m x 3
    mapped = u @ np.swapaxes(matrix, -1, -2)
    # ... x m x 3 x p
    change = np.moveaxis(u @ np.swapaxes(derivative, -1, -2), -3, -1)
    # The quotient rule on (h_1 u, h_2 u) / h_3 u.
    ratio = mapped[..., :2] / mapped[..., 2:]
    numerator = change[..., :2, :] - ratio[..., None] * change[..., 2:, :]
    return np.asarray(numerator / mapped[..., 2, None, None])


def inverse(matrix: Floats) -> Floats:
    """Return the inverse of matrices (..., 3, 3), scaled so that the last entry is one."""
    result = np.linalg.inv(matrix)
    return result / result[..., 2:, 2:]


def homogeneous(points: Floats) -> Floats:
    """Append a one to every point (..., 2)."""
    ones = np.ones((*points.shape[:-1], 1))
    return np.concatenate([points, ones], axis=-1)


def affine_matrix(linear: Floats, translation: Floats) -> Floats:
    """Put a linear part (..., 2, 2) and a translation (..., 2) into matrices (..., 3, 3)."""
    matrix = np.zeros((*translation.shape[:-1], 3, 3))
    matrix[..., :2, :2] = linear
    matrix[..., :2, 2] = translation
    matrix[..., 2, 2] = 1.0
    return matrix
