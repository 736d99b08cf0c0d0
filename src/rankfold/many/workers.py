"""Processes that run one job after the other, and what becomes of those that die.

Each worker has a pipe of its own. So when one is killed it is known which job it had, the others
go on, and a new one takes its place. Processes are spawned, not forked: threads and compiled
kernels do not survive a fork.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from rankfold.interruptions import SIGNALS, TERMINATED, Terminated, uninterrupted

# Seconds that a worker has to clean up before it is killed.
PATIENCE = 20.0


@dataclass(frozen=True)
class Died:
    """Stands for the result of a job whose process ended before the job did.

    Parameters
    ----------
    code : int or None
        The exit code; negative for the number of the signal that killed it.
    """

    code: int | None

    @property
    def was_killed(self) -> bool:
        """Whether a signal ended it, as the system sends one where memory runs out."""
        return self.code is None or self.code < 0 or self.code == TERMINATED


class Worker:
    """A process that runs jobs.

    Parameters
    ----------
    function : callable
        Takes a job and returns its result. A function of a module, which the process imports.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        # Not a daemon: those may not have processes of their own.
        self._process = context.Process(target=serve, args=(theirs, function), name="rankfold")
        with _sheltered():
            self._process.start()
        # With their end open here as well, one would never learn that the process is gone.
        theirs.close()

    def result(self) -> Any:
        """Wait for the result of the job that was sent; :class:`Died` if none will come."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.pipe.close()
            self._process.join(PATIENCE)
            return Died(self._process.exitcode)

    def send(self, job: Any) -> None:
        """Hand over a job. If the process is gone, :meth:`result` says so."""
        with suppress(ConnectionError):
            self.pipe.send(job)

    def leave(self, busy: bool) -> None:
        """Have the process end: an idle one sees that the pipe is closed, a busy one is asked."""
        self.pipe.close()
        if busy:
            self._process.terminate()

    def end(self, patience: float = PATIENCE) -> None:
        """Wait until the process has left; after so many seconds it is killed."""
        self._process.join(patience)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def serve(pipe: Connection[Any, Any], function: Callable[[Any], Any]) -> None:
    """Run whatever comes through a pipe until it is closed: the life of a worker.

    Parameters
    ----------
    pipe : Connection
    function : callable
    """
    # Ctrl-C at a terminal reaches every process; the one that started this decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_follow_parent, daemon=True).start()
    try:
        with SIGNALS.listening():
            _work(pipe, function)
    except Terminated:
        # What was half written has been removed on the way out.
        sys.exit(TERMINATED)


def _work(pipe: Connection[Any, Any], function: Callable[[Any], Any]) -> None:
    """Run whatever comes through a pipe."""
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            # The other end is closed: before a job, in the middle of one, or with a result of
            # this process still in the pipe.
            return
        result = function(job)
        try:
            pipe.send(result)
        except ConnectionError:
            # Nobody wants it any more.
            return


def run_jobs(
    jobs: Sequence[Any],
    function: Callable[[Any], Any],
    count: int,
    begins: Callable[[int], object],
    patience: float = PATIENCE,
) -> Generator[tuple[int, Any], None, None]:
    """Run jobs on so many processes, and give each result as it comes.

    A job whose process was killed is tried once more when all others are done, alone.

    Parameters
    ----------
    jobs : sequence
    function : callable
        Takes a job and returns its result.
    count : int
        Processes at a time.
    begins : callable
        Told the number of every job that is handed over.
    patience : float
        Seconds that all processes have to clean up, if whoever takes the results stops.

    Yields
    ------
    number, result
        The result is :class:`Died` if the process ended before the job did.
    """
    killed = []
    everything = list(range(len(jobs)))
    with closing(_in_parallel(everything, jobs, function, count, begins, patience)) as ended:
        for k, result in ended:
            if isinstance(result, Died) and result.was_killed:
                killed.append(k)
            else:
                yield k, result
    # With fewer neighbours there is more memory.
    yield from _in_parallel(sorted(killed), jobs, function, 1, begins, patience)


def _in_parallel(
    numbers: list[int],
    jobs: Sequence[Any],
    function: Callable[[Any], Any],
    count: int,
    begins: Callable[[int], object],
    patience: float,
) -> Generator[tuple[int, Any], None, None]:
    """Run the jobs of these numbers, so many at a time."""
    waiting = deque(numbers)
    idle: list[Worker] = []
    busy: dict[Any, tuple[Worker, int]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < count:
                k = waiting.popleft()
                # A process that nobody knows of could not be ended.
                with uninterrupted():
                    worker = idle.pop() if idle else Worker(function)
                    busy[worker.pipe] = (worker, k)
                worker.send(jobs[k])
                begins(k)
            for pipe in wait(list(busy)):
                worker, k = busy[pipe]
                result = worker.result()
                # In this order, so that a worker is always in one of them.
                if not isinstance(result, Died):
                    idle.append(worker)
                del busy[pipe]
                if isinstance(result, Died):
                    worker.end()
                yield k, result
    finally:
        # A process that is not waited for until it has left, or was killed, might never leave.
        with uninterrupted():
            _end_all([one for one, _ in busy.values()], idle, patience)


def _end_all(busy: list[Worker], idle: list[Worker], patience: float) -> None:
    """End processes, which have so many seconds together to clean up."""
    # All of them are told first: they clean up at the same time.
    for worker in busy:
        worker.leave(busy=True)
    for worker in idle:
        worker.leave(busy=False)
    until = time.monotonic() + patience
    for worker in {*idle, *busy}:
        worker.end(max(until - time.monotonic(), 0.0))


@contextmanager
def _sheltered() -> Iterator[None]:
    """Start processes to which Ctrl-C does nothing, not even while they import."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Python starts its tracker with the first process, and unblocks Ctrl-C on the way; so before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow_parent() -> None:
    """End this process when the one that started it is gone: nobody would take the result."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        # What is stuck in compiled code does not hear that.
        time.sleep(PATIENCE)
        os._exit(TERMINATED)
