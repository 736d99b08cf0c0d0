"""Families of plane transforms: parameters <-> 3x3 matrices, coordinate Jacobians, least-squares fits.

A transform is a 3x3 matrix T that maps canonical coordinates (x, y) to source coordinates. Composition is the
matrix product, the inverse is :func:`inverse`, the mean of several is :func:`mean`. Adding a family is one
subclass and one row of ``FAMILIES``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError

Floats = npt.NDArray[np.float64]


class Family(ABC):
    """A group of transforms with ``size`` parameters; the contract that every row of FAMILIES keeps."""

    name: ClassVar[str]
    size: ClassVar[int]  # p, the number of parameters
    min_points: ClassVar[int]  # correspondences that determine a member

    @abstractmethod
    def matrix(self, parameters: Floats) -> Floats:
        """Turn parameters (..., p) into matrices (..., 3, 3)."""

    @abstractmethod
    def parameters(self, matrix: Floats) -> Floats:
        """Turn matrices (..., 3, 3) of the family into parameters (..., p)."""

    @abstractmethod
    def derivative(self, parameters: Floats) -> Floats:
        """Derivatives (..., p, 3, 3) of the matrices with respect to the parameters (..., p)."""

    @abstractmethod
    def fit(self, canonical: Floats, source: Floats) -> Floats:
        """Least-squares member (3, 3) that maps points ``canonical`` (k, 2) to ``source`` (k, 2)."""

    def jacobian(self, parameters: Floats, points: Floats) -> Floats:
        """Derivative (m, 2, p) of the mapped points (m, 2) with respect to the parameters (p,)."""
        return coordinate_jacobian(self.matrix(parameters), self.derivative(parameters), points)

    @property
    def identity(self) -> Floats:
        """Parameters (p,) of the identity."""
        return self.parameters(np.eye(3))

    def contains(self, matrix: Floats, tol: float = 1e-9) -> bool:
        """Whether a matrix (3, 3) belongs to the family."""
        scaled = matrix / matrix[2, 2]
        return bool(np.allclose(self.matrix(self.parameters(scaled)), scaled, rtol=0, atol=tol))


class Translation(Family):
    """x' = x + t; parameters (t_x, t_y)."""

    name, size, min_points = "translation", 2, 1

    def matrix(self, parameters: Floats) -> Floats:
        """Identity with a last column."""
        return _affine_matrix(
            np.broadcast_to(np.eye(2), (*parameters.shape[:-1], 2, 2)), parameters
        )

    def parameters(self, matrix: Floats) -> Floats:
        """The last column."""
        return matrix[..., :2, 2]

    def derivative(self, parameters: Floats) -> Floats:
        """A one in the last column, wherever we are."""
        return _affine_derivative(parameters, [])

    def fit(self, canonical: Floats, source: Floats) -> Floats:
        """Difference of the centroids."""
        return self.matrix((source - canonical).mean(0))


class Euclidean(Family):
    """x' = R(angle) x + t; parameters (angle, t_x, t_y)."""

    name, size, min_points = "euclidean", 3, 2

    def matrix(self, parameters: Floats) -> Floats:
        """Rotation and last column."""
        return _affine_matrix(_rotation(parameters[..., 0]), parameters[..., 1:])

    def parameters(self, matrix: Floats) -> Floats:
        """Angle of the first column, then the last column."""
        angle = np.arctan2(matrix[..., 1, 0], matrix[..., 0, 0])
        return np.concatenate([angle[..., None], matrix[..., :2, 2]], axis=-1)

    def derivative(self, parameters: Floats) -> Floats:
        """The rotation a quarter turn ahead, for the angle."""
        return _affine_derivative(parameters, [_rotation(parameters[..., 0] + np.pi / 2)])

    def fit(self, canonical: Floats, source: Floats) -> Floats:
        """Procrustes without scale."""
        return _procrustes(canonical, source, with_scale=False)


