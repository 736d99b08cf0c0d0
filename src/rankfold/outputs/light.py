"""The light of every picture, relative to that of all: a smooth gain and an offset a channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats
from rankfold.outputs.settings import LightSettings
from rankfold.outputs.spool import Tile
from rankfold.stack import Frame

Array = npt.NDArray[Any]
Floats32 = npt.NDArray[np.float32]

# The least trust with which a coarse pixel takes part.
LEAST_TRUST = 0.05
# Residuals of so many robust standard deviations have a quarter of the weight.
TOLERATED = 2.0
# A gain outside of these is no light: the picture shows something else there.
GAINS = (0.05, 20.0)
# Rounds of reweighting in one fit.
REWEIGHTED = 5
# Keeps a fit to a picture without contrast from being undetermined, relative to the trace.
RIDGE = 1e-6


@dataclass(frozen=True)
class Light:
    """Picture k is gain_k x B + offset_k, channel by channel, where B is in the common light.

    Attributes
    ----------
    gains : (k, c, terms) array
        Coefficients of a polynomial over the grid, whose sides reach from -1 to 1.
    offsets : (k, c) array
    grid : Frame
    degree : int
        Of the polynomial.
    """

    gains: Floats
    offsets: Floats
    grid: Frame
    degree: int

    @property
    def brightness(self) -> Floats:
        """How bright each picture (k,) is, where one is the brightness of the median picture."""
        level = np.clip(self.gains[:, :, 0].mean(axis=1), *GAINS)
        return np.asarray(level / np.median(level))

    def gain(self, k: int, tile: Tile) -> Floats32:
        """Return the gain (c, h, w) of picture ``k`` on a tile, which may reach over the grid."""
        terms = _terms(self.grid, tile.rows, tile.columns, self.degree)
        field = np.einsum("ct,thw->chw", self.gains[k], terms)
        return np.asarray(np.clip(field, *GAINS), np.float32)

    def matched(self, k: int, values: Array, tile: Tile) -> Floats32:
        """Bring values (c, h, w) of picture ``k`` into the common light."""
        offset = self.offsets[k][:, None, None].astype(np.float32)
        return np.asarray((values - offset) / self.gain(k, tile), np.float32)

    def relit(self, k: int, values: Array, tile: Tile) -> Floats32:
        """Bring values (c, h, w) of the common light into that of picture ``k``."""
        offset = self.offsets[k][:, None, None].astype(np.float32)
        return np.asarray(values * self.gain(k, tile) + offset, np.float32)


def common_light(values: Array, trust: Array, grid: Frame, numbers: LightSettings) -> Light:
    """Find the light of pictures from coarse copies of them.

    Parameters
    ----------
    values, trust : (k, c, h, w) and (k, h, w) arrays
        Coarse copies and how far they can be trusted.
    grid : Frame
        The grid of which they are copies.
    numbers : LightSettings

    Returns
    -------
    Light
    """
    from rankfold.outputs.kernels import medians

    count, channels, height, width = values.shape
    whole = Tile(slice(0, height), slice(0, width))
    degree = numbers.degree if min(height, width) > numbers.degree + 1 else 0
    terms = _terms(Frame(max(height, 4), max(width, 4)), whole.rows, whole.columns, degree)
    gains = np.zeros((count, channels, len(terms)))
    gains[:, :, 0] = 1
    light = Light(gains, np.zeros((count, channels)), grid, degree)
    usable = trust > LEAST_TRUST
    for _ in range(numbers.rounds):
        common = medians(_in_common(light, values, terms), usable.astype(np.float32))
        known = np.isfinite(common).all(axis=0)
        fits = [
            fitted(values[k], np.nan_to_num(common), np.where(known, trust[k], 0), terms)
            for k in range(count)
        ]
        light = Light(
            np.stack([gain for gain, _ in fits]),
            np.stack([offset for _, offset in fits]),
            grid,
            degree,
        )
    return light


def fitted(values: Array, common: Array, weight: Array, terms: Floats) -> tuple[Floats, Floats]:
    """Fit gain (c, t) and offset (c,) of one picture, with little weight on what does not fit.

    Parameters
    ----------
    values, common : (c, h, w) arrays
        The picture, and the scene in the common light.
    weight : (h, w) array
        How far pixels can be trusted; zero where one of both is missing.
    terms : (t, h, w) array
        Of the polynomial.
    """
    channels = len(values)
    used = weight.ravel() > LEAST_TRUST
    gains = np.zeros((channels, len(terms)))
    gains[:, 0] = 1
    offsets = np.zeros(channels)
    if used.sum() <= len(terms) + 1:
        return gains, offsets
    shape = terms.reshape(len(terms), -1)[:, used]
    trusted = weight.ravel()[used].astype(np.float64)
    for c in range(channels):
        seen = values[c].ravel()[used].astype(np.float64)
        scene = common[c].ravel()[used].astype(np.float64)
        design = np.vstack([shape * scene, np.ones(len(seen))])
        robust = trusted
        for _ in range(REWEIGHTED):
            weighted = design * robust
            normal = weighted @ design.T
            normal += RIDGE * np.trace(normal) * np.eye(len(normal)) / len(normal)
            # The ridge holds the gain at one and everything else at zero.
            aim = np.zeros(len(normal))
            aim[0] = RIDGE * np.trace(normal) / len(normal)
            solution = np.linalg.solve(normal, weighted @ seen + aim)
            residual = seen - solution @ design
            scale = 1.4826 * np.median(np.abs(residual)) + 1e-6
            robust = trusted / (1 + (residual / (TOLERATED * scale)) ** 2) ** 2
        gains[c] = solution[:-1]
        offsets[c] = solution[-1]
    return gains, offsets


def terms_of(grid: Frame, degree: int) -> Floats:
    """Return the terms (t, h, w) of a polynomial of a degree over a grid; the first is one."""
    return _terms(grid, slice(0, grid.height), slice(0, grid.width), degree)


def _in_common(light: Light, values: Array, terms: Floats) -> Floats32:
    """Bring coarse copies (k, c, h, w) into the common light."""
    field = np.clip(np.einsum("kct,thw->kchw", light.gains, terms), *GAINS)
    matched = (values - light.offsets[:, :, None, None]) / field
    return np.asarray(matched, np.float32)


def _terms(grid: Frame, rows: slice, columns: slice, degree: int) -> Floats:
    """Return the terms (t, h, w) of a polynomial on a part of the grid; the first is one."""
    # Pixel centres; the edges of the grid are at -1 and 1.
    y = (2 * np.arange(rows.start, rows.stop)[:, None] + 1) / grid.height - 1
    x = (2 * np.arange(columns.start, columns.stop) + 1) / grid.width - 1
    one = np.ones((rows.stop - rows.start, columns.stop - columns.start))
    powers = [(i, j) for total in range(degree + 1) for i in range(total + 1) for j in (total - i,)]
    return np.stack([one * y**i * x**j for i, j in powers])
