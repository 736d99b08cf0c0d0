"""Three ways to run all jobs: here one after the other, in processes, or on an executor."""

from __future__ import annotations

from asyncio import CancelledError as TaskCancelled
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from functools import partial
from queue import SimpleQueue
from typing import Any, Protocol

from rankfold.many.work import Job, run_batch
from rankfold.many.workers import Died, run_jobs
from rankfold.runs import BatchRow, Unwatched, Watch

KILLED = (
    "its process was killed twice, probably for want of memory; use fewer workers, a smaller "
    "frame, a larger reduction or dtype='float32'"
)


class ManyWatch(Protocol):
    """Whoever follows many batches."""

    def begin(self, names: Sequence[str]) -> None:
        """The batches are known and named."""

    def batch_begins(self, name: str) -> None:
        """A batch is under way. On an executor nobody knows when."""

    def inside(self, name: str) -> Watch:
        """Give someone who follows a batch that is run in this process."""

    def batch_ends(self, row: BatchRow) -> None:
        """A batch is done, or there is an error."""

    def remark(self, text: str) -> None:
        """Something is to be said that is not a result."""


class UnwatchedMany:
    """Watches nothing."""

    def begin(self, names: Sequence[str]) -> None:
        """Take no notice of the names."""

    def batch_begins(self, name: str) -> None:
        """Take no notice of a batch."""

    def inside(self, name: str) -> Watch:  # noqa: ARG002 (every watch takes a name)
        """Give someone who watches nothing either."""
        return Unwatched()

    def batch_ends(self, row: BatchRow) -> None:
        """Take no notice of an end."""

    def remark(self, text: str) -> None:
        """Take no notice of a remark."""


class Submitter(Protocol):
    """What runs jobs: a client of Dask, or an executor of ``concurrent.futures``."""

    def submit(self, function: Any, /, *args: Any) -> Any:
        """Have a function called somewhere; return its future."""


def run_here(jobs: Sequence[Job], watch: ManyWatch) -> Iterator[tuple[int, BatchRow]]:
    """Run one job after the other in this process.

    Parameters
    ----------
    jobs : sequence of Job
    watch : ManyWatch

    Yields
    ------
    number, BatchRow
    """
    for k, job in enumerate(jobs):
        watch.batch_begins(job.batch.name)
        yield k, run_batch(job, watch.inside(job.batch.name))


def run_in_processes(
    jobs: Sequence[Job], workers: int, watch: ManyWatch
) -> Iterator[tuple[int, BatchRow]]:
    """Run jobs in processes of their own; one that is killed costs only its batch.

    Parameters
    ----------
    jobs : sequence of Job
    workers : int
        Processes at a time.
    watch : ManyWatch

    Yields
    ------
    number, BatchRow
        As they end.
    """

    def begins(k: int) -> None:
        watch.batch_begins(jobs[k].batch.name)

    for k, result in run_jobs(jobs, run_batch, workers, begins):
        yield k, _failed(jobs[k], result) if isinstance(result, Died) else result


def run_on_executor(jobs: Sequence[Job], executor: Submitter) -> Iterator[tuple[int, BatchRow]]:
    """Run jobs on whatever has ``submit``.

    Parameters
    ----------
    jobs : sequence of Job
    executor : Submitter
        A client of Dask or an executor of ``concurrent.futures``.

    Yields
    ------
    number, BatchRow
        As they end.
    """
    # Futures of all kinds tell when they are done; they have no common way to be waited for.
    done: SimpleQueue[int] = SimpleQueue()
    futures = [executor.submit(run_batch, job) for job in jobs]
    for k, future in enumerate(futures):
        future.add_done_callback(partial(_put, done, k))
    try:
        for _ in futures:
            k = done.get()
            yield k, _row(jobs[k], futures[k])
    finally:
        for future in futures:
            future.cancel()


def _put(done: SimpleQueue[int], k: int, future: object) -> None:  # noqa: ARG001 (a callback)
    """Note that a future is done."""
    done.put(k)


def _row(job: Job, future: Any) -> BatchRow:
    """The row of a job that is done; an error that its worker did not expect is listed as well."""
    try:
        error = future.exception()
    except (CancelledError, TaskCancelled):
        return job.failed("it was cancelled; run the same command again to go on")
    if error is None:
        row: BatchRow = future.result()
        return row
    return job.failed(f"its worker failed ({type(error).__name__}: {error}); look at its log")


def _failed(job: Job, died: Died) -> BatchRow:
    """The row of a batch whose process ended before it was done."""
    if died.was_killed:
        return job.failed(KILLED)
    return job.failed(
        f"its process ended with exit code {died.code}; standard error says why (a script has to "
        "call align_many under `if __name__ == '__main__':`)"
    )
