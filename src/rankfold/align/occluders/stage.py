"""The stage that looks for occluders, takes them out and fills in what they hide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage

from rankfold.admm import Solution
from rankfold.align.final import last_settings, problem_of
from rankfold.align.job import Job
from rankfold.align.occluders.evidence import vote
from rankfold.align.occluders.prediction import Array, Bools
from rankfold.align.occluders.search import Decomposed, Find, find_occluders
from rankfold.align.progress import Progress
from rankfold.align.settings import AlignSettings
from rankfold.manifold.vote import window_for
from rankfold.occluders import Occluder
from rankfold.scale import MEMORY, Store, chunks, store_of
from rankfold.status import InnerRecord


def occluder_stage(job: Job, progress: Progress) -> Progress:
    """Decompose once more without what several pictures share and does not belong.

    Where nothing is found, nothing changes.
    """
    rows = progress.rows
    solution = progress.decomposition
    assert rows is not None
    assert solution is not None
    if progress.over or solution.status.over:
        return progress
    request = job.request
    settings = last_settings(job, going_on=False)

    def decompose(data: Array, seen: Bools) -> Solution:
        problem = problem_of(job, replace(rows, data=data, valid=seen))
        return request.method.solve(problem, settings, job.executor, job.observe, -1, None)

    decomposed = Decomposed(rows.data, solution.low_rank, rows.valid, rows.units, rows.shape)
    store = store_of(job.executor)
    found = take_out(decomposed, request.shared, request.settings, decompose, store)
    if found is None:
        return progress
    return replace(
        progress,
        inner=progress.inner + solution.records + found.records,
        decomposition=found.solution,
        occluders=found.occluders,
    )


@dataclass(frozen=True)
class TakenOut:
    """A decomposition without occluders."""

    solution: Solution
    occluders: tuple[Occluder, ...]
    records: tuple[InnerRecord, ...]  # of the decompositions before


def take_out(
    rows: Decomposed,
    shared: float,
    settings: AlignSettings,
    decompose: Callable[[Array, Bools], Solution],
    store: Store = MEMORY,
) -> TakenOut | None:
    """Find occluders and decompose without them; None where there are none.

    What they hide is missing in a first decomposition, and filled in with the result in the next
    ones. (Pixels that stay missing weigh nothing: light that only some pictures have would be given
    up for a lower rank.) ``decompose`` is called with data (n, m) and which of them count; these
    arrays are kept in a ``store``.
    """
    found = find_occluders(rows, shared, settings)
    if not found:
        return None
    hidden = in_rows(found, rows)
    shown = store.zeros(hidden.shape, np.bool_)
    for some in chunks(shown):
        shown[some] = rows.valid[some] & ~hidden[some]
    solution = decompose(_filled(rows.data, hidden, None, store), shown)
    found = [released(one, rows, solution, settings) for one in found]
    hidden = in_rows(found, rows)
    records: tuple[InnerRecord, ...] = ()
    for _ in range(settings.occluders.fills):
        if solution.status.over:
            break
        records += solution.records
        solution = decompose(_filled(rows.data, hidden, solution.low_rank, store), rows.valid)
    occluders = tuple(as_occluder(one, rows, solution) for one in found)
    return TakenOut(solution, occluders, records)


def _filled(data: Array, hidden: Bools, filling: Array | None, store: Store) -> Array:
    """Data (n, m) with a filling (n, m), or zero, where something hides them."""
    out = store.zeros(data.shape, data.dtype)
    for some in chunks(out):
        inside = 0 if filling is None else filling[some]
        out[some] = np.where(hidden[some], inside, data[some])
        store.done(out[some], data[some])
    return out


def as_occluder(one: Find, rows: Decomposed, solution: Solution) -> Occluder:
    """A find as a result shows it, with sharp edges.

    A pixel on the edge is a mixture of what is in front and what is behind. It counts where it is
    more of the first: where it differs by half of what is usual inside.
    """
    off = np.abs(rows.data[one.members] - solution.low_rank[one.members])
    off = off.reshape(len(off), *rows.shape).max(axis=1)
    masks = np.zeros_like(one.masks)
    for mask, own, sharp in zip(one.masks, off, masks, strict=True):
        inner = ndimage.binary_erosion(mask)
        usual = np.median(own[inner]) if inner.any() else 0.0
        sharp[:] = inner | (mask & (own >= usual / 2))
    region = masks.mean(axis=0) >= 0.5
    pictures = tuple(np.flatnonzero(one.members).tolist())
    # A region that nobody shows any more would say nothing.
    return Occluder(region if region.any() else one.region, pictures, masks, one.confidence)


def in_rows(found: Sequence[Find], rows: Decomposed) -> Bools:
    """Where something is in front of the pictures, as rows (n, m)."""
    channels, height, width = rows.shape
    hidden = np.zeros((len(rows.data), height, width), dtype=bool)
    for one in found:
        hidden[one.members] |= one.masks
    return np.repeat(hidden[:, None], channels, axis=1).reshape(len(hidden), -1)


def released(one: Find, rows: Decomposed, filled: Solution, settings: AlignSettings) -> Find:
    """A find without the pixels that turn out to be as they should be."""
    window = window_for(settings.manifold.window, rows.shape)
    off = np.abs(rows.data[one.members] - filled.low_rank[one.members])
    wrong = off > (settings.manifold.alpha * rows.units[one.members])[:, None]
    wrong &= rows.valid[one.members]
    flags = wrong.reshape(len(off), *rows.shape).any(axis=1)
    return replace(one, masks=one.masks & vote(flags.astype(np.float32), window))
