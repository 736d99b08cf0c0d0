"""What a method of the cases is, and how pictures are laid on a sheet."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Measured = tuple[dict[str, Any], Bytes | None]

# What a method of the cases is. "paper": MeADMM with the paper's own average and norm, without our stages.
METHODS: dict[str, dict[str, Any]] = {
    "rasl": {"method": "rasl"},
    "rasl_coarse": {"method": "rasl", "coarse": True},
    "meadmm": {"method": "meadmm"},
    "paper": {
        "method": "meadmm",
        "projector": "average",
        "rank_surrogate": "nuclear",
        "features": None,
        "rescue": False,
        "coarse": False,
    },
}
STROKES: dict[str, Any] = {"coarse": True, "features": None, "rescue": False}  # of MeADMM on digits


def sheet(rows: list[list[Any]], zoom: int, gap: int = 3) -> Bytes:
    """Rows of pictures on white, each stretched to its own range."""
    height, width = rows[0][0].shape[:2]
    count = max(len(row) for row in rows)
    out = np.full(
        (len(rows) * (height * zoom + gap) - gap, count * (width * zoom + gap) - gap), 255, np.uint8
    )
    for r, row in enumerate(rows):
        for c, picture in enumerate(row):
            grey = np.nan_to_num(picture if picture.ndim == 2 else picture.mean(axis=2))
            low, high = np.percentile(grey, [0.5, 99.5])
            shown = np.clip(255 * (grey - low) / max(high - low, 1e-9), 0, 255).astype(np.uint8)
            tile = shown.repeat(zoom, axis=0).repeat(zoom, axis=1)
            top, left = r * (height * zoom + gap), c * (width * zoom + gap)
            out[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
    return out
