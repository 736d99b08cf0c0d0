"""The transform of a family that most tentative matches agree on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankfold.align.matching.solvers import SOLVERS
from rankfold.align.settings import MatchSettings
from rankfold.families import Family, Floats, map_points, shift
from rankfold.families.points import homogeneous
from rankfold.stack import Bools

# Hypotheses whose errors are computed at once; bounds the memory.
CHUNK = 256

# Matches by which samples are judged.
JUDGES = 400

# Sampling ends when a sample without an outlier was missed with at most this probability.
MISSED = 1e-6


@dataclass(frozen=True)
class Agreement:
    """A transform and the matches that agree with it."""

    matrix: Floats  # (3, 3) from the first picture to the second
    inliers: Bools  # (k,)


def consensus(
    family: Family, one: Floats, two: Floats, tolerance: float, numbers: MatchSettings
) -> Agreement | None:
    """Find the transform from points (k, 2) to points (k, 2) that most of them agree on.

    Hypotheses come from small samples of matches. The best ones are fitted again to the matches
    that agree with them, and the best of these is kept. The samples are the same in every run.

    Parameters
    ----------
    family : Family
    one, two : (k, 2) arrays
        Matched points of two pictures, the most distinctive first.
    tolerance : float
        A match agrees if it is closer than this, seen from either side; in px of the points.
    numbers : MatchSettings

    Returns
    -------
    Agreement or None
        None where no hypothesis is sound.
    """
    if len(one) < family.min_points:
        return None
    # Centred and of about unit size, in the same unit on both sides so that translations stay
    # translations.
    middle_one = one.mean(0)
    middle_two = two.mean(0)
    unit = float(np.sqrt(((two - middle_two) ** 2).mean())) or 1.0
    a = (one - middle_one) / unit
    b = (two - middle_two) / unit
    found = _best(family, a, b, tolerance / unit, numbers)
    if found is None:
        return None
    scale = np.diag([unit, unit, 1.0])
    matrix = shift(middle_two) @ scale @ found @ np.linalg.inv(shift(middle_one) @ scale)
    inliers = distances(matrix[None], one, two)[0] < tolerance
    return Agreement(matrix / matrix[2, 2], inliers)


def _best(
    family: Family, a: Floats, b: Floats, tolerance: float, numbers: MatchSettings
) -> Floats | None:
    """The matrix (3, 3) with the lowest truncated error, after the best samples were fitted."""
    # A few hundred matches tell good samples from bad ones.
    step = -(-len(a) // JUDGES)
    some = (a[::step], b[::step])
    leading = _leading(family, a, b, some, tolerance, numbers)
    if not len(leading):
        return None
    fitted = [polish(family, matrix, *some, tolerance) for matrix in leading]
    candidates = np.stack([*fitted, leading[0]])
    best = candidates[np.argmin(_costs(candidates, *some, tolerance))]
    return best if step == 1 else polish(family, best, a, b, tolerance)


def _leading(
    family: Family,
    a: Floats,
    b: Floats,
    judges: tuple[Floats, Floats],
    tolerance: float,
    numbers: MatchSettings,
) -> Floats:
    """The best few transforms (t, 3, 3) through small samples of the matches.

    Sampling ends early when, of as many samples, one without an outlier was among them for sure:
    with a share w of inliers, a sample of m matches has none with the probability w^m.
    """
    samples = _samples(len(a), family.min_points, numbers.samples)
    best = np.zeros((0, 3, 3))
    costs = np.zeros(0)
    for start in range(0, len(samples), CHUNK):
        chosen = samples[start : start + CHUNK]
        matrices = SOLVERS[family.name](a[chosen], b[chosen])
        matrices = matrices[_sound(matrices, a[chosen], numbers.max_scale)]
        costs = np.concatenate([costs, _costs(matrices, *judges, tolerance)])
        order = np.argsort(costs, kind="stable")[: numbers.fitted_samples]
        best = np.concatenate([best, matrices])[order]
        costs = costs[order]
        share = 1 - costs[0] / len(judges[0]) if len(costs) else 0.0
        # The chance that every sample so far had an outlier.
        if (1 - share**family.min_points) ** (start + len(chosen)) < MISSED:
            break
    return best


def _samples(count: int, size: int, wanted: int) -> npt.NDArray[np.int_]:
    """Small samples (s, size) of matches (indices below ``count``), the same in every run.

    Half of them come from the most distinctive third of the matches, which has fewer outliers.
    """
    if size == 1:
        return np.arange(count)[:, None]
    rng = np.random.default_rng(0)
    third = max(count // 3, min(count, 4 * size))
    limits = np.where(np.arange(wanted) % 2 == 0, third, count)
    samples = (rng.random((wanted, size)) * limits[:, None]).astype(int)
    ordered = np.sort(samples, axis=1)
    distinct = (np.diff(ordered, axis=1) > 0).all(axis=1)
    return samples[distinct]


def _sound(matrices: Floats, a: Floats, max_scale: float) -> Bools:
    """Whether matrices (s, 3, 3) keep the orientation and a sensible size at samples (s, m, 2)."""
    finite = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    safe = np.where(finite[:, None, None], matrices, np.eye(3))
    depth = homogeneous(a) @ safe[:, 2, :, None]
    # The area that a small square gets is det / depth³.
    area = np.linalg.det(safe)[:, None] / np.maximum(depth[..., 0], 1e-6) ** 3
    small = area < max_scale**2
    large = area > max_scale**-2
    return np.asarray(finite & (depth[..., 0] > 0).all(axis=1) & (small & large).all(axis=1))


def distances(matrices: Floats, one: Floats, two: Floats) -> Floats:
    """Distance (s, k) of matched points (k, 2) under matrices (s, 3, 3): the root of both sides'.

    Both directions count, so that a transform that shrinks everything gains nothing. A point
    beyond the horizon is infinitely far.
    """
    there = _squared(matrices, one, two)
    back = _squared(np.asarray(np.linalg.inv(matrices), np.float64), two, one)
    return np.sqrt((there + back) / 2)


def _squared(matrices: Floats, points: Floats, targets: Floats) -> Floats:
    """Squared distances (s, k) of mapped points (k, 2) from their targets (k, 2)."""
    # s x k x 3
    mapped = homogeneous(points) @ np.swapaxes(matrices, -1, -2)
    # The middle of the points is in front of the horizon, whatever the sign of the matrix.
    sign = np.sign(mapped[..., 2].mean(axis=1, keepdims=True))
    depth = mapped[..., 2] * sign
    behind = depth <= 1e-9
    scale = sign / np.where(behind, 1.0, depth)
    x = mapped[..., 0] * scale - targets[:, 0]
    y = mapped[..., 1] * scale - targets[:, 1]
    return np.where(behind, np.inf, x * x + y * y)


def _costs(matrices: Floats, a: Floats, b: Floats, tolerance: float) -> Floats:
    """Truncated squared error (s,) of matrices (s, 3, 3), in squared tolerances."""
    ratio = (distances(matrices, a, b) / tolerance) ** 2
    return np.asarray(np.minimum(ratio, 1.0).sum(axis=1))


def polish(
    family: Family, matrix: Floats, a: Floats, b: Floats, tolerance: float, rounds: int = 6
) -> Floats:
    """Fit a matrix (3, 3) again to the points (k, 2) near it, from wide to narrow."""
    parameters = family.parameters(matrix)
    for step in range(rounds):
        # From three tolerances down to one.
        width = tolerance * max(3.0 - step, 1.0)
        matrix = family.matrix(parameters)
        near = distances(matrix[None], a, b)[0] < width
        if near.sum() < family.min_points:
            break
        residual = map_points(matrix, a[near]) - b[near]
        # Tukey's weights: full for a perfect match, none at the width.
        share = (residual**2).sum(axis=1) / width**2
        weight = np.clip(1 - share, 0, None)
        design = family.jacobian(parameters, a[near])
        weighted = (design * weight[:, None, None]).reshape(-1, family.size)
        normal = weighted.T @ design.reshape(-1, family.size)
        gradient = weighted.T @ residual.ravel()
        ridge = 1e-9 * np.trace(normal) / len(normal) + 1e-300
        parameters = parameters - np.linalg.solve(normal + ridge * np.eye(len(normal)), gradient)
    polished = family.matrix(parameters)
    # A step from a poor start may leave what can be inverted.
    usable = np.isfinite(polished).all() and abs(np.linalg.det(polished)) > 1e-9
    return np.asarray(polished if usable else matrix)
