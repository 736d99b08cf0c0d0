"""How much pictures differ where they show the same: more where the gradient is large."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.outputs.settings import NoiseSettings

Array = npt.NDArray[Any]
Floats32 = npt.NDArray[np.float32]

# From a median magnitude to a standard deviation.
NORMAL = 1.4826


@dataclass(frozen=True)
class Noise:
    """Variance a + c |gradient|²: what is between the pixels counts where the gradient is large.

    Attributes
    ----------
    constant, slope : float
        a and c.
    floor : float
        The least standard deviation.
    """

    constant: float
    slope: float
    floor: float

    def variance(self, clean: Array) -> Floats32:
        """Return the variance (h, w) for a clean picture (c, h, w); NaN counts as flat."""
        steep = squared_gradient(clean)
        variance = np.maximum(self.constant + self.slope * steep, self.floor**2)
        return np.asarray(variance, np.float32)


# Residuals (k, c, h, w), trust (k, h, w), and the clean picture (c, h, w) beneath.
Sample = tuple[Array, Array, Array]


def noise_of(samples: Iterable[Sample], span: float, numbers: NoiseSettings) -> Noise:
    """Fit the noise to parts of pictures.

    Parameters
    ----------
    samples : iterable of (k, c, h, w), (k, h, w) and (c, h, w) arrays
        What is left of the pictures when the clean one is taken off, how far they can be trusted,
        and the clean picture.
    span : float
        The range of the values.
    numbers : NoiseSettings
    """
    from rankfold.outputs.kernels import medians

    steep = []
    spread = []
    for residuals, trust, clean in samples:
        # The median over the pictures does not see what is in front of a few of them.
        magnitude = NORMAL * medians(np.abs(residuals), trust)
        variance = (magnitude**2).mean(axis=0)
        # A single picture is its own median, and says nothing of noise.
        known = np.isfinite(variance) & ((trust > 0).sum(axis=0) > 1)
        steep.append(squared_gradient(clean)[known])
        spread.append(variance[known])
    floor = numbers.floor * span
    gradients = np.concatenate(steep) if steep else np.zeros(0)
    variances = np.concatenate(spread) if spread else np.zeros(0)
    if len(gradients) <= numbers.bins:
        return Noise(floor**2, 0.0, floor)
    constant, slope = _line(gradients, variances, numbers.bins)
    return Noise(constant, slope, floor)


def _line(gradients: Array, variances: Array, bins: int) -> tuple[float, float]:
    """Fit a non-negative line to the medians of variances in bins of equal size."""
    from scipy.optimize import nnls

    parts = np.array_split(np.argsort(gradients, kind="stable"), bins)
    centres = np.array([gradients[part].mean() for part in parts], np.float64)
    typical = np.array([np.median(variances[part]) for part in parts], np.float64)
    # A bin may be mostly leaves that wave, which has no less noise at larger gradients. So no bin
    # counts more than the ones above it.
    typical = np.minimum.accumulate(typical[::-1])[::-1]
    constant, slope = nnls(np.column_stack([np.ones(bins), centres]), typical)[0]
    return float(constant), float(slope)


def squared_gradient(clean: Array) -> Floats32:
    """Return the squared length (h, w) of the gradient of a picture (c, h, w), mean over c."""
    filled = np.nan_to_num(clean)
    total = np.zeros(clean.shape[1:], np.float32)
    for plane in filled:
        for axis in (0, 1):
            # A tile at the edge may have a single row or column, and no gradient along it.
            if plane.shape[axis] > 1:
                total += (np.gradient(plane, axis=axis) ** 2).astype(np.float32)
    return total / np.float32(len(filled))
