"""The stages that run the outer loop on features and on raw pixels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankfold.align.job import Job
from rankfold.align.progress import Progress, advance
from rankfold.align.steps import displacements
from rankfold.families import Floats
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


def pixel_stage(job: Job, progress: Progress, name: str = "pixels") -> Progress:
    """The method itself on raw pixels: nuclear norm first, then the surrogate.

    ``name`` is the stage that its iterations are counted to.
    """
    request = job.request
    numbers = request.settings.pixels
    guarded = request.features is not None
    rounds = {"nuclear": numbers.nuclear_outer, "reweighted": numbers.reweighted_outer}
    surrogates = list(rounds) if request.inner.surrogate == "reweighted" else ["nuclear"]
    after = progress
    for surrogate in surrogates:
        outer = job.outer_loop(
            name,
            max_outer=rounds[surrogate] if guarded else None,
            patience=1 if request.clone is None else numbers.patience,
        )
        settings = replace(request.inner, clone=request.clone, surrogate=surrogate)
        after = advance(job, after, job.pixels, settings, outer)
        if after.over:
            break
    if not guarded:
        return after
    done = put_back(job, progress, after, numbers.guard * min(request.frame.shape))
    # A few guarded steps are all that is asked for here, so their number is no failure.
    return done if done.over else replace(done, status=Status.CONVERGED, stop_rule="stages done")


def fine_stage(job: Job, progress: Progress) -> Progress:
    """The pixels once more, on the whole frame, where that shows what pictures share.

    Where it shows noise, steps on it go astray: a picture that is moved by half a pixel is a
    little blurred, and seems to agree better.
    """
    if shared_detail(job, progress.motion.transforms) < job.request.settings.resolution.detail:
        return progress
    return pixel_stage(job, progress, "fine")


def shared_detail(job: Job, transforms: Floats) -> float:
    """Correlation of the finest detail of two pictures at ``transforms`` (n, 3, 3): the median."""
    from scipy.ndimage import gaussian_filter

    numbers = job.request.settings.resolution
    frame = job.request.frame
    chosen = np.unique(np.linspace(0, len(transforms) - 1, numbers.sample).round().astype(int))
    details = []
    for i in chosen:
        values, _, valid = job.pixels.sample(int(i), transforms[i])
        seen = valid.reshape(-1, *frame.shape)[0]
        # All channels together; what is missing has no detail, nor do its neighbours see it.
        picture = np.where(seen, values.reshape(-1, *frame.shape).sum(axis=0), 0)
        weight = gaussian_filter(seen.astype(picture.dtype), numbers.blur)
        blurred = gaussian_filter(picture, numbers.blur) / np.maximum(weight, 0.5)
        whole = seen & (weight > 0.99)
        detail = np.where(whole, picture - blurred, 0).ravel()
        norm = np.linalg.norm(detail)
        details.append(detail / (norm if norm > 0 else 1))
    pairs = np.triu_indices(len(chosen), 1)
    return float(np.median((np.stack(details) @ np.stack(details).T)[pairs]))


def put_back(job: Job, before: Progress, after: Progress, far: float) -> Progress:
    """Undo the way of pictures that moved further than ``far`` px on pixels: that is drift."""
    corners = job.request.frame.corners
    moved = displacements(before.motion.transforms, after.motion.transforms, corners)
    drifted = (moved > far)[:, None]
    parameters = np.where(drifted, before.motion.parameters, after.motion.parameters)
    motion = before.motion.with_parameters(parameters)
    if after.over:
        return replace(after, motion=motion)
    # What was reached before counts: that only so many steps were taken here is no failure.
    return replace(after, motion=motion, status=before.status, stop_rule=before.stop_rule)
