"""The stages that run the outer loop on features and on raw pixels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankfold.align.job import Job
from rankfold.align.progress import Progress, advance
from rankfold.align.steps import displacements
from rankfold.status import Status


def feature_stage(job: Job, progress: Progress) -> Progress:
    """Reweighted RASL on contrast features, unless the start was chosen by doing just that."""
    if progress.ahead is not None:
        return replace(
            progress.ahead,
            attempts=progress.attempts,
            matches=progress.matches,
            moved=progress.moved,
        )
    numbers = job.request.settings.features
    settings = job.plain(numbers.tol, "reweighted")
    outer = job.outer_loop("features", numbers.max_outer)
    return advance(job, progress, job.contrast, settings, outer)


def pixel_stage(job: Job, progress: Progress) -> Progress:
    """The method itself on raw pixels: nuclear norm first, then the surrogate."""
    request = job.request
    numbers = request.settings.pixels
    guarded = request.features is not None
    rounds = {"nuclear": numbers.nuclear_outer, "reweighted": numbers.reweighted_outer}
    surrogates = list(rounds) if request.inner.surrogate == "reweighted" else ["nuclear"]
    after = progress
    for surrogate in surrogates:
        outer = job.outer_loop(
            "pixels",
            max_outer=rounds[surrogate] if guarded else None,
            patience=1 if request.clone is None else numbers.patience,
        )
        settings = replace(request.inner, clone=request.clone, surrogate=surrogate)
        after = advance(job, after, job.pixels, settings, outer)
        if after.over:
            break
    return put_back(job, progress, after) if guarded else after


def put_back(job: Job, before: Progress, after: Progress) -> Progress:
    """Undo the way of pictures that moved far on pixels: after features, that is drift."""
    frame = job.request.frame
    far = job.request.settings.pixels.guard * min(frame.shape)
    moved = displacements(before.motion.transforms, after.motion.transforms, frame.corners)
    drifted = (moved > far)[:, None]
    parameters = np.where(drifted, before.motion.parameters, after.motion.parameters)
    motion = before.motion.with_parameters(parameters)
    if after.over:
        return replace(after, motion=motion)
    # A few guarded steps are all that is asked for here, so their number is no failure.
    return replace(after, motion=motion, status=Status.CONVERGED, stop_rule="stages done")
