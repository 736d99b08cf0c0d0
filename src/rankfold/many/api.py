"""The public function :func:`align_many`: batches in, a run folder each and one summary out."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankfold.arguments import instance, path_of, switch, whole
from rankfold.errors import InputError, WriteError
from rankfold.locking import Lock, holder_of, take
from rankfold.many.batches import Paths, check_not_nested, find_batches
from rankfold.many.recipe import Recipe, recipe_of
from rankfold.many.running import (
    ManyWatch,
    Submitter,
    UnwatchedMany,
    run_here,
    run_in_processes,
    run_on_executor,
)
from rankfold.many.work import Job
from rankfold.report.overview import OVERVIEW, write_overview
from rankfold.runs import BatchRow, ManySummary
from rankfold.runs.many_tables import SUMMARY, TABLE, write_tables
from rankfold.scale.limits import limit_of
from rankfold.storage import LOCK, check_ours

# The page is written again only when so many times as long has passed as writing it took.
PAGE_SHARE = 20


def align_many(
    batches: Paths | Mapping[str, str | Path],
    out: str | Path,
    *,
    workers: int = 1,
    executor: Submitter | None = None,
    skip_existing: bool = False,
    reading: Mapping[str, Any] | None = None,
    watch: ManyWatch | None = None,
    **options: Any,
) -> ManySummary:
    """Align many batches, each by itself; write a run folder each and one summary of all.

    ``OUT/NAME`` is the run folder of a batch. ``OUT/summary.json``, ``OUT/summary.csv`` and
    ``OUT/summary.html`` say how all of them went; they are kept up to date while it goes on. A
    batch that cannot be aligned is listed with its error and stops no other.

    Parameters
    ----------
    batches : path, several paths, or mapping of names to paths
        Folders, videos, stacks: anything that :func:`rankfold.io.open_pictures` reads. A path
        with the signs of a pattern, as in "subjects/*", is expanded. Batches are called like
        their folders or files.
    out : str or Path
        The folder of all run folders.
    workers : int
        Processes that run batches at the same time. They share the cores. With 1, everything is
        done in this process. A script that asks for more has to call this function under
        ``if __name__ == "__main__":``. A process that is killed costs no other batch; its own is
        tried once more.
    executor : optional
        Whatever has ``submit``, instead of processes: a client of Dask, or an executor of
        ``concurrent.futures``. Its workers need rankfold and the same paths.
    skip_existing : bool
        Take run folders that are there, if they were made from pictures at the same path, of the
        same names and with the same options. Without ``overwrite=True`` others are an error.
    reading : mapping, optional
        How pictures are opened: ``grey``, ``skip_bad``, ``frames``, ``stride``, ``select`` and
        ``key`` as the options of ``rankfold align``.
    watch : ManyWatch, optional
        Follows the batches.
    **options
        ``frame``, ``init`` (a word or a path) and ``reduction`` as in
        :func:`rankfold.runs.choose`; ``crop``; ``pictures``, ``report``, ``format`` and
        ``overwrite`` as in :class:`rankfold.runs.Output`, but that ``report`` is True or False
        and stands for the page of the summary too; ``force=True`` to start where memory and disk
        will not suffice. All others are arguments of :func:`rankfold.align`, the same for every
        batch; ``memory_limit`` is for all workers together.

    Returns
    -------
    ManySummary
        Its rows are in the order of the batches, whichever ended first.

    Raises
    ------
    InputError
        Nothing was started: there are no batches, two would have the same name, an option is
        unknown, or ``out`` holds an earlier summary.
    """
    whole("workers", workers, least=1)
    switch("skip_existing", skip_existing)
    folder = Path(path_of("out", out)).absolute()
    if reading is not None:
        instance("reading", reading, Mapping, "pass a dict, as {'grey': True}")
    recipe = _shared_out(recipe_of(reading, options), workers, executor)
    found = find_batches(batches, out)
    if len(found.batches) == 1:
        check_not_nested(found.batches[0].path)
    _make_place(folder, skip_existing, recipe.overwrite)
    watch = watch or UnwatchedMany()
    for sentence in found.left_out:
        watch.remark(sentence)
    watch.begin([batch.name for batch in found.batches])
    # Nobody knows here how much memory the workers of an executor have.
    memory = None if executor is not None else limit_of(recipe.options.get("memory_limit"))
    share = None if memory is None else memory / workers
    jobs = [
        Job(batch, folder / batch.name, recipe, skip_existing, share) for batch in found.batches
    ]
    book = _Book(folder, [job.waiting for job in jobs], page=recipe.report)
    with _held(folder), book, closing(_run(jobs, workers, executor, watch)) as ended:
        for k, row in ended:
            book.enter(k, row)
            watch.batch_ends(row)
    return book.summary


def _held(folder: Path) -> Lock:
    """Take the folder of all runs, whose summary has one writer at a time."""
    try:
        lock = take(folder / LOCK)
    except OSError as error:
        raise WriteError(
            f"{folder} cannot be written ({error.strerror}); choose a folder that you may write to"
        ) from error
    if lock is None:
        raise InputError(
            f"{folder} is being written by {holder_of(folder / LOCK)}; wait until that is done, or "
            "choose another folder"
        )
    return lock


class _Book:
    """Keeps the summary, and writes it after every batch and however it all ends."""

    def __init__(self, folder: Path, rows: list[BatchRow], page: bool) -> None:
        self._rows = rows
        self._began = time.perf_counter()
        self._with_page = page
        # By the clock: when the page was last written, and how many seconds that took.
        self._written = 0.0
        self._took = 0.0
        self.summary = ManySummary(folder, tuple(rows))

    def __enter__(self) -> _Book:
        """Write the summary of nothing done."""
        self._write(at_once=True)
        return self

    def __exit__(self, *error: object) -> None:
        """Write the last summary; what is waiting now will not be done."""
        self.summary = replace(self.summary, stopped=bool(self.summary.waiting))
        self._write(at_once=True)

    def enter(self, k: int, row: BatchRow) -> None:
        """A batch has ended."""
        self._rows[k] = row
        self._write(at_once=False)

    def _write(self, at_once: bool) -> None:
        """Write the tables, and the page if that is worth its time."""
        seconds = round(time.perf_counter() - self._began, 2)
        self.summary = replace(self.summary, rows=tuple(self._rows), seconds=seconds)
        now = time.perf_counter()
        if self._with_page and (at_once or now - self._written > PAGE_SHARE * self._took):
            self._write_page()
        write_tables(self.summary)

    def _write_page(self) -> None:
        """Write the page; without its extra, say so once and go on without."""
        began = time.perf_counter()
        try:
            write_overview(self.summary)
        except InputError as error:
            self._with_page = False
            self.summary = replace(self.summary, remarks=(f"No page: {error}",))
        self._written = time.perf_counter()
        self._took = self._written - began


def _run(
    jobs: Sequence[Job], workers: int, executor: Submitter | None, watch: ManyWatch
) -> Generator[tuple[int, BatchRow], None, None]:
    """Run all jobs in the way that was asked for."""
    if executor is not None:
        yield from run_on_executor(jobs, executor)
    elif workers == 1:
        yield from run_here(jobs, watch)
    else:
        yield from run_in_processes(jobs, workers, watch)


def _shared_out(recipe: Recipe, workers: int, executor: Submitter | None) -> Recipe:
    """Settle how many threads each batch has: the cores are shared by the workers."""
    if executor is not None and workers != 1:
        raise InputError(f"workers={workers} has no effect with an executor; leave one of them out")
    threads = recipe.options.get("n_jobs")
    if threads not in (None, -1):
        return recipe
    # An executor has its own idea of how many tasks a machine gets.
    share = 1 if executor is not None else max((os.cpu_count() or 1) // workers, 1)
    return replace(recipe, options={**recipe.options, "n_jobs": share})


def _make_place(folder: Path, skip_existing: bool, overwrite: bool) -> None:
    """Make the folder of all runs; refuse one in which an earlier summary would be lost."""
    if (folder / SUMMARY).exists() and not skip_existing and not overwrite:
        raise InputError(
            f"{folder} holds an earlier summary; go on there with skip_existing=True, replace its "
            "runs with overwrite=True, or choose another folder"
        )
    for name in (SUMMARY, TABLE, OVERVIEW):
        check_ours(folder / name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            f"{folder} cannot be made ({error.strerror}); choose a folder that you may write to"
        ) from error
