"""Which pictures of a large run the report shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rankfold.result import Alignment, Decomposition
from rankfold.scale.stores import is_mapped
from rankfold.verdicts import Verdict

# Pictures of a large batch that the report shows, at most.
SHOWN = 200
# Values of a batch up to which all of its pictures are shown; a page of more would not open.
ALL_SHOWN = 2**26
# Values of the pictures that are shown of a larger one, or of one that does not fit into memory:
# making the page takes about 55 bytes for each.
VALUES_SHOWN = 2**22
# But not fewer pictures than this.
LEAST_SHOWN = 20


def shown_in(result: Alignment | Decomposition) -> list[int]:
    """Choose pictures for the report of a run; none stands for all, where the batch is not large.

    Parameters
    ----------
    result : Alignment or Decomposition

    Returns
    -------
    list of int
        In ascending order.
    """
    pictures = result.low_rank
    if pictures.size <= ALL_SHOWN and not is_mapped(pictures):
        return []
    a_picture = int(np.prod(pictures.shape[1:]))
    most = int(np.clip(VALUES_SHOWN // a_picture, LEAST_SHOWN, SHOWN))
    chosen = shown_of(result, most)
    return [] if len(chosen) == len(pictures) else chosen


def shown_of(result: Alignment | Decomposition, most: int = SHOWN) -> list[int]:
    """Choose pictures for the report: the least sure ones, and others spread over the batch.

    Parameters
    ----------
    result : Alignment or Decomposition
        Nothing is unsure in a decomposition.
    most : int
        So many at most.

    Returns
    -------
    list of int
        In ascending order; all pictures where there are no more than ``most``.
    """
    n = len(result.low_rank)
    if n <= most:
        return list(range(n))
    worst_first = np.zeros(0, dtype=int)
    if isinstance(result, Alignment):
        unsure = np.flatnonzero(result.verdicts != Verdict.PLACED.value)
        worst_first = unsure[np.argsort(-result.lost[unsure], kind="stable")][:most]
    others = np.setdiff1d(np.arange(n), worst_first)
    spread = others[np.linspace(0, len(others) - 1, most - len(worst_first)).round().astype(int)]
    return sorted({*worst_first.tolist(), *spread.tolist()})


def part_of(result: Alignment, indices: Sequence[int]) -> Alignment:
    """Return some pictures of a result, with their arrays in memory.

    Its trace, occluders and numbers of the decomposition are those of the whole.
    """
    chosen = np.asarray(indices)
    aligned = np.asarray(result.aligned[chosen])
    low_rank = np.asarray(result.low_rank[chosen])
    valid = np.isfinite(aligned)
    return replace(
        result,
        transforms=result.transforms[chosen],
        start=result.start[chosen],
        base=None if result.base is None else result.base[chosen],
        aligned=aligned,
        low_rank=low_rank,
        sparse=np.where(valid, aligned - low_rank, 0),
        valid=valid if valid.ndim == 3 else valid.all(axis=3),
        verdicts=result.verdicts[chosen],
        lost=result.lost[chosen],
        confirmed=result.confirmed[chosen],
        rescued=result.rescued[chosen],
        names=tuple(result.names[k] for k in chosen),
        source_shapes=result.source_shapes[chosen],
    )


def pictures_of(result: Decomposition, indices: Sequence[int]) -> Decomposition:
    """Return some pictures of a decomposition, with their arrays in memory."""
    chosen = np.asarray(indices)
    return replace(result, low_rank=result.low_rank[chosen], sparse=result.sparse[chosen])
