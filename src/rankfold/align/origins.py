"""How another machine makes its part of a problem: by reading the pictures itself.

What is sent is small: where the pictures lie, and for an alignment the transforms. Every machine
reads all pictures, one after the other, and keeps the columns that are its own. So no norms and no
rows around a band have to travel, and what it makes has the bits that are computed here.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.batches import unit_of_floats
from rankfold.align.job import Job
from rankfold.errors import FormatError, WorkerError
from rankfold.families import Floats
from rankfold.lazy import OnDisk, absolute
from rankfold.stack import Frame, Stack
from rankfold.warp.linearisation import normalised_row
from rankfold.warp.sampling import prepare

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Warped:
    """Rows of pictures in a frame, each of unit norm."""

    originals: OnDisk
    frame: Frame
    start: Floats  # (n, 3, 3): for where the pictures are prepared
    transforms: Floats  # (n, 3, 3)
    dtype: str

    def __call__(self, columns: slice) -> tuple[Array, Array]:
        """Return some columns of D and of Ω."""
        n = len(self.transforms)
        width = columns.stop - columns.start
        data = np.empty((n, width), self.dtype)
        valid = np.empty((n, width), np.bool_)
        for k, one in enumerate(read_there(self.originals)):
            sampler = prepare(one, self.frame, self.start[k][None], np.dtype(self.dtype))
            row, seen, _ = normalised_row(sampler, 0, self.transforms[k])
            data[k] = row[columns]
            valid[k] = seen[columns]
        return data, valid


@dataclass(frozen=True)
class AsTheyLie:
    """Rows of pictures that are decomposed as they lie."""

    originals: OnDisk
    dtype: str

    def __call__(self, columns: slice) -> tuple[Array, Array]:
        """Return some columns of D and of Ω."""
        n = len(self.originals.names)
        width = columns.stop - columns.start
        data = np.empty((n, width), self.dtype)
        valid = np.empty((n, width), np.bool_)
        for k, one in enumerate(read_there(self.originals)):
            row, seen = row_of(one)
            data[k] = row[columns]
            valid[k] = seen[columns]
        return data, valid


def read_there(originals: OnDisk) -> Iterator[Stack]:
    """Read all pictures, on a machine that may not see them."""
    try:
        yield from originals.read(range(len(originals.names)))
    except FormatError as error:
        raise WorkerError(
            f"the worker on {platform.node()} cannot read the pictures ({error}); they must lie "
            "where all machines see them under the same path"
        ) from error


def row_of(one: Stack) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return a single picture as a row (c h w,), zero where missing, and its validity."""
    source = one.sources[0]
    planes = source[None] if source.ndim == 2 else np.moveaxis(source, -1, 0)
    # All channels have the same validity.
    valid = np.broadcast_to(one.masks[0], planes.shape)
    return np.where(valid, planes, 0).ravel(), valid.ravel()


def warped_rows(job: Job, transforms: Floats) -> Warped | None:
    """Return how others make the rows of a job at ``transforms`` (n, 3, 3); None: they cannot."""
    originals = originals_of(job.request.stack)
    if originals is None:
        return None
    request = job.request
    dtype = np.dtype(job.precision).str
    return Warped(originals, request.frame, request.start, transforms, dtype)


def originals_of(stack: Stack) -> OnDisk | None:
    """Return who reads the pictures of a stack again; None where they are not on disk."""
    if stack.origin is None:
        return None
    return OnDisk(
        path=absolute(stack.origin.path),
        opened_with=stack.origin.opened_with,
        names=stack.names,
        shapes=np.array(stack.original_shapes),
        reduction=stack.reduction,
        span=stack.value_range,
        unit=unit_of_floats(stack),
        dtype=stack.sources[0].dtype.str,
    )
