"""A filling that joins its surroundings: the difference at the rim, carried smoothly inwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rankfold.stack import Bools

Array = npt.NDArray[Any]
Floats32 = npt.NDArray[np.float32]

# A difference at the rim of more standard deviations than this is no light.
TOLERATED = 3.0

# Depth in a hole, in widths of the rim, at which the difference at the rim counts a third.
FADING = 3.0

# The least weight of a pixel that the rim has reached.
LEAST_WEIGHT = 1e-6


def carried_inwards(
    difference: Array, variance: Array, hole: Bools, known: Bools, reach: int
) -> Floats32:
    """Carry the difference around a hole smoothly into it.

    It is averaged over the rim, and spread over the hole by pulling means down a pyramid and
    pushing them up again.

    Parameters
    ----------
    difference : (c, h, w) array
        The picture less what it should show.
    variance : (h, w) array
        Of that difference where nothing is in front.
    hole : (h, w) array of bool
        Where the picture cannot be used.
    known : (h, w) array of bool
        Where it is known what the picture should show.
    reach : int
        Width of the rim, px.

    Returns
    -------
    (c, h, w) array
        Zero far from the rim of any hole.
    """
    inside = hole & known
    # What is still in front at the rim shall not shine inwards.
    light = (difference**2).mean(axis=0) < TOLERATED**2 * variance
    rim = ndimage.binary_dilation(inside, iterations=reach) & ~hole & known & light
    if not rim.any():
        return np.zeros(difference.shape, np.float32)
    weight = np.zeros(hole.shape, np.float32)
    weight[rim] = 1
    filled = np.empty(difference.shape, np.float32)
    for c, plane in enumerate(difference):
        held = np.where(rim, plane, 0).astype(np.float32)
        filled[c] = _pulled(_averaged(held, weight, reach), weight)
    # Deep inside, what the picture should show is known better than what its rim says of the light.
    depth = ndimage.distance_transform_edt(inside)
    return np.asarray(filled * np.exp(-depth / (FADING * reach)), np.float32)


def _averaged(values: Floats32, weight: Floats32, reach: int) -> Floats32:
    """Average (h, w) over what has weight, a few pixels around: noise is not carried inwards."""
    side = 2 * reach + 1
    total = ndimage.uniform_filter(values * weight, side, mode="constant")
    share = ndimage.uniform_filter(weight, side, mode="constant")
    return np.asarray(total / np.maximum(share, LEAST_WEIGHT), np.float32)


def _pulled(values: Floats32, weight: Floats32) -> Floats32:
    """Fill in where the weight (h, w) is zero from coarser and coarser means."""
    if min(values.shape) <= 2 or (weight > 0).all():
        total = max(float(weight.sum()), LEAST_WEIGHT)
        mean = np.float32((values * weight).sum() / total)
        return np.where(weight > 0, values, mean)
    height, width = values.shape
    padding = ((0, height % 2), (0, width % 2))
    squares = ((height + 1) // 2, 2, (width + 1) // 2, 2)
    coarse_weight = np.pad(weight, padding).reshape(squares).sum(axis=(1, 3))
    total = np.pad(values * weight, padding).reshape(squares).sum(axis=(1, 3))
    coarse = total / np.maximum(coarse_weight, LEAST_WEIGHT)
    below = _pulled(coarse.astype(np.float32), np.minimum(coarse_weight, 1).astype(np.float32))
    # Smooth where it is pushed up: linear between the centres of the squares.
    pushed = ndimage.zoom(below, 2, order=1, grid_mode=True, mode="nearest")[:height, :width]
    return np.asarray(weight * values + (1 - weight) * pushed, np.float32)
