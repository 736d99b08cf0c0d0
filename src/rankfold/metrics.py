"""How far a result is from the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats, inverse, map_points, point_jacobian


@dataclass(frozen=True)
class AlignmentError:
    """Distance of landmarks from where they should be, in frame px, up to a motion that all images share."""

    mean: float
    std: float
    max: float
    share_above_one: float
    each: Floats  # (n,) mean over the landmarks of an image


def alignment_error(transforms: Floats, truth: Floats, points: Floats) -> AlignmentError:
    """Compare transforms (n, 3, 3) with the true ones at canonical landmarks ``points`` (k, 2).

    T_true^{-1} T maps a landmark to itself when all is well; the median over the images is taken out for each
    landmark, because the gauge is free.
    """
    landed = map_points(inverse(truth) @ transforms, points)
    distance = np.linalg.norm(landed - np.median(landed, axis=0), axis=2)
    return AlignmentError(
        mean=float(distance.mean()),
        std=float(distance.std()),
        max=float(distance.max()),
        share_above_one=float((distance > 1).mean()),
        each=distance.mean(axis=1),
    )


def mean_scale(transforms: Floats, truth: Floats, point: Floats) -> float:
    """Geometric mean over the images of the scale of T_true^{-1} T at a canonical point (2,): 1 when unbiased."""
    logs = [
        np.log(abs(np.linalg.det(point_jacobian(T, point[None])[0]))) / 2
        for T in inverse(truth) @ transforms
    ]
    return float(np.exp(np.mean(logs)))


def recovery_error(
    estimate: npt.NDArray[Any], truth: npt.NDArray[Any], where: npt.NDArray[np.bool_] | None = None
) -> float:
    """‖estimate - truth‖ / ‖truth‖ over the entries ``where``."""
    chosen = np.ones(truth.shape, dtype=bool) if where is None else where
    return float(np.linalg.norm((estimate - truth)[chosen]) / np.linalg.norm(truth[chosen]))


def support_f1(estimate: npt.NDArray[Any], truth: npt.NDArray[Any]) -> float:
    """Harmonic mean of precision and recall of the non-zero entries."""
    found, real = estimate != 0, truth != 0
    return float(2 * (found & real).sum() / max(int(found.sum() + real.sum()), 1))
