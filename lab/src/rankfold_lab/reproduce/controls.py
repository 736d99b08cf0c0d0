"""What a figure has to be held against: one face for all pictures scores well on many of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats
from rankfold.result import Alignment

Bools = npt.NDArray[np.bool_]

# A pixel is in the dark below this share of its picture's brightest (99th percentile).
DARK = 0.1


def median_face(result: Alignment) -> Floats:
    """The per-pixel median (n, h, w) of the aligned pictures at one brightness, for all of them."""
    pictures = _of_unit_norm(result)
    return np.repeat(np.nanmedian(pictures, axis=0)[None], len(pictures), axis=0)


def rank_one(result: Alignment) -> Floats:
    """The best fit (n, h, w) of rank one to the aligned pictures at one brightness."""
    pictures = np.nan_to_num(_of_unit_norm(result))
    U, values, V = np.linalg.svd(pictures.reshape(len(pictures), -1), full_matrices=False)
    return np.asarray((values[0] * np.outer(U[:, 0], V[0])).reshape(pictures.shape))


def second_to_first(result: Alignment) -> float:
    """The second singular value of the low-rank pictures over the first: zero for one face."""
    values = result.singular_values
    return float(values[1] / values[0]) if len(values) > 1 else 0.0


def error_on(result: Alignment, chosen: Bools) -> float:
    """How far the low-rank pictures are from what is seen, relative, mean over the chosen (n,)."""
    seen = np.isfinite(result.aligned[chosen])
    picture = np.where(seen, result.aligned[chosen], 0)
    off = np.where(seen, result.low_rank[chosen] - picture, 0)
    axes = tuple(range(1, off.ndim))
    return float(np.mean(np.sqrt((off**2).sum(axes) / (picture**2).sum(axes))))


def dark_share(pictures: npt.NDArray[Any]) -> float:
    """The share of pixels that are in the dark, mean over the pictures (n, h, w)."""
    shares = []
    for picture in pictures:
        seen = picture[np.isfinite(picture)]
        shares.append((seen < DARK * np.percentile(seen, 99)).mean())
    return float(np.mean(shares))


def _of_unit_norm(result: Alignment) -> Floats:
    """The aligned pictures over their norms, so that a dark one counts as much as a bright one."""
    axes = tuple(range(1, result.aligned.ndim))
    norms = np.sqrt(np.nansum(result.aligned**2, axis=axes, keepdims=True))
    return np.asarray(result.aligned / norms)
