"""The slabs as blocks of pixels of all images, which is how a projector wants to see them."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm.layout import ALL, Slab, pieces
from rankfold.admm.problem import Problem
from rankfold.manifold import (
    AnyProjector,
    Block,
    Context,
    Function,
    Overview,
    Projection,
    project_rows,
)
from rankfold.manifold.contract import add_statistics
from rankfold.scale import Executor, Serial, Store, store_of

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Pixels of a block that is put together from slabs of images.
COLUMNS = 1024
# A block is surveyed with its halo; it is at least so many times as long.
HALOS = 4


class Pixels:
    """Blocks of pixels of all images, out of slabs that may be cut along either axis.

    Parameters
    ----------
    slabs : list of Slab
        In order. Of some pixels only, where blocks are asked for that they hold.
    m : int
        The pixels of an image.
    """

    def __init__(self, slabs: list[Slab], m: int) -> None:
        self._slabs = slabs
        self._m = m
        # A slab of some images has all of their pixels.
        self._of_images = slabs[0].columns == ALL
        # Whether a block has to be copied together.
        self.copied = self._of_images and len(slabs) > 1
        if not self._of_images:
            self.columns = [slab.columns for slab in slabs]
        elif self.copied:
            self.columns = pieces(self._m, COLUMNS)
        else:
            self.columns = [slice(0, self._m)]

    def read(self, name: str, low: int, high: int) -> Array:
        """Columns from low to high of an array; a view where one slab has them all."""
        if self._of_images:
            parts = [getattr(slab, name)[:, low:high] for slab in self._slabs]
        else:
            parts = [
                getattr(slab, name)[:, max(low - columns.start, 0) : high - columns.start]
                for slab, columns in zip(self._slabs, self.columns, strict=True)
                if columns.start < high and low < columns.stop
            ]
        if len(parts) == 1:
            return np.asarray(parts[0])
        return np.concatenate(parts, axis=0 if self._of_images else 1)

    def write(self, columns: slice, phi: Array) -> None:
        """Give every slab of images its rows of Φ (n, b) in some columns."""
        for slab in self._slabs:
            slab.P[:, columns] = phi[slab.rows]

    def block(self, columns: slice, halo: int, executor: Executor) -> Block:
        """Some pixels of all images; E also has a halo of pixels around them."""
        low = columns.start
        high = columns.stop
        before = min(halo, low)
        after = min(halo, self._m - high)
        return Block(
            low_rank=self.read("A", low, high),
            target=self.read("V", low, high),
            sparse=self.read("E", low - before, high + after),
            valid=self.valid(columns),
            first=low,
            before=before,
            executor=executor,
        )

    def valid(self, columns: slice) -> Bools | None:
        """Which pixels (n, b) are not missing; None = all."""
        if self._slabs[0].W.size == 0:
            return None
        return self.read("W", columns.start, columns.stop) > 0

    def gram(self) -> Floats:
        """A A', n x n."""
        blocks = (self.read("A", columns.start, columns.stop) for columns in self.columns)
        return np.asarray(reduce(np.add, (A @ A.T for A in blocks)), dtype=np.float64)

    def done(self, columns: slice, store: Store) -> None:
        """Say that these columns are not needed for a while, where slabs are of columns."""
        if self._of_images:
            return
        for slab in self._slabs:
            if slab.columns.start < columns.stop and columns.start < slab.columns.stop:
                store.done(slab.room, slab.P)


def joined(columns: list[slice], least: int) -> list[slice]:
    """Neighbouring columns joined until there are at least so many in each piece but the last."""
    found: list[slice] = []
    for piece in columns:
        if found and found[-1].stop - found[-1].start < least:
            piece = slice(found.pop().start, piece.stop)
        found.append(piece)
    return found


def project_onto(
    projector: AnyProjector,
    problem: Problem,
    slabs: list[Slab],
    gram: Floats | None,
    executor: Executor,
) -> None:
    """Write Φ to every slab; ``gram`` is A A' where that is known already."""
    pixels = Pixels(slabs, problem.data.shape[1])
    make_room(slabs, store_of(executor))
    overview = Overview(
        gram=pixels.gram() if gram is None else gram,
        units=problem.row_units,
        shape=problem.row_shape,
    )
    if isinstance(projector, Function):
        _project_whole_rows(projector, pixels, slabs, overview, executor)
    else:
        _project_blocks(projector.at(overview), pixels, executor)


def make_room(slabs: list[Slab], store: Store) -> None:
    """Make room for Φ, at the first projection; the next ones use it again."""
    if slabs[0].P.shape == slabs[0].A.shape:
        return
    rooms = store.pieces([slab.A.shape for slab in slabs], slabs[0].A.dtype)
    for slab, room in zip(slabs, rooms, strict=True):
        slab.P = room


def _project_blocks(projection: Projection, pixels: Pixels, executor: Executor) -> None:
    """Statistics of every block, weights from their sum, embedding of every block."""
    # One block shares its own work out; several blocks are shared out themselves.
    several = len(pixels.columns) > 1
    inside = Serial() if several else executor
    around = executor if several else Serial()
    # Every block also looks at its halo, so blocks that are not longer would take time for nothing.
    wide = joined(pixels.columns, HALOS * projection.halo)
    store = store_of(executor)

    def survey(columns: slice) -> tuple[Floats, ...]:
        found = projection.statistics(pixels.block(columns, projection.halo, inside))
        pixels.done(columns, store)
        return found

    def embed(columns: slice) -> None:
        out = pixels.read("P", columns.start, columns.stop)
        projection.embed(pixels.block(columns, 0, inside), weights, out)
        if pixels.copied:
            pixels.write(columns, out)
        pixels.done(columns, store)

    weights = projection.weights(add_statistics(around.run(survey, wide)))
    around.run(embed, pixels.columns)


def _project_whole_rows(
    projector: Function,
    pixels: Pixels,
    slabs: list[Slab],
    overview: Overview,
    executor: Executor,
) -> None:
    """A function that wants whole rows gets them, which takes three arrays n x m."""
    m = sum(columns.stop - columns.start for columns in pixels.columns)
    context = Context(
        low_rank=pixels.read("A", 0, m),
        sparse=pixels.read("E", 0, m),
        target=pixels.read("V", 0, m),
        valid=pixels.valid(slice(0, m)),
        gram=overview.gram,
        units=overview.units,
        shape=overview.shape,
        executor=executor,
    )
    phi = project_rows(projector, context)
    for slab in slabs:
        slab.P[...] = phi[slab.rows, slab.columns]
