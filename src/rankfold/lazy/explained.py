"""From what the pictures of a large result are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats
from rankfold.lazy.originals import Originals
from rankfold.stack import Frame, Stack
from rankfold.warp.sampling import prepare

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Explained:
    """From what the pictures of a large result are made.

    Attributes
    ----------
    coefficients : (n, r) array
        In the caller's units.
    basis : (r, c m) array
        Rows of the sample's low-rank part, orthonormal.
    seen : (c m,) array
        Pixels that some picture of the sample shows; of the others nothing is known.
    frame : Frame
    colour : bool
    transforms, base : (n, 3, 3) arrays
        Into the originals: where each picture is, and for where it was prepared.
    dtype : str
        Of the pictures.
    originals : Originals
    """

    coefficients: Floats
    basis: Array
    seen: Bools
    frame: Frame
    colour: bool
    transforms: Floats
    base: Floats
    dtype: str
    originals: Originals

    def __len__(self) -> int:
        """Count the pictures."""
        return len(self.coefficients)

    @property
    def picture_shape(self) -> tuple[int, ...]:
        """(h, w) or (h, w, c)."""
        shape = self.frame.shape
        channels = len(self.seen) // (shape[0] * shape[1])
        return (*shape, channels) if self.colour else shape

    def low_rank(self, indices: Sequence[int]) -> Iterator[Array]:
        """Give low-rank pictures; they need no originals."""
        for k in indices:
            yield self.as_picture(low_rank_row(self.coefficients[k], self.basis, self.seen))

    def aligned(self, indices: Sequence[int]) -> Iterator[Array]:
        """Give the originals in the frame, NaN where missing."""
        for _, row, valid in self._rows(indices):
            yield self.as_picture(np.where(valid, row, np.nan))

    def sparse(self, indices: Sequence[int]) -> Iterator[Array]:
        """Give aligned - low_rank, zero where missing."""
        for k, row, valid in self._rows(indices):
            clean = low_rank_row(self.coefficients[k], self.basis, self.seen)
            yield self.as_picture(np.where(valid, row - clean, 0))

    def valid(self, indices: Sequence[int]) -> Iterator[Bools]:
        """Give where (h, w) a picture is not missing."""
        for _, _, valid in self._rows(indices):
            yield valid.reshape(-1, *self.frame.shape)[0]

    def as_picture(self, row: Array) -> Array:
        """Turn a row (c m,) into (h, w) or (h, w, c) of the right type."""
        planes = row.reshape(-1, *self.frame.shape).astype(self.dtype, copy=False)
        return np.moveaxis(planes, 0, -1) if self.colour else planes[0]

    def _rows(self, indices: Sequence[int]) -> Iterator[tuple[int, Array, Bools]]:
        """Read and warp pictures; rows (c m,) in the caller's units, and validity."""
        for k, one in zip(indices, self.originals.read(indices), strict=True):
            row, valid = warped(one, self.frame, self.base[k], self.transforms[k])
            yield k, row, valid & self.seen


def warped(one: Stack, frame: Frame, base: Floats, transform: Floats) -> tuple[Array, Bools]:
    """Bring a picture into the frame: its row (c m,) in the caller's units, and validity.

    ``base`` (3, 3) is for where it is prepared and ``transform`` (3, 3) where it is; both map into
    the original.
    """
    sampler = prepare(one, frame, one.from_original(base)[None], np.float64)
    values, _, valid = sampler.sample(0, one.from_original(transform))
    return values.ravel() * one.units[0], np.tile(valid, one.channels)


def low_rank_row(coefficients: Floats, basis: Array, seen: Bools) -> Array:
    """Return the row (c m,) with coefficients (r,), NaN where nothing is known."""
    # Not by BLAS, whose sums depend on its threads and on how the arrays lie in memory.
    row = np.einsum("r,rm->m", coefficients, basis)
    return np.where(seen, row, np.nan)