class Similarity(Family):
    """x' = s R(angle) x + t; parameters (s, angle, t_x, t_y)."""

    name, size, min_points = "similarity", 4, 2

    def matrix(self, parameters: Floats) -> Floats:
        """Scaled rotation and last column."""
        linear = parameters[..., 0, None, None] * _rotation(parameters[..., 1])
        return _affine_matrix(linear, parameters[..., 2:])

    def parameters(self, matrix: Floats) -> Floats:
        """Length and angle of the first column, then the last column."""
        scale = np.hypot(matrix[..., 0, 0], matrix[..., 1, 0])
        angle = np.arctan2(matrix[..., 1, 0], matrix[..., 0, 0])
        return np.concatenate([scale[..., None], angle[..., None], matrix[..., :2, 2]], axis=-1)

    def derivative(self, parameters: Floats) -> Floats:
        """The rotation for the scale; scaled and a quarter turn ahead for the angle."""
        scale, angle = parameters[..., 0, None, None], parameters[..., 1]
        return _affine_derivative(
            parameters, [_rotation(angle), scale * _rotation(angle + np.pi / 2)]
        )

    def fit(self, canonical: Floats, source: Floats) -> Floats:
        """Procrustes with scale."""
        return _procrustes(canonical, source, with_scale=True)


class Affine(Family):
    """x' = A x + t; parameters are the first two rows (a11, a12, t_x, a21, a22, t_y)."""

    name, size, min_points = "affine", 6, 3

    def matrix(self, parameters: Floats) -> Floats:
        """The two rows over (0, 0, 1)."""
        rows = parameters.reshape(*parameters.shape[:-1], 2, 3)
        return _affine_matrix(rows[..., :2], rows[..., 2])

    def parameters(self, matrix: Floats) -> Floats:
        """The first two rows."""
        return matrix[..., :2, :].reshape(*matrix.shape[:-2], 6)

    def derivative(self, parameters: Floats) -> Floats:
        """A one for each entry."""
        return np.broadcast_to(np.eye(9)[:6].reshape(6, 3, 3), (*parameters.shape, 3, 3))

    def fit(self, canonical: Floats, source: Floats) -> Floats:
        """Linear least squares."""
        rows = np.linalg.lstsq(_homogeneous(canonical), source, rcond=None)[0].T
        return self.matrix(rows.astype(np.float64).reshape(6))


class Homography(Family):
    """Projective map; parameters are the matrix row by row with its last entry held at one."""

    name, size, min_points = "homography", 8, 4

    def matrix(self, parameters: Floats) -> Floats:
        """Eight entries and a one."""
        ones = np.ones((*parameters.shape[:-1], 1))
        return np.concatenate([parameters, ones], axis=-1).reshape(*parameters.shape[:-1], 3, 3)

    def parameters(self, matrix: Floats) -> Floats:
        """All entries over the last one."""
        flat = matrix.reshape(*matrix.shape[:-2], 9)
        return flat[..., :8] / flat[..., 8:]

    def derivative(self, parameters: Floats) -> Floats:
        """A one for each entry."""
        return np.broadcast_to(np.eye(9)[:8].reshape(8, 3, 3), (*parameters.shape, 3, 3))

    def fit(self, canonical: Floats, source: Floats) -> Floats:
        """Direct linear transform on centred points of unit spread, then least squares."""
        (N, a), (M, b) = _conditioned(canonical), _conditioned(source)
        u = _homogeneous(a)
        rows = np.zeros((2 * len(a), 9))
        rows[::2, :3], rows[::2, 6:] = u, -b[:, :1] * u
        rows[1::2, 3:6], rows[1::2, 6:] = u, -b[:, 1:] * u
        local = np.linalg.svd(rows)[2][-1]
        parameters = local[:8] / local[8]
        # that minimised an algebraic error; with points to spare, a few Gauss-Newton steps minimise the true one
        for _ in range(10 if len(a) > 4 else 0):
            residual = (b - map_points(self.matrix(parameters), a)).ravel()
            design = self.jacobian(parameters, a).reshape(-1, 8)
            parameters = parameters + np.linalg.lstsq(design, residual, rcond=None)[0]
        H = np.linalg.inv(M) @ self.matrix(parameters) @ N
        return np.asarray(H / H[2, 2])


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (Translation(), Euclidean(), Similarity(), Affine(), Homography())
}


def get_family(name: str) -> Family:
    """Look a family up by name."""
    if name not in FAMILIES:
        raise InputError(f"unknown family {name!r}; choose one of {', '.join(FAMILIES)}")
    return FAMILIES[name]


def map_points(matrix: Floats, points: Floats) -> Floats:
    """Map points (..., k, 2) with matrices (..., 3, 3)."""
    mapped = _homogeneous(points) @ np.swapaxes(matrix, -1, -2)
    return mapped[..., :2] / mapped[..., 2:]


