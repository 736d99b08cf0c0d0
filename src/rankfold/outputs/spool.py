"""Pictures on one grid at full size, in memory or on disk, as much as there is room for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.scale import Store
from rankfold.stack import Bools, Frame

Array = npt.NDArray[Any]
Floats32 = npt.NDArray[np.float32]

# Trust is kept in bytes: zero is missing, this is full trust.
FULL = 255

# Unit: px. A patch reaches so far to every side of its pixel; a tile has as much around it.
RADIUS = 2

# Unit: px. Height and width of the tiles that are worked on at a time; bounds the memory.
TILE = (96, 256)


@dataclass(frozen=True)
class Tile:
    """A part of the grid.

    Attributes
    ----------
    rows, columns : slice
    """

    rows: slice
    columns: slice

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start

    @property
    def box(self) -> tuple[slice, slice]:
        """What takes the tile out of an array (..., h, w), after an Ellipsis."""
        return self.rows, self.columns


class Spool:
    """Pictures on one grid.

    Parameters
    ----------
    store : Store
        Where they are kept.
    count : int
        Number of pictures, k.
    channels : int
    grid : Frame

    Attributes
    ----------
    values : (k, c, h, w) array of float32
    trust : (k, h, w) array of uint8
        From 0 (missing) to FULL.
    """

    def __init__(self, store: Store, count: int, channels: int, grid: Frame) -> None:
        self.grid = grid
        self.values: Floats32 = store.zeros((count, channels, *grid.shape), np.float32)
        self.trust: npt.NDArray[np.uint8] = store.zeros((count, *grid.shape), np.uint8)
        self._store = store

    def __len__(self) -> int:
        """Count the pictures."""
        return len(self.trust)

    def put(self, k: int, rows: slice, values: Array, valid: Bools, trust: Array) -> None:
        """Keep some rows of picture ``k``: values (c, h, w), validity and trust (h, w) to 1."""
        self.values[k, :, rows] = values
        # What can be used at all keeps some trust.
        levels = np.maximum(np.rint(FULL * trust), 1)
        self.trust[k, rows] = np.where(valid, levels, 0)

    def done_with(self, k: int) -> None:
        """Take notice that picture ``k`` is complete and not needed soon."""
        self._store.done(self.values[k], self.trust[k])

    def read(self, tile: Tile, margin: int = 0) -> tuple[Floats32, Floats32]:
        """Return values (k, c, h, w) and trust (k, h, w) to 1 of a tile with a margin around it.

        Beyond the grid everything is missing.
        """
        height, width = self.grid.shape
        top = tile.rows.start - margin
        left = tile.columns.start - margin
        bottom = tile.rows.stop + margin
        right = tile.columns.stop + margin
        shape = (bottom - top, right - left)
        values = np.zeros((*self.values.shape[:2], *shape), np.float32)
        trust = np.zeros((len(self), *shape), np.float32)
        inside = np.s_[max(top, 0) : min(bottom, height), max(left, 0) : min(right, width)]
        place = np.s_[
            inside[0].start - top : inside[0].stop - top,
            inside[1].start - left : inside[1].stop - left,
        ]
        for k in range(len(self)):
            values[(k, slice(None), *place)] = self.values[(k, slice(None), *inside)]
            trust[(k, *place)] = self.trust[(k, *inside)] / np.float32(FULL)
        return values, trust

    def rest(self) -> None:
        """Take notice that nothing is needed for a while."""
        self._store.done(self.values, self.trust)


def tiles(grid: Frame, shape: tuple[int, int] = TILE) -> Iterator[Tile]:
    """Cut a grid into tiles, row by row."""
    for top in range(0, grid.height, shape[0]):
        for left in range(0, grid.width, shape[1]):
            yield Tile(
                slice(top, min(top + shape[0], grid.height)),
                slice(left, min(left + shape[1], grid.width)),
            )


def spread_tiles(grid: Frame, count: int, side: int) -> list[Tile]:
    """Return at most so many square tiles, spread evenly over the grid; all where they are few."""
    every = list(tiles(grid, (side, side)))
    if len(every) <= count:
        return every
    # Along the diagonals of the list, so that they lie in all columns.
    chosen = np.unique(np.linspace(0, len(every) - 1, count).round().astype(int))
    return [every[k] for k in chosen]


def coarse(spool: Spool, factor: int) -> tuple[Floats32, Floats32]:
    """Return copies (k, c, h, w) that are so many times coarser, and their trust (k, h, w).

    A pixel is the mean of what can be used in its square; its trust is the share of that.
    """
    height = spool.grid.height // factor
    width = spool.grid.width // factor
    values = np.zeros((len(spool), spool.values.shape[1], height, width), np.float32)
    trust = np.zeros((len(spool), height, width), np.float32)
    # A few rows of squares at a time.
    together = max(2**18 // (factor * spool.grid.width), 1)
    for k in range(len(spool)):
        for first in range(0, height, together):
            last = min(first + together, height)
            rows = np.s_[first * factor : last * factor, : width * factor]
            squares = (last - first, factor, width, factor)
            weight = spool.trust[k][rows].reshape(squares).astype(np.float32) / FULL
            total = weight.sum(axis=(1, 3))
            trust[k, first:last] = total / factor**2
            for c in range(values.shape[1]):
                here = spool.values[k, c][rows].reshape(squares)
                mean = (here * weight).sum(axis=(1, 3)) / np.maximum(total, 1e-6)
                values[k, c, first:last] = mean
        spool.done_with(k)
    return values, trust
