"""Turn what the stages left into the result that the caller gets, in the caller's units."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.advice import advice
from rankfold.align.job import Job
from rankfold.align.matching import Matches
from rankfold.align.progress import Progress
from rankfold.align.verdicts import codes
from rankfold.families import Floats
from rankfold.result import Alignment
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
    # Pixels that no picture shows stay unknown.
    seen = rows.valid.any(axis=0)
    units = (rows.norms * stack.units)[:, None].astype(request.dtype)
    aligned = rows.data * units
    low_rank = solution.low_rank * units
    # A + E is D only to the tolerance: what is not in A belongs to the error.
    sparse = aligned - low_rank
    # In place, because these arrays are the largest there are.
    aligned[~rows.valid] = np.nan
    sparse[~rows.valid] = 0
    low_rank[:, ~seen] = np.nan
    rescued = np.zeros(len(stack), bool) if progress.rescued is None else progress.rescued

    def pictures(values: Array) -> Array:
        return as_pictures(values, stack, request.frame)

    return Alignment(
        transforms=stack.to_original(progress.transforms(job)),
        start=stack.to_original(start),
        aligned=pictures(aligned),
        low_rank=pictures(low_rank),
        sparse=pictures(sparse),
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
