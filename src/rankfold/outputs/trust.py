"""How far each pixel can be trusted, by what a decomposition says does not belong."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.outputs.enlarging import enlarged
from rankfold.outputs.grid import Grid
from rankfold.outputs.originals import Aligned, Originals

Array = npt.NDArray[Any]

# Where the run says nothing, beyond its frame and where it had no picture.
UNKNOWN = 0.5


class Doubts:
    """Trust in the pixels of the originals, on any rows of a grid.

    Parameters
    ----------
    aligned : Aligned
    originals : Originals
    grid : Grid
    doubt : float
        An error of so much of the range halves the trust.
    """

    def __init__(self, aligned: Aligned, originals: Originals, grid: Grid, doubt: float) -> None:
        self._aligned = aligned
        self._order = originals.order
        self._grid = grid
        self._doubt = doubt * _range_of(aligned)
        self._known: tuple[int, Array] | None = None

    def __call__(self, index: int, rows: slice) -> Array:
        """Return the trust (h, w) in some rows of picture ``index``."""
        # All rows of a picture are asked for in turn.
        if self._known is None or self._known[0] != index:
            self._known = (index, self.on_frame(index))
        return enlarged(self._known[1], self._grid, rows, outside=UNKNOWN)

    def on_frame(self, index: int) -> Array:
        """Return the trust (h, w) in picture ``index`` on the frame of the run."""
        place = self._order[index]
        error = np.abs(np.asarray(self._aligned.sparse[place], np.float64))
        if error.ndim == 3:
            error = error.max(axis=2)
        valid = np.asarray(self._aligned.valid[place])
        trust = 1 / (1 + (np.nan_to_num(error) / self._doubt) ** 2)
        return np.where(valid, trust, UNKNOWN)


def _range_of(aligned: Aligned) -> float:
    """From the darkest to the brightest value of one clean picture, in the caller's units."""
    clean = np.asarray(aligned.low_rank[0], np.float64)
    seen = clean[np.isfinite(clean)]
    if not seen.size:
        return 1.0
    return float(max(np.ptp(seen), np.finfo(np.float64).tiny))
