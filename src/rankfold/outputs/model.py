"""What the frame of a run knows of every picture: its light, and how it departs from the common.

A picture on the frame is gain x common + offset + a combination of a few directions in which the
low-rank pictures differ besides their light. What belongs to a picture is fitted to those of its
pixels that nothing hides, so that what hides the others has no say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats
from rankfold.io import Picture
from rankfold.outputs.light import GAINS, Light, common_light, fitted, terms_of
from rankfold.outputs.originals import Aligned, Originals
from rankfold.outputs.settings import OutputSettings
from rankfold.outputs.spool import Tile
from rankfold.outputs.warping import whole
from rankfold.stack import Bools, Frame

Array = npt.NDArray[Any]
Floats32 = npt.NDArray[np.float32]

# Low-rank pictures from which the directions are learned, at most.
LEARNED_FROM = 200

# Originals that are looked at on the frame where the run has other colours, at most.
LOOKED_AT = 40

# Directions that are kept, at most, and as a share of the pictures.
MOST = 24
SHARE = 0.34

# Rounds of reweighting when a picture is explained.
ROUNDS = 6

# A hidden pixel of the original hides those of the frame of which it is so much.
TOUCHED = 0.02


@dataclass(frozen=True)
class Explained:
    """One picture on the frame.

    Attributes
    ----------
    picture : (c, h, w) array
        What belongs to it; NaN where nothing is known.
    gains, offsets : (c, t) and (c,) arrays
        Its light.
    """

    picture: Floats32
    gains: Floats
    offsets: Floats


@dataclass(frozen=True)
class Model:
    """What is known of all pictures on the frame.

    Attributes
    ----------
    common : (c, h, w) array
        The scene in the common light; NaN where nothing is known.
    directions : (r, c h w) array
        Orthonormal; zero where nothing is known.
    variances : (r,) array
        Of the pictures along them.
    terms : (t, h, w) array
        Of the polynomial that a gain is.
    degree : int
        Of that polynomial.
    """

    common: Floats32
    directions: Floats
    variances: Floats
    terms: Floats
    degree: int

    def explain(self, values: Array, usable: Bools) -> Explained:
        """Explain a picture (c, h, w) on the frame by its usable pixels (h, w)."""
        known = np.isfinite(self.common).all(axis=0)
        weight = (usable & known).astype(np.float64)
        gains, offsets = fitted(values, np.nan_to_num(self.common), weight, self.terms)
        lit = self.lit(gains, offsets)
        left = np.where(known & usable, values - lit, 0).reshape(-1)
        where = np.tile((known & usable).ravel(), len(values))
        coefficients = self._coefficients(left, where)
        further = (coefficients @ self.directions).reshape(values.shape)
        return Explained((lit + further).astype(np.float32), gains, offsets)

    def lit(self, gains: Floats, offsets: Floats) -> Array:
        """The common scene (c, h, w) in a light."""
        field = np.clip(np.einsum("ct,thw->chw", gains, self.terms), *GAINS)
        return np.asarray(self.common * field + offsets[:, None, None])

    def light_of(self, explained: Sequence[Explained], grid: Frame) -> Light:
        """The light of some pictures on a grid of the same area, without offsets."""
        gains = np.stack([one.gains for one in explained])
        return Light(gains, np.zeros(gains.shape[:2]), grid, self.degree)

    def _coefficients(self, left: Array, where: Bools) -> Floats:
        """Coefficients (r,) that explain what the light leaves (c h w,), where it can be seen.

        They are the most probable ones if they come from a normal distribution with the variances
        of the low-rank pictures; errors have little weight.
        """
        if not len(self.directions) or not where.any():
            return np.zeros(len(self.directions))
        design = self.directions[:, where]
        seen = left[where].astype(np.float64)
        coefficients = np.zeros(len(design))
        weight = np.ones(len(seen))
        for _ in range(ROUNDS):
            residual = seen - coefficients @ design
            scale = 1.4826 * np.median(np.abs(residual)) + 1e-6
            weight = 1 / (1 + (residual / (2 * scale)) ** 2) ** 2
            weighted = design * weight
            normal = weighted @ design.T + np.diag(scale**2 / self.variances)
            coefficients = np.linalg.solve(normal, weighted @ seen)
        return coefficients


def model_of(aligned: Aligned, originals: Originals, settings: OutputSettings) -> Model:
    """Learn from the low-rank pictures of a run what their light leaves.

    Parameters
    ----------
    aligned : Aligned
    originals : Originals
    settings : OutputSettings
    """
    from rankfold.outputs.kernels import medians

    chosen = originals.spread(LEARNED_FROM)
    clean = np.asarray(aligned.low_rank[originals.order[chosen[0]]])
    same_colours = (clean.shape[2] if clean.ndim == 3 else 1) == originals.source.channels
    learned = _low_rank(aligned, originals, chosen) if same_colours else None
    values = _as_they_came(aligned, originals, chosen) if learned is None else learned
    known = np.asarray(np.isfinite(values).all(axis=1))
    filled = np.nan_to_num(values)
    numbers = replace(settings.light, degree=settings.fill.degree)
    light = common_light(filled, known.astype(np.float32), aligned.frame, numbers)
    terms = terms_of(aligned.frame, light.degree)
    whole_frame = Tile(slice(0, aligned.frame.height), slice(0, aligned.frame.width))
    matched = [light.matched(k, filled[k], whole_frame) for k in range(len(values))]
    common = medians(np.stack(matched), known.astype(np.float32))
    left = np.stack([filled[k] - light.relit(k, common, whole_frame) for k in range(len(values))])
    left = np.where(known[:, None] & np.isfinite(common), left, 0).reshape(len(values), -1)
    # Pictures as they came have things in front of them, which nothing should be explained by.
    directions, variances = _directions(left if same_colours else left[:0])
    return Model(common, directions, variances, terms, light.degree)


def _low_rank(aligned: Aligned, originals: Originals, chosen: Sequence[int]) -> Floats32:
    """Low-rank pictures (k, c, h, w) in the units of the originals."""
    rows = np.asarray(aligned.low_rank[[originals.order[k] for k in chosen]])
    values = rows[:, None] if rows.ndim == 3 else np.moveaxis(rows, 3, 1)
    return np.asarray(values * _factor(aligned, originals, chosen), np.float32)


def _as_they_came(aligned: Aligned, originals: Originals, chosen: Sequence[int]) -> Floats32:
    """Originals on the frame (k, c, h, w), NaN where missing: for runs in other colours."""
    some = chosen[:: -(-len(chosen) // LOOKED_AT)]
    brought = []
    for k, picture in zip(some, originals.read(some), strict=True):
        values, valid = on_frame(
            picture, None, originals.transforms[k], aligned.frame, originals.unit
        )
        brought.append(np.where(valid, values, np.nan))
    return np.stack(brought)


def on_frame(
    picture: Picture, hidden: Bools | None, matrix: Floats, frame: Frame, unit: float
) -> tuple[Floats32, Bools]:
    """Bring an original to the frame of the run: values (c, h, w), and what is usable (h, w)."""
    values, valid = whole(picture.values, without(picture, hidden), matrix, frame, unit)
    if hidden is not None and hidden.any():
        # A blur takes means over what can be used, so that the mask alone would leave little out.
        share, _ = whole(hidden.astype(np.uint8), None, matrix, frame)
        valid = valid & (share[0] < TOUCHED)
    return values, valid


def without(picture: Picture, hidden: Bools | None) -> Bools | None:
    """The mask (h, w) of a picture that leaves out what is hidden."""
    if hidden is None:
        return picture.mask
    return ~hidden if picture.mask is None else picture.mask & ~hidden


def _factor(aligned: Aligned, originals: Originals, chosen: Sequence[int]) -> float:
    """What turns the units of the run into those of the originals, if both differ."""
    some = list(chosen[: min(len(chosen), 5)])
    factors = []
    for k, picture in zip(some, originals.read(some), strict=True):
        values, valid = on_frame(
            picture, None, originals.transforms[k], aligned.frame, originals.unit
        )
        clean = np.asarray(aligned.low_rank[originals.order[k]], np.float64)
        grey = clean if clean.ndim == 2 else clean.mean(axis=2)
        where = valid & np.isfinite(grey) & (grey > 0)
        if where.any():
            factors.append(float(np.median(values.mean(axis=0)[where] / grey[where])))
    factor = float(np.median(factors)) if factors else 1 / originals.unit
    # Where both have the same units, which is usual, nothing is left to chance.
    exact = 1 / originals.unit
    return exact if abs(factor / exact - 1) < 0.2 else factor


def _directions(left: Floats32) -> tuple[Floats, Floats]:
    """Directions (r, m) in which rows (n, m) differ most, and the variances (r,) along them."""
    n = len(left)
    if n == 0:
        return np.zeros((0, left.shape[1])), np.zeros(0)
    data = left.astype(np.float64)
    values, vectors = np.linalg.eigh(data @ data.T)
    order = np.argsort(-values)[: min(MOST, int(SHARE * n))]
    kept = order[values[order] > 1e-10 * max(float(values.max()), 1e-300)]
    sizes = np.sqrt(values[kept])
    directions = (vectors[:, kept].T @ data) / sizes[:, None]
    return directions, np.asarray(values[kept] / n)
