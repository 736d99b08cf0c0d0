"""What comes after the transforms are found: the decomposition and the verdicts."""

from __future__ import annotations

from dataclasses import replace

from rankfold.admm import Problem, Settings, Solution, default_sparsity, solve, weights_of
from rankfold.align.agreement import confirmation
from rankfold.align.job import Job
from rankfold.align.origins import warped_rows
from rankfold.align.progress import Progress, Rows
from rankfold.align.verdicts import judge
from rankfold.scale import Dask, give_back
from rankfold.warp.linearisation import warp_normalised


def decomposition_stage(job: Job, progress: Progress) -> Progress:
    """Decompose at fixed transforms, so that aligned = low_rank + sparse."""
    request = job.request
    if job.is_large:
        job.forget("search", "rehearsal", "contrast")
    data, norms, valid = warp_normalised(job.full, progress.transforms(job), job.executor)
    rows = Rows(data, norms, valid, job.full.value_range / norms, job.full.row_shape)
    # Workers on other machines read the pictures themselves.
    origin = warped_rows(job, progress.transforms(job)) if isinstance(job.executor, Dask) else None
    problem = replace(problem_of(job, rows), origin=origin)
    near = nearby_solution(job, progress)
    if job.is_large:
        job.forget("full", "pixels")
        give_back()
    # An observer that has stopped the alignment still gets its pictures decomposed.
    watch = None if progress.over else job.observe
    settings = last_settings(job, going_on=near is not None)
    solution = request.method.solve(problem, settings, job.executor, watch, -1, near)
    return replace(progress, rows=rows, decomposition=solution)


def problem_of(job: Job, rows: Rows) -> Problem:
    """Low rank + sparse of rows; a pixel that is not valid is filled in."""
    return Problem(
        rows.data,
        default_sparsity(rows.data.shape, job.request.sparsity_weight),
        weights_of(rows.valid),
        units=rows.units,
        shape=rows.shape,
    )


def nearby_solution(job: Job, progress: Progress) -> Solution | None:
    """The last step's solution, where the schedule goes on from it and its rows are these."""
    schedule = job.request.schedule
    goes_on = schedule.after_steps is not None and len(job.request.stack) >= schedule.steps.least
    if not goes_on or progress.over or not job.guided_by_all:
        return None
    return progress.solution


def last_settings(job: Job, going_on: bool) -> Settings:
    """Inner settings of the last decomposition."""
    request = job.request
    schedule = request.schedule
    penalty = schedule.penalty
    if going_on and schedule.after_steps is not None:
        penalty = schedule.after_steps
    settings = replace(request.inner, clone=request.last_clone, penalty=penalty, keeps=False)
    numbers = request.settings.decomposition
    # Another solver may mean something else by its tolerance.
    if schedule.certified and request.method.solve is solve:
        most = numbers.more_iterations * settings.max_iter
        return replace(settings, tol=numbers.gap, max_iter=most, certified=True)
    if schedule.exact or request.method.solve is not solve:
        return settings
    tol = 10 * numbers.tol if job.is_large else numbers.tol
    return replace(settings, tol=max(tol, settings.tol))


def verdict_stage(job: Job, progress: Progress) -> Progress:
    """Ask of every picture whether it lies where the others do."""
    found = confirmation(job, progress.transforms(job))
    return replace(progress, judgement=judge(found, job.request.settings.verdicts))
