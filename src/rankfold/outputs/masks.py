"""What does not belong in the pictures of a run, in their own pixels or in the frame."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.families import Floats
from rankfold.io.memory import of_rows
from rankfold.io.source import nothing
from rankfold.outputs.foreground import Asked, Foreground
from rankfold.outputs.judging import learned_variance
from rankfold.outputs.means import Means
from rankfold.outputs.model import model_of
from rankfold.outputs.modelled import modelled
from rankfold.outputs.originals import Aligned, Images, Ints, originals_of, widest_grid
from rankfold.outputs.refining import refined
from rankfold.outputs.scene import count_of_tiles
from rankfold.stack import Bools, Frame

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class InFrame:
    """Pictures that lie in one frame as they are; an :class:`Aligned`.

    Attributes
    ----------
    names : tuple of n str
    low_rank, sparse : (n, h, w[, c]) arrays
    failed : (n,) array of bool
    """

    names: tuple[str, ...]
    low_rank: Array
    sparse: Array
    failed: Bools

    @property
    def transforms(self) -> Floats:
        """The identity for each (n, 3, 3)."""
        return np.tile(np.eye(3), (len(self.names), 1, 1))

    @property
    def frame(self) -> Frame:
        """The frame in which they lie."""
        return Frame(*self.low_rank.shape[1:3])

    @property
    def source_shapes(self) -> Ints:
        """Height and width (n, 2)."""
        return np.tile(self.frame.shape, (len(self.names), 1))

    @cached_property
    def valid(self) -> Bools:
        """Everything (n, h, w), as far as this says: NaN is looked for in the pictures."""
        return np.broadcast_to(np.True_, (len(self.names), *self.frame.shape))


def masks_of(
    aligned: Aligned,
    images: Images,
    asked: Asked,
    means: Means,
) -> Foreground:
    """Learn what the pictures of a run should show; ``result.mask`` calls it.

    Parameters
    ----------
    aligned : Aligned
    images : list of arrays, one array, a path or a Source
    asked : Asked
    means : Means
    """
    numbers = means.numbers
    originals = originals_of(aligned, images)
    placed = originals.placed
    grid = widest_grid(originals, aligned.frame)
    donors = originals.spread(numbers.votes.donors)
    if len(donors) < 2:
        raise InputError("fewer than two pictures found their place, so nothing can be compared")
    watch = means.counting(3 * len(donors) + count_of_tiles(grid.frame))
    with means.executor(grid.frame, len(donors), originals.source.channels) as executor:
        originals = refined(aligned, originals, grid, numbers, executor, nothing)
        matrices = originals.transforms @ grid.to_frame
        predictor = modelled(
            aligned,
            originals,
            model_of(aligned, originals, numbers),
            grid,
            donors,
            numbers,
            executor,
            lambda _: None,
            watch,
        )
    variance, often = learned_variance(
        predictor,
        (
            (index, picture, matrices[index])
            for index, picture in zip(donors, originals.read(donors), strict=True)
        ),
        numbers.cut.first / asked.sensitivity,
        numbers,
        watch,
    )
    matrices = np.where(placed[:, None, None], matrices, np.nan)
    return Foreground(originals.source, matrices, predictor, variance, often, asked, numbers)


def masks_in_frame(
    names: tuple[str, ...],
    low_rank: Array,
    sparse: Array,
    pictures: Any,
    failed: Bools,
    asked: Asked,
    means: Means,
) -> Foreground:
    """Learn what pictures should show that lie in one frame as they are.

    Parameters
    ----------
    names : n strings
    low_rank, sparse : (n, h, w[, c]) arrays
    pictures : sequence of n arrays (h, w[, c])
        Rows are asked for one by one; NaN is missing.
    failed : (n,) array of bool
    asked : Asked
    means : Means
    """
    aligned = InFrame(names, low_rank, sparse, failed)
    return masks_of(aligned, of_rows(pictures, low_rank.shape, names), asked, means)
