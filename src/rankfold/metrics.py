"""How far a result is from the truth, where the truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats, inverse, map_points, point_jacobian

__all__ = ["AlignmentError", "alignment_error", "mean_scale", "recovery_error", "support_f1"]

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class AlignmentError:
    """Distance of landmarks from where they should be, up to a motion that all pictures share.

    Parameters
    ----------
    mean, std, max : float
        Over all landmarks of all pictures, in px of the frame.
    share_above_one : float
        Share of the landmarks that are more than 1 px away.
    each : (n,) array
        Mean over the landmarks of each picture.
    """

    mean: float
    std: float
    max: float
    share_above_one: float
    each: Floats


def alignment_error(transforms: Floats, truth: Floats, points: Floats) -> AlignmentError:
    """Compare transforms with the true ones at landmarks.

    Parameters
    ----------
    transforms, truth : (n, 3, 3) arrays
        From the frame to the pictures.
    points : (k, 2) array
        Landmarks in the frame.
    """
    # T_true^-1 T maps a landmark to itself if T is right. n x k x 2
    landed = map_points(inverse(truth) @ transforms, points)
    # The gauge is free, so the motion that the pictures share is taken out of each landmark.
    distance = np.linalg.norm(landed - np.median(landed, axis=0), axis=2)
    return AlignmentError(
        mean=float(distance.mean()),
        std=float(distance.std()),
        max=float(distance.max()),
        share_above_one=float((distance > 1).mean()),
        each=distance.mean(axis=1),
    )


def mean_scale(transforms: Floats, truth: Floats, point: Floats) -> float:
    """Return the geometric mean of the scales of T_true^-1 T; it is 1 if there is no bias.

    Parameters
    ----------
    transforms, truth : (n, 3, 3) arrays
        From the frame to the pictures.
    point : (2,) array
        Where in the frame the scale is taken.
    """
    logs = []
    for T in inverse(truth) @ transforms:
        area = abs(np.linalg.det(point_jacobian(T, point[None])[0]))
        # The scale is the root of the area's.
        logs.append(np.log(area) / 2)
    return float(np.exp(np.mean(logs)))


def recovery_error(estimate: Array, truth: Array, where: Bools | None = None) -> float:
    """Return ‖estimate - truth‖ / ‖truth‖ over the entries ``where``, by default all of them.

    The three arrays have the same shape.
    """
    chosen = np.ones(truth.shape, dtype=bool) if where is None else where
    distance = np.linalg.norm((estimate - truth)[chosen])
    return float(distance / np.linalg.norm(truth[chosen]))


def support_f1(estimate: Array, truth: Array) -> float:
    """Return the harmonic mean of precision and recall of the non-zero entries.

    Both arrays have the same shape; the result is zero if both are zero everywhere.
    """
    found = estimate != 0
    real = truth != 0
    agreed = (found & real).sum()
    return float(2 * agreed / max(int(found.sum() + real.sum()), 1))
