"""Transforms that keep shapes: translations, euclidean motions, similarities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankfold.families.contract import Family
from rankfold.families.points import Floats, affine_matrix

# An angle's derivative is the rotation by a quarter turn more.
QUARTER_TURN = np.pi / 2


class Translation(Family):
    """x' = x + t; parameters (t_x, t_y)."""

    name = "translation"
    size = 2
    min_points = 1

    def matrix(self, parameters: Floats) -> Floats:
        """Return matrices (..., 3, 3): the identity with a last column."""
        linear = np.broadcast_to(np.eye(2), (*parameters.shape[:-1], 2, 2))
        return affine_matrix(linear, parameters)

    def parameters(self, matrix: Floats) -> Floats:
        """Return parameters (..., 2): the last column."""
        return matrix[..., :2, 2]

    def derivative(self, parameters: Floats) -> Floats:
        """Return derivatives (..., 2, 3, 3): a one in the last column, whatever the parameters."""
        return _derivative(parameters, [])

    def fit(self, canonical: Floats, source: Floats) -> Floats:
        """Return the difference of the centroids of points (k, 2), as a matrix (3, 3)."""
        return self.matrix((source - canonical).mean(0))


class Euclidean(Family):
    """x' = R(angle) x + t; parameters (angle, t_x, t_y), the angle in radians."""

    name = "euclidean"
    size = 3
    min_points = 2

    def matrix(self, parameters: Floats) -> Floats:
        """Return matrices (..., 3, 3): a rotation and a last column."""
        return affine_matrix(_rotation(parameters[..., 0]), parameters[..., 1:])

    def parameters(self, matrix: Floats) -> Floats:
        """Return parameters (..., 3): the angle of the first column, then the last column."""
        angle = np.arctan2(matrix[..., 1, 0], matrix[..., 0, 0])
        return np.concatenate([angle[..., None], matrix[..., :2, 2]], axis=-1)

    def derivative(self, parameters: Floats) -> Floats:
        """Return derivatives (..., 3, 3, 3): for the angle, the rotation a quarter turn ahead."""
        by_angle = _rotation(parameters[..., 0] + QUARTER_TURN)
        return _derivative(parameters, [by_angle])

    def fit(self, canonical: Floats, source: Floats) -> Floats:
        """Return the matrix (3, 3) of the Procrustes fit without scale to points (k, 2)."""
        return _procrustes(canonical, source, with_scale=False)


class Similarity(Family):
    """x' = s R(angle) x + t; parameters (s, angle, t_x, t_y), the angle in radians."""

    name = "similarity"
    size = 4
    min_points = 2

    def matrix(self, parameters: Floats) -> Floats:
        """Return matrices (..., 3, 3): a scaled rotation and a last column."""
        scale = parameters[..., 0, None, None]
        return affine_matrix(scale * _rotation(parameters[..., 1]), parameters[..., 2:])

    def parameters(self, matrix: Floats) -> Floats:
        """Return parameters (..., 4): length and angle of the first column, and the last column."""
        scale = np.hypot(matrix[..., 0, 0], matrix[..., 1, 0])
        angle = np.arctan2(matrix[..., 1, 0], matrix[..., 0, 0])
        return np.concatenate([scale[..., None], angle[..., None], matrix[..., :2, 2]], axis=-1)

    def derivative(self, parameters: Floats) -> Floats:
        """Return derivatives (..., 4, 3, 3): rotations for the scale and for the angle."""
        scale = parameters[..., 0, None, None]
        angle = parameters[..., 1]
        by_scale = _rotation(angle)
        by_angle = scale * _rotation(angle + QUARTER_TURN)
        return _derivative(parameters, [by_scale, by_angle])

    def fit(self, canonical: Floats, source: Floats) -> Floats:
        """Return the matrix (3, 3) of the Procrustes fit with scale to points (k, 2)."""
        return _procrustes(canonical, source, with_scale=True)


def _derivative(parameters: Floats, linear: list[Floats]) -> Floats:
    """Derivatives (..., p, 3, 3) from those (..., 2, 2) of the linear part by each parameter.

    The parameters (..., p) end with the translation, which the linear part does not depend on.
    """
    leading = parameters.shape[:-1]
    derivative = np.zeros((*leading, len(linear) + 2, 3, 3))
    for k, block in enumerate(linear):
        derivative[..., k, :2, :2] = block
    # t_x and t_y are the entries of the last column.
    derivative[..., -2, 0, 2] = 1.0
    derivative[..., -1, 1, 2] = 1.0
    return derivative


def _rotation(angle: npt.ArrayLike) -> Floats:
    """Rotation matrices (..., 2, 2) by angles (...) in radians."""
    c = np.cos(angle)
    s = np.sin(angle)
    return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)


def _procrustes(canonical: Floats, source: Floats, with_scale: bool) -> Floats:
    """Least-squares (scaled) rotation and shift (3, 3) between points (k, 2), no reflection."""
    from_centre = canonical.mean(0)
    to_centre = source.mean(0)
    a = canonical - from_centre
    b = source - to_centre
    # The rotation that maximises trace(R' b'a), by the singular vectors of b'a.
    U, s, Vt = np.linalg.svd(b.T @ a)
    # Turning the weaker axis round makes a rotation of a reflection.
    sign = np.array([1.0, np.sign(np.linalg.det(U @ Vt))])
    scale = (s * sign).sum() / (a**2).sum() if with_scale else 1.0
    linear = scale * (U * sign) @ Vt
    return affine_matrix(linear, to_centre - linear @ from_centre)
