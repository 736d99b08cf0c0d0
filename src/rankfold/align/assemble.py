"""Turn what the stages left into the result that the caller gets, in the caller's units."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.advice import advice
from rankfold.align.job import Job
from rankfold.align.matching import Matches
from rankfold.align.progress import Progress, Rows
from rankfold.align.verdicts import codes
from rankfold.families import Floats
from rankfold.result import Alignment
from rankfold.scale import chunks, store_of
from rankfold.stack import Frame, Stack
from rankfold.status import Status, Trace
from rankfold.version import __version__

Array = npt.NDArray[Any]


def assemble(job: Job, progress: Progress, start: Floats) -> Alignment:
    """The Alignment of a run; ``start`` (n, 3, 3) is where the pictures were given."""
    request = job.request
    stack = request.stack
    rows = progress.rows
    solution = progress.decomposition
    judgement = progress.judgement
    assert rows is not None
    assert solution is not None
    assert judgement is not None
    interrupted = solution.status is Status.STOPPED
    aligned, low_rank, sparse = in_units(rows, solution.low_rank, job)
    rescued = np.zeros(len(stack), bool) if progress.rescued is None else progress.rescued

    return Alignment(
        transforms=stack.to_original(progress.transforms(job)),
        start=stack.to_original(start),
        aligned=as_pictures(aligned, stack, request.frame),
        low_rank=as_pictures(low_rank, stack, request.frame),
        sparse=as_pictures(sparse, stack, request.frame),
        valid=rows.valid.reshape(len(stack), -1, *request.frame.shape)[:, 0],
        verdicts=codes(judgement.verdicts),
        lost=judgement.lost,
        confirmed=judgement.confirmed,
        verdict=judgement.batch.value,
        advice=advice(job, progress, judgement),
        base=stack.to_original(request.start),
        singular_values=solution.singular_values,
        objective=solution.objective,
        gap=solution.proved_gap,
        occluders=progress.occluders,
        status=outcome(progress),
        stop_rule="observer" if interrupted else progress.stop_rule,
        rescued=rescued,
        trace=trace_of(progress, stack),
        names=stack.names,
        source_shapes=np.array(stack.original_shapes),
        method=request.method.name,
        family=request.family.name,
        version=__version__,
        options=request.options,
        settings=request.settings.values(),
    )


def in_units(rows: Rows, clean: Array, job: Job) -> tuple[Array, Array, Array]:
    """Aligned, low-rank and sparse rows (n, m) in the caller's units, from A (n, m)."""
    store = store_of(job.executor)
    dtype = job.request.dtype
    aligned = store.zeros(clean.shape, dtype)
    low_rank = store.zeros(clean.shape, dtype)
    sparse = store.zeros(clean.shape, dtype)
    units = (rows.norms * job.request.stack.units)[:, None].astype(dtype)
    # Pixels that no picture shows stay unknown.
    seen = np.zeros(clean.shape[1], dtype=bool)
    for some in chunks(rows.valid):
        seen |= rows.valid[some].any(axis=0)
        store.done(rows.valid[some])
    for some in chunks(aligned):
        valid = rows.valid[some]
        given = rows.data[some] * units[some]
        belongs = clean[some] * units[some]
        aligned[some] = np.where(valid, given, np.nan)
        low_rank[some] = np.where(seen, belongs, np.nan)
        # A + E is D only to the tolerance: what is not in A belongs to the error.
        sparse[some] = np.where(valid, given - belongs, 0)
        parts = (rows.data, rows.valid, clean, aligned, low_rank, sparse)
        store.done(*(part[some] for part in parts))
    return aligned, low_rank, sparse


def outcome(progress: Progress) -> Status:
    """How the run ended: by the decomposition, unless the search for transforms ended badly."""
    assert progress.decomposition is not None
    last = progress.decomposition.status
    return last if progress.status.good or last is Status.STOPPED else progress.status


def trace_of(progress: Progress, stack: Stack) -> Trace:
    """Everything that happened, transforms as they are for the originals."""
    assert progress.decomposition is not None
    outer = [
        replace(record, transforms=stack.to_original(record.transforms))
        for record in progress.outer
    ]
    return Trace.of(
        (*progress.inner, *progress.decomposition.records),
        outer,
        progress.moved,
        progress.attempts,
        {} if progress.matches is None else columns_of(progress.matches),
    )


def columns_of(matches: Matches) -> dict[str, Array]:
    """What matching found, as the trace keeps it."""
    links = matches.links
    points = [np.hstack([link.points_one, link.points_two]) for link in links]
    return {
        "transforms": matches.transforms,
        "reached": matches.reached,
        "reference": np.array(matches.reference),
        "links": np.array([(link.one, link.two, len(link)) for link in links]).reshape(-1, 3),
        "points": np.concatenate(points) if points else np.empty((0, 4)),
    }


def as_pictures(rows: Array, stack: Stack, frame: Frame) -> Array:
    """Rows (n, c h w) as (n, h, w) or (n, h, w, c)."""
    planes = rows.reshape(len(rows), -1, *frame.shape)
    return np.moveaxis(planes, 1, -1) if stack.is_colour else planes[:, 0]
