"""Which pictures of a large batch are the sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankfold.align.arguments import check_sample
from rankfold.align.batches import Batch, FromSource, InMemory
from rankfold.align.given import Given, Init, Masks, as_stack, check_transforms, matrices_of
from rankfold.align.matching import index_of
from rankfold.align.reduction import lossless_reduction, reduction_for_frame
from rankfold.align.settings import SampleSettings
from rankfold.align.steps import Gauge, check_gauge
from rankfold.families import Floats
from rankfold.io import Source
from rankfold.stack import Frame, Stack

Ints = npt.NDArray[np.int_]
Size = str | int | None


def sample_size(sample: Size, n: int, numbers: SampleSettings) -> int | None:
    """Return how many of n pictures are aligned together; None for all of them."""
    if sample is None:
        return None
    if sample == "auto":
        return numbers.size if n > numbers.above and n > numbers.size else None
    check_sample("sample", sample)
    size = int(sample)
    return size if size < n else None


def sample_of(n: int, size: int, *needed: int | None) -> Ints:
    """Return which of n pictures are the sample: spread over all, with those that are needed."""
    spread = np.linspace(0, n - 1, size).round().astype(int)
    also = [k for k in needed if k is not None]
    return np.unique(np.concatenate([spread, np.array(also, dtype=int)]))


@dataclass(frozen=True)
class Sampled:
    """A batch and its sample, with what the caller said of single pictures.

    Attributes
    ----------
    batch : Batch
    indices : (k,) array
        The pictures of the sample, in order.
    given : (n, 3, 3) array, or the name of a start
        Where each picture of the batch begins.
    gauge, frame_of
        As for :func:`rankfold.align`, with numbers of the batch.
    """

    batch: Batch
    indices: Ints
    given: str | Floats
    gauge: Gauge
    frame_of: int | None

    @property
    def init(self) -> str | Floats:
        """Where the pictures of the sample begin."""
        return self.given if isinstance(self.given, str) else self.given[self.indices]

    @property
    def gauge_in_sample(self) -> Gauge:
        """The gauge, with the number that a picture has in the sample."""
        return self.gauge if isinstance(self.gauge, str) else self._in_sample(self.gauge)

    @property
    def frame_of_in_sample(self) -> int | None:
        """The picture whose view is the frame, as a number of the sample."""
        return None if self.frame_of is None else self._in_sample(self.frame_of)

    def _in_sample(self, index: int) -> int:
        """Return the number that a picture has in the sample, to which it belongs."""
        return int(np.searchsorted(self.indices, index))


def sampled(
    images: Given | Source | FromSource,
    masks: Masks,
    sample: Size,
    numbers: SampleSettings,
    *,
    frame: Frame | None,
    init: Init,
    family: str,
    gauge: Gauge,
    frame_of: int | str | None,
    dtype: npt.DTypeLike,
) -> Sampled | None:
    """Return the batch and its sample; None where all pictures are aligned together."""
    n = count_of(images)
    if n is None:
        # Nothing that could be pictures; who reads them says so.
        return None
    size = sample_size(sample, n, numbers)
    if size is None:
        return None
    if isinstance(images, Source | FromSource) and masks is None:
        names = images.names
    else:
        # Pictures in memory, or pictures on disk with masks, which belong to what is read.
        images = as_stack(images, masks, dtype)
        names = images.names
    held = check_gauge(gauge, n)
    reference = index_of(frame_of, names)
    indices = sample_of(n, size, None if isinstance(held, str) else held, reference)
    given = _starts(init, names, family)
    batch: Batch
    if isinstance(images, Stack):
        batch = InMemory(images)
    elif isinstance(images, Source):
        batch = FromSource(images, reduction_of(images, indices, frame, given), dtype)
    else:
        batch = images
    return Sampled(batch, indices, given, held, reference)


def count_of(images: Given | Source | FromSource) -> int | None:
    """Count the pictures of a batch; None for what cannot be counted."""
    if isinstance(images, FromSource):
        return len(images.names)
    try:
        return len(images)
    except TypeError:
        # An iterator, a single number, or no pictures at all.
        return None


def _starts(init: Init, names: tuple[str, ...], family: str) -> str | Floats:
    """Return the name of a start, or where (n, 3, 3) each of the pictures begins."""
    if isinstance(init, str):
        return init
    return check_transforms(matrices_of(init, family), names)


def reduction_of(source: Source, indices: Ints, frame: Frame | None, given: str | Floats) -> int:
    """Return how much coarser pictures on disk are read: what suits the sample."""
    if isinstance(given, str):
        return reduction_for_frame(source.some(indices.tolist()).shapes, source.channels, frame)
    return 1 if frame is None else lossless_reduction(given, frame)
