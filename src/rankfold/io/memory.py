"""Pictures in memory, as a Source: what reads files one at a time takes them too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.io.source import Picture, Source
from rankfold.stack.checks import arrays_of, check_batch, checked_mask, labels_of


def in_memory(
    images: npt.NDArray[Any] | Sequence[npt.ArrayLike],
    masks: Sequence[npt.ArrayLike] | npt.NDArray[Any] | None = None,
    names: Sequence[str] | None = None,
) -> Source:
    """Return pictures that are in memory as a source.

    Parameters
    ----------
    images : sequence of (h, w) or (h, w, c) arrays, or one array (n, h, w[, c])
    masks : sequence of (h, w) arrays, optional
        True (or non-zero) where a pixel may be used.
    names : sequence of str, optional
        ``image 0`` and so on by default.
    """
    arrays = arrays_of(images)
    labels = labels_of(names, len(arrays))
    check_batch(arrays, labels, masks)
    pictures = [
        Picture(array, None if masks is None else checked_mask(masks[k], array.shape[:2], name))
        for k, (array, name) in enumerate(zip(arrays, labels, strict=True))
    ]

    def choose(indices: Sequence[int]) -> Iterator[Picture]:
        return (pictures[k] for k in indices)

    return Source(
        path="pictures in memory",
        format="array",
        names=labels,
        shapes=tuple(array.shape for array in arrays),
        dtypes=tuple(np.dtype(array.dtype) for array in arrays),
        iterate=lambda: choose(range(len(pictures))),
        choose=choose,
    )


def of_rows(rows: Any, shape: tuple[int, ...], names: Sequence[str]) -> Source:
    """Return rows of floats that are asked for one by one as a source.

    Parameters
    ----------
    rows : anything with ``rows[k]``
        Each is a picture (h, w) or (h, w, c).
    shape : (n, h, w) or (n, h, w, c)
    names : n strings
    """

    def choose(indices: Sequence[int]) -> Iterator[Picture]:
        return (Picture(np.asarray(rows[k])) for k in indices)

    count = shape[0]
    return Source(
        path="the pictures of the run",
        format="array",
        names=tuple(names),
        shapes=(tuple(shape[1:]),) * count,
        dtypes=(np.dtype(np.asarray(rows[0]).dtype),) * count,
        iterate=lambda: choose(range(count)),
        choose=choose,
    )