def point_jacobian(matrix: Floats, points: Floats) -> Floats:
    """Derivative (m, 2, 2) of the mapped points with respect to the points (m, 2)."""
    mapped = _homogeneous(points) @ matrix.T
    ratio = mapped[:, :2] / mapped[:, 2:]
    return (matrix[:2, :2] - ratio[:, :, None] * matrix[2, :2]) / mapped[:, 2, None, None]


def coordinate_jacobian(matrix: Floats, derivative: Floats, points: Floats) -> Floats:
    """Derivative (..., m, 2, p) of the mapped points (m, 2) of matrices (..., 3, 3) that have (..., p, 3, 3).

    The quotient rule on (h_1 u, h_2 u) / h_3 u.
    """
    u = _homogeneous(points)
    mapped = u @ np.swapaxes(matrix, -1, -2)  # ..., m, 3
    change = np.moveaxis(u @ np.swapaxes(derivative, -1, -2), -3, -1)  # ..., m, 3, p
    ratio = mapped[..., :2] / mapped[..., 2:]
    return np.asarray(
        (change[..., :2, :] - ratio[..., None] * change[..., 2:, :]) / mapped[..., 2, None, None]
    )


def inverse(matrix: Floats) -> Floats:
    """Inverse of matrices (..., 3, 3), scaled so that the last entry is one."""
    result = np.linalg.inv(matrix)
    return result / result[..., 2:, 2:]


def shift(offset: Floats) -> Floats:
    """Matrix that moves points by ``offset`` (2,)."""
    return FAMILIES["translation"].matrix(np.asarray(offset, dtype=np.float64))


def mean(matrices: Floats, family: Family, origin: Floats) -> Floats:
    """Robust mean (3, 3) of transforms (n, 3, 3) of a family: the median of each parameter about ``origin`` (2,).

    About the middle of the frame the parameters are nearly independent, so turns and shifts of the images do not
    leak into the scale of their mean, as they do when the median images of the corners are fitted.
    """
    parameters = family.parameters(shift(-origin) @ matrices @ shift(origin))
    matrix = shift(origin) @ family.matrix(np.median(parameters, axis=0)) @ shift(-origin)
    return np.asarray(matrix / matrix[2, 2])


def _affine_matrix(linear: Floats, translation: Floats) -> Floats:
    """Put (..., 2, 2) and (..., 2) into (..., 3, 3)."""
    matrix = np.zeros((*translation.shape[:-1], 3, 3))
    matrix[..., :2, :2], matrix[..., :2, 2], matrix[..., 2, 2] = linear, translation, 1.0
    return matrix


def _affine_derivative(parameters: Floats, linear: list[Floats]) -> Floats:
    """Put (..., 2, 2) for each of the first parameters into (..., p, 3, 3); the last two are the translation."""
    shape = parameters.shape[:-1]
    derivative = np.zeros((*shape, len(linear) + 2, 3, 3))
    for k, block in enumerate(linear):
        derivative[..., k, :2, :2] = block
    derivative[..., -2, 0, 2] = derivative[..., -1, 1, 2] = 1.0
    return derivative


def _rotation(angle: npt.ArrayLike) -> Floats:
    """Rotation matrices (..., 2, 2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)


def _homogeneous(points: Floats) -> Floats:
    """Append a one to every point."""
    return np.concatenate([points, np.ones((*points.shape[:-1], 1))], axis=-1)


def _procrustes(canonical: Floats, source: Floats, with_scale: bool) -> Floats:
    """Least-squares (scaled) rotation and shift, reflections excluded."""
    a0, b0 = canonical.mean(0), source.mean(0)
    a, b = canonical - a0, source - b0
    U, s, Vt = np.linalg.svd(b.T @ a)
    sign = np.array([1.0, np.sign(np.linalg.det(U @ Vt))])
    scale = (s * sign).sum() / (a**2).sum() if with_scale else 1.0
    linear = scale * (U * sign) @ Vt
    return _affine_matrix(linear, b0 - linear @ a0)


def _conditioned(points: Floats) -> tuple[Floats, Floats]:
    """Matrix that centres points (k, 2) and scales them to unit spread, and the points so moved."""
    centre = points.mean(0)
    spread = np.sqrt(((points - centre) ** 2).mean())
    N = _affine_matrix(np.eye(2) / spread, -centre / spread)
    return N, (points - centre) / spread
