"""What a method of the cases is, and how pictures are laid on a sheet."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
# The numbers of a cell, and a picture where the paper has one.
Measured = tuple[dict[str, Any], Bytes | None]

# Options of rankfold.align for every method of the cases. "paper" is MeADMM with the paper's own
# average and norm, without our stages.
METHODS: dict[str, dict[str, Any]] = {
    # As published: every step from scratch, to all digits, on the whole frame, nothing taken out.
    "rasl": {"method": "rasl", "schedule": "published", "shared": 0},
    "rasl_coarse": {"method": "rasl", "schedule": "published", "start": "coarse", "shared": 0},
    "meadmm": {"method": "meadmm"},
    "paper": {
        "method": "meadmm",
        "projector": "average",
        "rank_surrogate": "nuclear",
        "features": None,
        "rescue": False,
        "start": "given",
        "shared": 0,
    },
}
# What MeADMM does otherwise on digits.
STROKES: dict[str, Any] = {"start": "coarse", "features": None, "rescue": False}


def sheet(rows: list[list[Any]], zoom: int, gap: int = 3) -> Bytes:
    """Return rows of pictures on white, each stretched to its own range.

    Parameters
    ----------
    rows : list of lists of arrays (h, w[, c])
        All of one size.
    zoom : int
        How often every pixel is repeated.
    gap : int
        Pixels between pictures.
    """
    height, width = rows[0][0].shape[:2]
    down = height * zoom + gap
    across = width * zoom + gap
    count = max(len(row) for row in rows)
    out = np.full((len(rows) * down - gap, count * across - gap), 255, np.uint8)
    for r, row in enumerate(rows):
        for c, picture in enumerate(row):
            tile = _tile(picture, zoom)
            top = r * down
            left = c * across
            out[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
    return out


def _tile(picture: npt.NDArray[Any], zoom: int) -> Bytes:
    """Return one picture in grey, stretched from its darkest to its brightest half percent."""
    grey = np.nan_to_num(picture if picture.ndim == 2 else picture.mean(axis=2))
    low, high = np.percentile(grey, [0.5, 99.5])
    stretched = 255 * (grey - low) / max(high - low, 1e-9)
    shown = np.clip(stretched, 0, 255).astype(np.uint8)
    return np.asarray(shown.repeat(zoom, axis=0).repeat(zoom, axis=1))
