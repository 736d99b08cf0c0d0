"""Cast shadows: darker than the background, of the same colour, with its texture in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rankfold.outputs.settings import OutputSettings

Array = npt.NDArray[Any]

# So small a mean of squares is black, of which there are no shadows.
BLACK = 1e-6


def shadow_cost(values: Array, clean: Array, variance: Array, settings: OutputSettings) -> Array:
    """What it costs if a pixel belongs and is in a shadow.

    In a shadow, all colours around a pixel are those of the background times one factor. What that
    leaves costs as an error does, and a shadow itself costs a little.

    Parameters
    ----------
    values, clean : (c, h, w) arrays
        The picture, and what it should show.
    variance : (h, w) array
    settings : OutputSettings

    Returns
    -------
    (h, w) array
        Infinite where the factor is none of a shadow.
    """
    numbers = settings.shadows
    side = 2 * numbers.radius + 1
    product = ndimage.uniform_filter((values * clean).mean(axis=0), side)
    square = ndimage.uniform_filter((clean * clean).mean(axis=0), side)
    factor = product / np.maximum(square, BLACK)
    left = ((values - factor * clean) ** 2).mean(axis=0)
    cost = left / (numbers.width**2 * variance) + numbers.penalty
    possible = (factor > numbers.darkest) & (factor < numbers.brightest)
    return np.where(possible, cost, np.inf)
