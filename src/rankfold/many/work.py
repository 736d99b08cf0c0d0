"""One batch of many: from its pictures to its run folder and its row.

A job holds paths and plain values only, so that it can be sent to another process or machine.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankfold import runs
from rankfold.align.plan import Plan
from rankfold.compiled import CacheWarning
from rankfold.errors import ConvergenceWarning, InputError, RankfoldError
from rankfold.io import Source
from rankfold.libraries import quiet_libraries
from rankfold.many.batches import Batch, check_not_nested
from rankfold.many.existing import existing_run
from rankfold.many.recipe import Recipe
from rankfold.report.overview import strip_of
from rankfold.result import Alignment
from rankfold.runs import BatchRow, BatchState, Choice, Run, Unwatched, Watch
from rankfold.scale import store_for
from rankfold.verdicts import Verdict

NO_MEMORY = (
    "there is not enough memory; use fewer workers, a smaller frame, a larger reduction or "
    "dtype='float32'"
)


@dataclass(frozen=True)
class Job:
    """What a worker is told.

    Parameters
    ----------
    batch : Batch
    folder : Path
        The run folder, with an absolute path.
    recipe : Recipe
    skip_existing : bool
        Take a run folder that is there and was made in the same way.
    memory : float, optional
        Bytes that the run may take before its arrays go to disk; 60 % of what is free if None.
    """

    batch: Batch
    folder: Path
    recipe: Recipe
    skip_existing: bool = False
    memory: float | None = None

    @property
    def waiting(self) -> BatchRow:
        """The row of the batch before it is run."""
        return BatchRow(self.batch.name, self.batch.path, self.folder)

    def failed(self, error: str) -> BatchRow:
        """The row of the batch if there is no result."""
        return replace(self.waiting, state=BatchState.ERROR, error=error)


def run_batch(job: Job, watch: Watch | None = None) -> BatchRow:
    """Run one batch; what goes wrong with it is in its row and stops nothing else.

    Parameters
    ----------
    job : Job
    watch : Watch, optional
        Follows the run.

    Returns
    -------
    BatchRow
    """
    try:
        with quiet_libraries(), warnings.catch_warnings():
            # The status is in the row.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # The process that has the batches says it once for all.
            warnings.simplefilter("ignore", CacheWarning)
            return _run(job, watch)
    except MemoryError:
        return job.failed(NO_MEMORY)
    except (RankfoldError, OSError) as error:
        return job.failed(str(error))


def plan_batch(batch: Batch, recipe: Recipe) -> tuple[Source, Choice, Plan]:
    """Look at the pictures of a batch and say what its run will take, without reading them.

    Parameters
    ----------
    batch : Batch
    recipe : Recipe

    Returns
    -------
    Source, Choice, Plan
    """
    check_not_nested(batch.path)
    options = recipe.options
    family = options.get("family", "similarity")
    source = recipe.opened.open(batch.path)
    wanted = options.get("sample", "auto")
    sample = runs.sample_in(source, wanted, options.get("settings"), recipe.crop)
    choice = runs.choose(source, recipe.frame, recipe.init, recipe.reduction, family, sample)
    known = ("start", "coarse", "frame_of", "dtype")
    given = {name: options[name] for name in known if name in options}
    others = 0 if sample is None else len(source) - len(sample)
    aligned = sample or source
    method = options.get("method", "meadmm")
    plan = runs.plan_run(aligned, choice, method, family, others=others, **given)
    return source, choice, plan


class Noting(Unwatched):
    """Watches a run in another process, from where it can only be said at the end."""

    def __init__(self) -> None:
        self.remarks: list[str] = []

    def remark(self, text: str) -> None:
        """Note what is to be said."""
        self.remarks.append(text)

    def going_on(self, folder: Path, done: int) -> None:
        """Note that an interrupted run goes on."""
        self.remark(f"It went on from {folder} ({done} outer iterations were done)")


def _run(job: Job, watch: Watch | None) -> BatchRow:
    """Run one batch, or take what there is."""
    noting = Noting()
    source, choice, plan = plan_batch(job.batch, job.recipe)
    if job.skip_existing and job.folder.exists():
        kept = existing_run(job.folder, job.batch, job.recipe, source)
        if kept is not None:
            return row_of(kept, job, BatchState.KEPT)
    limit = _limit_for(plan, job)
    began = time.perf_counter()
    summary = runs.run_align(
        job.folder,
        source,
        choice,
        crop=job.recipe.crop,
        output=job.recipe.output,
        config=_config(job),
        watch=watch or noting,
        **{**job.recipe.options, "memory_limit": limit},
    )
    row = row_of(runs.open_run(job.folder), job, BatchState.DONE)
    seconds = round(time.perf_counter() - began, 2)
    return replace(row, seconds=seconds, remarks=(*noting.remarks, *summary.remarks))


def row_of(run: Run, job: Job, state: BatchState) -> BatchRow:
    """Say how a batch went from its run folder.

    Parameters
    ----------
    run : Run
    job : Job
    state : BatchState

    Returns
    -------
    BatchRow
    """
    result = run.result
    if not isinstance(result, Alignment):
        raise InputError(
            f"{job.folder} is a decomposition, not an alignment; "
            "replace it with overwrite=True or choose another folder"
        )
    counts = {one: int((result.verdicts == one.value).sum()) for one in Verdict}
    return replace(
        job.waiting,
        state=state,
        pictures=len(result.names),
        verdict=result.verdict,
        placed=counts[Verdict.PLACED],
        doubtful=counts[Verdict.DOUBTFUL],
        failed=counts[Verdict.FAILED],
        rank=result.rank,
        status=result.status,
        seconds=run.config.get("seconds"),
        outcome=result.outcome,
        # Small pictures are for the page, which is written where reports are.
        strip=strip_of(run) if job.recipe.report else (),
    )


def _limit_for(plan: Plan, job: Job) -> int | None:
    """The memory that a run may take; refuse one that fits nowhere, unless it is forced."""
    limit = None if job.memory is None else int(job.memory)
    try:
        store_for(plan.needs, limit, job.recipe.options.get("scratch"))
    except InputError as error:
        if job.recipe.force:
            return sys.maxsize
        raise InputError(
            f"{error}; use fewer workers, a smaller frame or a larger reduction, or force=True to "
            "start all the same"
        ) from error
    return limit


def _config(job: Job) -> dict[str, Any]:
    """What config.toml says of the batch: how to repeat it alone, and how it was made."""
    config: dict[str, Any] = {
        "directory": str(Path.cwd()),
        "options": {**job.recipe.options, "init": job.recipe.init},
        "batch": {"name": job.batch.name, "recipe": json.dumps(job.recipe.traced)},
    }
    if job.recipe.command is not None:
        words = [job.batch.path, "--out", str(job.folder), *job.recipe.command]
        config["command"] = shlex.join(["rankfold", "align", *words])
    return config
