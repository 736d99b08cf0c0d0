"""The coarse stage: blurred pictures first, for pictures that are far off."""

from __future__ import annotations

from dataclasses import replace

from rankfold.align.agreement import agreement
from rankfold.align.job import Job, Progress, advance
from rankfold.status import Status


def coarse_stage(job: Job, progress: Progress) -> Progress:
    """Plain RASL on blurred pixels, blurred less and less; kept if that is asked for or helps."""
    numbers = job.request.settings.coarse
    trial = progress
    for blur in numbers.blurs:
        outer = job.outer_loop("coarse", numbers.max_outer)
        trial = advance(job, trial, job.blurred(blur), job.plain(numbers.tol), outer)
        if trial.over:
            break
    if job.request.coarse != "auto" or trial.over:
        return trial
    return better_of(job, progress, trial)


def better_of(job: Job, before: Progress, trial: Progress) -> Progress:
    """The one from which the pictures agree better after a look ahead on features.

    Blurred pictures often agree better at places that lead astray, so they are not asked at once.
    """
    ahead = [look_ahead(job, one) for one in (before, trial)]
    if any(one.status is Status.STOPPED for one in ahead):
        return replace(before, status=Status.STOPPED, stop_rule="observer")
    if any(one.over for one in ahead):
        return before
    costs = [agreement(job, one.motion.transforms) for one in ahead]
    return trial if costs[1] < costs[0] else before


def look_ahead(job: Job, progress: Progress) -> Progress:
    """Where a few steps on features would lead; they are not part of the run."""
    settings = job.request.settings
    inner = job.plain(settings.features.tol, "reweighted")
    outer = job.outer_loop("coarse", settings.coarse.look_ahead)
    return advance(job, progress, job.contrast, inner, outer)
