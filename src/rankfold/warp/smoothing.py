"""Gaussian smoothing of pictures in which pixels are missing.

A missing pixel has no weight, and neither has what is beyond the edge: the mean is taken over the
pixels that are there. Filling them with zeros would darken their surroundings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.stack import Bools

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# Unit: standard deviations. The kernel ends there, as that of scipy.ndimage does.
REACH = 4.0

# A pixel around which the kernel finds less weight than this is zero.
LEAST_WEIGHT = 1e-12


def smooth(picture: Array, mask: Bools, sigma: float, complete: bool | None = None) -> Array:
    """Return the mean around every pixel, weighted by a Gaussian and by the mask.

    Parameters
    ----------
    picture : (h, w) array
        In single or double precision; the result has the same.
    mask : (h, w) array
        True where a pixel may be used.
    sigma : float
        Standard deviation of the Gaussian, in px of the picture.
    complete : bool, optional
        Whether no pixel is missing in the whole picture, of which this may be a part: a part must
        be computed as the whole is, to have the same last bits. By the mask if left out.

    Returns
    -------
    (h, w) array
        Zero where no pixel that may be used is near.
    """
    from rankfold.warp.filters import convolve

    kind = picture.dtype
    kernel = _kernel(sigma)
    weights = kernel.astype(kind, copy=False)
    total = np.empty(mask.shape, kind)
    if mask.all() if complete is None else complete:
        # The weight of a whole picture is a product of what is inside along y and along x.
        down, along = (_inside(size, kernel).astype(kind, copy=False) for size in mask.shape)
        convolve(np.ascontiguousarray(picture), weights, down, along, total)
        return total
    down, along = (np.ones(size, kind) for size in mask.shape)
    convolve(np.where(mask, picture, kind.type(0)), weights, down, along, total)
    weight = np.empty(mask.shape, kind)
    convolve(mask.astype(kind), weights, down, along, weight)
    return np.asarray(total / np.maximum(weight, kind.type(LEAST_WEIGHT)))


def reach_of(sigma: float) -> int:
    """Return how many pixels away a pixel still counts, for a Gaussian of ``sigma`` px."""
    return int(REACH * sigma + 0.5)


def _inside(size: int, kernel: Floats) -> Floats:
    """How much (size,) of the kernel around every pixel of a row lies inside the row."""
    reach = len(kernel) - 1
    whole_kernel = np.concatenate([kernel[:0:-1], kernel])
    return np.convolve(np.ones(size), whole_kernel, mode="full")[reach : reach + size]


def _kernel(sigma: float) -> Floats:
    """The Gaussian (reach + 1,) from its middle outwards; both sides together sum to one."""
    distances = np.arange(reach_of(sigma) + 1)
    weights = np.exp(-0.5 * (distances / sigma) ** 2)
    return np.asarray(weights / (2 * weights.sum() - weights[0]))
