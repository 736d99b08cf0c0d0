"""Small pictures and numbers about pictures, as the report shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats
from rankfold.runs import as_bytes

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

# Share of the display range: a pixel that differs by more counts as not belonging.
IN_ERROR = 0.1

# Share of the display range: an error this large has the full colour.
FULL_COLOUR = 0.6

# Red, green and blue of no error, of a pixel darker than the clean picture, of a brighter one.
GREY = np.array([128, 128, 128])
BLUE = np.array([30, 110, 235])
ORANGE = np.array([255, 150, 20])


def signed_colours(values: Array, span: float) -> Bytes:
    """Return errors (h, w[, c]) as a picture (h, w, 3).

    Blue is darker than the clean picture, orange is brighter, grey is no error. ``span`` is the
    display range.
    """
    grey = values if values.ndim == 2 else values.mean(axis=2)
    # From -1 to 1. h x w x 1
    t = np.clip(np.nan_to_num(grey) / (FULL_COLOUR * span), -1, 1)[..., None]
    mixed = GREY + np.abs(t) * np.where(t < 0, BLUE - GREY, ORANGE - GREY)
    return np.asarray(mixed.astype(np.uint8))


def rgb(picture: Bytes) -> Bytes:
    """Return a picture (h, w[, c]) with three channels; other numbers of channels become grey."""
    if picture.ndim == 2:
        return np.dstack([picture] * 3)
    if picture.shape[2] == 3:
        return picture
    grey = picture.mean(axis=2).astype(np.uint8)
    return np.dstack([grey] * 3)


def average(pictures: Array, low: float, high: float) -> Bytes:
    """Return the mean (h, w, 3) of pictures (n, h, w[, c]) over those that show a pixel.

    ``low`` becomes black and ``high`` white. NaN marks pixels that a picture does not show.
    """
    seen = np.isfinite(pictures)
    total = np.where(seen, pictures, 0).sum(axis=0)
    mean = total / np.maximum(seen.sum(axis=0), 1)
    return rgb(as_bytes(mean, low, high))


def outlined(picture: Bytes, region: npt.NDArray[np.bool_]) -> Bytes:
    """Return a picture (h, w, 3) with the edge of a region (h, w) in orange."""
    inner = np.pad(region, 1)
    # A pixel is on the edge if one of the four beside it is not in the region.
    beside = inner[:-2, 1:-1] & inner[2:, 1:-1] & inner[1:-1, :-2] & inner[1:-1, 2:]
    out = picture.copy()
    out[region & ~beside] = ORANGE
    return out


def spectrum(pictures: Array) -> Floats:
    """Return the singular values (n,) of pictures (n, ...) as rows of unit norm, NaN as zero."""
    rows = np.nan_to_num(pictures.reshape(len(pictures), -1)).astype(np.float64)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    # Their squares are the eigenvalues of the n x n Gram matrix, which is small.
    squares = np.linalg.eigvalsh(rows @ rows.T)[::-1]
    return np.asarray(np.sqrt(np.maximum(squares, 0)))


def share_in_error(sparse: Array, span: float) -> Floats:
    """Return the share (n,) of the pixels of errors (n, ...) that did not belong."""
    errors = np.abs(sparse.reshape(len(sparse), -1))
    return np.asarray((errors > IN_ERROR * span).mean(axis=1))
