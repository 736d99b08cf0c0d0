"""Who runs the slabs: one thread or several.

Results come back in the order of the slabs, so that sums over them are taken in a fixed order and
have the same bits whatever the number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any, Protocol, TypeVar

from rankfold.arguments import shown, whole
from rankfold.errors import InputError
from rankfold.scale.stores import MEMORY, Store

# Values that a task must compute to be worth a thread. Below that, threads spend more time on
# waiting for the interpreter than they gain.
WORTH_A_THREAD = 4096

S = TypeVar("S")
R = TypeVar("R")


class Executor(Protocol):
    """Runs one function on every slab. The function may write to its slab; its result is small.

    One that has an attribute ``store`` also says where large arrays are kept; they are in memory
    otherwise.
    """

    def run(self, function: Callable[..., R], slabs: Sequence[S], *shared: object) -> list[R]:
        """Return ``[function(slab, *shared) for slab in slabs]``, in that order."""
        ...


class Serial:
    """One slab after the other, in the calling thread.

    Parameters
    ----------
    store : Store
        Where large arrays are kept.
    """

    def __init__(self, store: Store = MEMORY) -> None:
        self.store = store

    def run(self, function: Callable[..., R], slabs: Sequence[S], *shared: object) -> list[R]:
        """Return ``[function(slab, *shared) for slab in slabs]``, computed in that order."""
        return [function(slab, *shared) for slab in slabs]


class Threads:
    """Slabs on a pool of threads, as the kernels release the interpreter lock. A context manager.

    Parameters
    ----------
    n_jobs : int
        Number of threads that work, the calling one included.
    store : Store
        Where large arrays are kept.
    """

    def __init__(self, n_jobs: int, store: Store = MEMORY) -> None:
        self.n_jobs = whole("n_jobs", n_jobs, 1)
        self.store = store
        self._pool = ThreadPoolExecutor(max(self.n_jobs - 1, 1), thread_name_prefix="rankfold")

    def run(self, function: Callable[..., R], slabs: Sequence[S], *shared: object) -> list[R]:
        """Return ``[function(slab, *shared) for slab in slabs]``, computed concurrently."""
        results: dict[int, R] = {}
        # Every thread takes the next number until there is none; ``next`` on a count is atomic.
        turn = count()
        given_up = threading.Event()

        def work() -> None:
            try:
                while not given_up.is_set() and (k := next(turn)) < len(slabs):
                    results[k] = function(slabs[k], *shared)
            except BaseException:
                # An interruption by the user among them: nobody begins another slab.
                given_up.set()
                raise

        helpers: list[Future[None]] = []
        # The calling thread works too. If its slab fails, the helpers end before the error leaves.
        try:
            for _ in range(min(self.n_jobs, len(slabs)) - 1):
                helpers.append(self._pool.submit(work))
            work()
        except BaseException:
            given_up.set()
            raise
        finally:
            wait(helpers)
        # An error of a helper is raised here.
        for helper in helpers:
            helper.result()
        return [results[k] for k in range(len(slabs))]

    def __enter__(self) -> Threads:
        """Return the executor itself: its pool is there already."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the threads: a pool that outlived its call would hang in a forked child."""
        self._pool.shutdown()


def shared_out(executor: Executor | None, values: int) -> Executor:
    """Return who runs tasks of several short calls: the executor, or this thread if they are small.

    ``values`` is how many values one task computes.
    """
    if executor is None or values < WORTH_A_THREAD:
        return Serial()
    return executor


@contextmanager
def executor_for(
    executor: Executor | None, n_jobs: int | None, store: Store = MEMORY
) -> Iterator[Executor]:
    """Give the caller's executor, or a new one for the duration of the block.

    BLAS is held to one thread meanwhile. Its own splitting would change the last bits with the
    number of cores, and its threads would compete with ours.

    Parameters
    ----------
    executor : Executor or None
        What the caller passed; if given, ``n_jobs`` is not used.
    n_jobs : int or None
        Number of threads: None or 1 for the calling one, -1 for as many as there are cores.
    store : Store
        Where a new executor keeps large arrays.
    """
    threads = number_of_threads(n_jobs)
    with _SINGLE_BLAS:
        if executor is not None:
            yield executor
        elif threads == 1:
            yield Serial(store)
        else:
            with Threads(threads, store) as pool:
                yield pool


def number_of_threads(n_jobs: int | None) -> int:
    """How many threads ``n_jobs`` asks for; raises an InputError on zero and below -1."""
    if n_jobs is None:
        return 1
    threads = whole("n_jobs", n_jobs)
    if threads < -1 or threads == 0:
        raise InputError(
            f"n_jobs={shown(n_jobs)} is not a number of threads; use 1, 2, ... or -1 for all cores"
        )
    return (os.cpu_count() or 1) if threads == -1 else threads


class _SingleBlas:
    """Holds BLAS to one thread while at least one of several overlapping calls is under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        """Set the limit if no other call is under way."""
        with self._lock:
            if self._calls == 0:
                self._limits = _blas().limit(limits=1, user_api="blas")
                self._limits.__enter__()
            self._calls += 1

    def __exit__(self, *error: object) -> None:
        """Restore the number of threads if this was the last call under way."""
        with self._lock:
            self._calls -= 1
            if self._calls == 0:
                self._limits.__exit__(None, None, None)


# One for the process, because the limit holds for the process.
_SINGLE_BLAS = _SingleBlas()


@contextmanager
def single_blas() -> Iterator[None]:
    """Hold BLAS to one thread for the duration of the block."""
    with _SINGLE_BLAS:
        yield


@cache
def _blas() -> Any:
    """The BLAS libraries of the process, looked for only once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
