"""The transform through the smallest sample of matches that determines one, many at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankfold.families import Floats
from rankfold.families.points import affine_matrix, homogeneous

Solver = Callable[[Floats, Floats], Floats]


def _translations(a: Floats, b: Floats) -> Floats:
    """Translations (s, 3, 3) through one match each: a and b are (s, 1, 2)."""
    return affine_matrix(np.eye(2), (b - a)[:, 0])


def _similarities(a: Floats, b: Floats) -> Floats:
    """Similarities (s, 3, 3) through two matches each: a and b are (s, 2, 2)."""
    return _turned(a, b, keep_size=False)


def _motions(a: Floats, b: Floats) -> Floats:
    """Euclidean motions (s, 3, 3) nearest to two matches each: a and b are (s, 2, 2)."""
    return _turned(a, b, keep_size=True)


def _turned(a: Floats, b: Floats, keep_size: bool) -> Floats:
    """Scaled rotations and shifts (s, 3, 3), by the quotient of two complex numbers."""
    u = a[:, 1] - a[:, 0]
    v = b[:, 1] - b[:, 0]
    # Points that coincide give no quotient; a scale of zero is not sound and is dropped later.
    length = (u**2).sum(axis=1)
    safe = np.maximum(length, 1e-30)
    quotient = (v[:, 0] + 1j * v[:, 1]) * (u[:, 0] - 1j * u[:, 1]) / safe
    if keep_size:
        quotient = quotient / np.maximum(np.abs(quotient), 1e-30)
    c = quotient.real
    s = quotient.imag
    # s x 2 x 2
    linear = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
    moved = (linear @ a.mean(axis=1)[..., None])[..., 0]
    return affine_matrix(linear, b.mean(axis=1) - moved)


def _affine_maps(a: Floats, b: Floats) -> Floats:
    """Affine maps (s, 3, 3) through three matches each: a and b are (s, 3, 2)."""
    rows = _solved(homogeneous(a), b)
    # s x 3 x 2, transposed
    rows = np.swapaxes(rows, -1, -2)
    return affine_matrix(rows[..., :2], rows[..., 2])


def _homographies(a: Floats, b: Floats) -> Floats:
    """Homographies (s, 3, 3) through four matches each: a and b are (s, 4, 2)."""
    u = homogeneous(a)
    # Multiplied by its denominator: h_1 u - x (h_31, h_32)(u_1, u_2) = x, and the same for y.
    rows = np.zeros((len(a), 8, 8))
    rows[:, :4, :3] = u
    rows[:, 4:, 3:6] = u
    rows[:, :4, 6:] = -b[..., :1] * a
    rows[:, 4:, 6:] = -b[..., 1:] * a
    right = np.concatenate([b[..., 0], b[..., 1]], axis=1)
    entries = _solved(rows, right[..., None])[..., 0]
    ones = np.ones((len(a), 1))
    return np.concatenate([entries, ones], axis=1).reshape(-1, 3, 3)


def _solved(left: Floats, right: Floats) -> Floats:
    """Solutions of many small systems; NaN where one has none."""
    regular = np.abs(np.linalg.det(left)) > 1e-10
    safe = np.where(regular[:, None, None], left, np.eye(left.shape[-1]))
    solution = np.linalg.solve(safe, right)
    return np.where(regular[:, None, None], solution, np.nan)


SOLVERS: dict[str, Solver] = {
    "translation": _translations,
    "euclidean": _motions,
    "similarity": _similarities,
    "affine": _affine_maps,
    "homography": _homographies,
}
"""How a transform follows from the smallest sample, by the name of the family."""
