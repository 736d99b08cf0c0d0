"""Pictures cut into a coarse grid of cells, in which regions are sought."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """A frame of h x w pixels in g x g cells."""

    side: int  # g
    shape: tuple[int, int]  # (h, w)

    @staticmethod
    def edges_of(size: int, count: int) -> npt.NDArray[np.intp]:
        """Where ``count`` pieces of a length begin, and where the last one ends (count + 1,)."""
        return np.linspace(0, size, count + 1).round().astype(np.intp)

    @property
    def edges(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The edges (g + 1,) of the rows and of the columns of cells, in px."""
        height, width = self.shape
        return self.edges_of(height, self.side), self.edges_of(width, self.side)

    def shown(self, basis: Floats) -> Floats:
        """What each cell shows of a basis (r, c, h, w): Σ v v' over its pixels, (g, g, r, r)."""
        rows, columns = self.edges
        r = len(basis)
        out = np.empty((self.side, self.side, r, r))
        for y in range(self.side):
            for x in range(self.side):
                cell = basis[:, :, rows[y] : rows[y + 1], columns[x] : columns[x + 1]]
                out[y, x] = np.tensordot(cell, cell, axes=((1, 2, 3), (1, 2, 3)))
        return out

    def pixels(self, cells: Bools) -> Bools:
        """The pixels (h, w) of some cells (g, g)."""
        rows, columns = self.edges
        tall = np.repeat(cells, np.diff(rows), axis=0)
        return np.asarray(np.repeat(tall, np.diff(columns), axis=1))

    def rectangles(self, least: int, most: int) -> Bools:
        """Every rectangle of ``least`` to ``most`` cells, (q, g, g)."""
        found = []
        spans = list(combinations(range(self.side + 1), 2))
        for top, bottom in spans:
            for left, right in spans:
                if least <= (bottom - top) * (right - left) <= most:
                    cells = np.zeros((self.side, self.side), dtype=bool)
                    cells[top:bottom, left:right] = True
                    found.append(cells)
        return np.array(found)


def grown(cells: Bools) -> Bools:
    """Cells (g, g) and all their neighbours."""
    return np.asarray(ndimage.binary_dilation(cells, np.ones((3, 3), dtype=bool)))
