"""Turn what the stages left into the result that the caller gets, in the caller's units."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.job import Job, Progress
from rankfold.result import Alignment
from rankfold.stack import Frame, Stack
from rankfold.status import Status, Trace
from rankfold.version import __version__

Array = npt.NDArray[Any]


def assemble(job: Job, progress: Progress) -> Alignment:
    """The Alignment of a run."""
    request = job.request
    stack = request.stack
    rows = progress.rows
    solution = progress.decomposition
    scores = progress.scores
    assert rows is not None
    assert solution is not None
    assert scores is not None
    interrupted = solution.status is Status.STOPPED
    # Before the last iteration A + E is not yet D: what is not in A belongs to the error.
    sparse = rows.data - solution.low_rank if interrupted else solution.sparse
    # Pixels that no picture shows stay unknown.
    seen = rows.valid.any(axis=0)
    units = (rows.norms * stack.units)[:, None].astype(rows.data.dtype)
    rescued = np.zeros(len(stack), bool) if progress.rescued is None else progress.rescued

    def pictures(values: Array) -> Array:
        return as_pictures(values, stack, request.frame)

    return Alignment(
        transforms=stack.to_original(job.transforms_at(progress)),
        start=stack.to_original(request.start),
        aligned=pictures(np.where(rows.valid, rows.data * units, np.nan)),
        low_rank=pictures(np.where(seen, solution.low_rank * units, np.nan)),
        sparse=pictures(np.where(rows.valid, sparse * units, 0)),
        valid=rows.valid.reshape(len(stack), -1, *request.frame.shape)[:, 0],
        scores=scores,
        failed=scores > request.settings.scores.failed,
        singular_values=solution.singular_values,
        objective=solution.objective,
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
    return Trace.of((*progress.inner, *progress.decomposition.records), outer, progress.moved)


def as_pictures(rows: Array, stack: Stack, frame: Frame) -> Array:
    """Rows (n, c h w) as (n, h, w) or (n, h, w, c)."""
    planes = rows.reshape(len(rows), -1, *frame.shape)
    return np.moveaxis(planes, 1, -1) if stack.is_colour else planes[:, 0]
