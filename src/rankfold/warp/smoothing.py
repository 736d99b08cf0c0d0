"""Gaussian smoothing of pictures in which pixels are missing: what is missing or outside has no weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.stack import Bools

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

REACH = 4.0  # standard deviations after which the kernel ends


def smooth(picture: Array, mask: Bools, sigma: float) -> Array:
    """Mean of a picture (h, w) around every pixel, weighted by a Gaussian and by the mask; zero far from any pixel.

    In the precision of the picture, single or double.
    """
    from rankfold.warp.filters import convolve

    weights: Array = _kernel(sigma)
    kind = picture.dtype
    whole = bool(mask.all())
    given = np.ascontiguousarray(picture) if whole else np.where(mask, picture, kind.type(0))
    # the weight of a whole picture is a product of what is inside along y and along x
    down, along = (_inside(size, weights) if whole else np.ones(size) for size in mask.shape)
    weights, down, along = (part.astype(kind, copy=False) for part in (weights, down, along))
    total = np.empty(mask.shape, kind)
    convolve(given, weights, down, along, total)
    if whole:
        return total
    weight = np.empty(mask.shape, kind)
    convolve(mask.astype(kind), weights, down, along, weight)
    return np.asarray(total / np.maximum(weight, kind.type(1e-12)))


def _inside(size: int, weights: Floats) -> Floats:
    """How much (size,) of the kernel around every pixel of a row lies inside the row."""
    reach = len(weights) - 1
    return np.convolve(np.ones(size), _both_sides(weights), mode="full")[reach : reach + size]


def reach_of(sigma: float) -> int:
    """How many pixels away a pixel still counts."""
    return int(REACH * sigma + 0.5)


def _kernel(sigma: float) -> Floats:
    """The Gaussian from its middle outwards, both sides together summing to one."""
    weights = np.exp(-0.5 * (np.arange(reach_of(sigma) + 1) / sigma) ** 2)
    return np.asarray(weights / (2 * weights.sum() - weights[0]))


def _both_sides(weights: Floats) -> Floats:
    """The whole kernel."""
    return np.concatenate([weights[:0:-1], weights])
