"""How far a result is from the truth, where the truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.arguments import array_of, is_real, numbers, with_nan
from rankfold.errors import InputError
from rankfold.families import Floats, inverse, map_points, point_jacobian
from rankfold.stack import power_of_two

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
    estimates, true = _both("n 3 3", transforms=transforms, truth=truth)
    with np.errstate(all="ignore"):
        # T_true^-1 T maps a landmark to itself if T is right. n x k x 2
        landed = map_points(_between(true, estimates), numbers("the points", points, "k 2"))
        # The gauge is free, so the motion that the pictures share is taken out of each landmark.
        distance = np.linalg.norm(landed - np.median(landed, axis=0), axis=2)
        spread = float(distance.std())
    if not np.isfinite(spread):
        raise InputError("a landmark lands at infinity or too far away; correct the transforms")
    return AlignmentError(
        mean=float(distance.mean()),
        std=spread,
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
    estimates, true = _both("n 3 3", transforms=transforms, truth=truth)
    place = numbers("the point", point, "2")
    logs = []
    with np.errstate(all="ignore"):
        for T in _between(true, estimates):
            area = abs(np.linalg.det(point_jacobian(T, place[None])[0]))
            # The scale is the root of the area's.
            logs.append(np.log(area) / 2)
        scale = float(np.exp(np.mean(logs)))
    # An area of zero has the logarithm -inf.
    if not 0 < scale < np.inf:
        raise InputError("a transform has no scale at the point; correct the transforms")
    return scale


def recovery_error(estimate: Array, truth: Array, where: Bools | None = None) -> float:
    """Return ‖estimate - truth‖ / ‖truth‖ over the entries ``where``, by default all of them.

    The three arrays have the same shape.
    """
    found, true = _alike(estimate, truth)
    chosen = _chosen(where, true.shape)
    # A power of two changes no digit, and keeps squares of tiny or huge values in range.
    unit = power_of_two(true[chosen])
    with np.errstate(all="ignore"):
        distance = float(np.linalg.norm((found / unit - true / unit)[chosen]))
        size = float(np.linalg.norm((true / unit)[chosen]))
    if not (np.isfinite(distance) and np.isfinite(size)):
        raise InputError("the estimate or the truth is not finite there; choose entries that are")
    if size == 0:
        raise InputError("the truth is zero there, so no error can be relative to it")
    return distance / size


def support_f1(estimate: Array, truth: Array) -> float:
    """Return the harmonic mean of precision and recall of the non-zero entries.

    Both arrays have the same shape; the result is zero if both are zero everywhere. Entries that
    are masked or NaN in one of them do not count.
    """
    given, true = _alike(estimate, truth)
    known = ~(np.isnan(given) | np.isnan(true))
    found = (given != 0) & known
    real = (true != 0) & known
    agreed = (found & real).sum()
    return float(2 * agreed / max(int(found.sum() + real.sum()), 1))


def _both(axes: str, **given: Floats) -> tuple[Floats, Floats]:
    """Two arrays of finite numbers of one shape, by their names."""
    one, other = (numbers(f"the {name}", value, axes) for name, value in given.items())
    if one.shape != other.shape:
        names = " and ".join(given)
        raise InputError(f"{names} have shapes {one.shape} and {other.shape}; they must agree")
    return one, other


def _between(truth: Floats, transforms: Floats) -> Floats:
    """T_true^-1 T (n, 3, 3)."""
    try:
        return inverse(truth) @ transforms
    except np.linalg.LinAlgError as error:
        raise InputError("a true transform has no inverse; correct it") from error


def _alike(estimate: Array, truth: Array) -> tuple[Array, Array]:
    """An estimate and the truth as plain arrays of real numbers of one shape."""
    found = with_nan(array_of(estimate, "the estimate"))
    true = with_nan(array_of(truth, "the truth"))
    if found.shape != true.shape or not is_real(found.dtype) or not is_real(true.dtype):
        raise InputError(
            f"the estimate has shape {found.shape} and type {found.dtype}, the truth {true.shape} "
            f"and {true.dtype}; give numbers of one shape"
        )
    return _as_floats(found), _as_floats(true)


def _as_floats(array: Array) -> Array:
    """The same in one of the two precisions; differences of unsigned integers would wrap round."""
    if array.dtype in (np.float32, np.float64):
        return array
    with np.errstate(over="ignore"):
        return array.astype(np.float64)


def _chosen(where: Bools | None, shape: tuple[int, ...]) -> Bools:
    """The entries that count, as booleans of a shape."""
    if where is None:
        return np.ones(shape, dtype=bool)
    chosen = array_of(where, "where")
    if chosen.shape != shape or chosen.dtype != bool:
        raise InputError(
            f"where has shape {chosen.shape} and type {chosen.dtype}; give True or False for "
            f"every entry, as {shape}"
        )
    return np.asarray(np.ma.filled(chosen, False), dtype=bool)
