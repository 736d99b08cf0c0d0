"""Who runs the slabs: one thread or several. Results come back in slab order, so sums have a fixed order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any, Protocol, TypeVar

from rankfold.errors import InputError

WORTH = 4096  # values that a task computes; for fewer, threads spend more on waiting for the interpreter than they gain

S = TypeVar("S")
R = TypeVar("R")


class Executor(Protocol):
    """Runs one function on every slab. The function may write to its slab and returns something small."""

    def run(self, function: Callable[..., R], slabs: Sequence[S], *shared: object) -> list[R]:
        """Return ``[function(slab, *shared) for slab in slabs]``, in that order."""
        ...


class Serial:
    """One slab after the other, in the calling thread."""

    def run(self, function: Callable[..., R], slabs: Sequence[S], *shared: object) -> list[R]:
        """Run in order."""
        return [function(slab, *shared) for slab in slabs]


class Threads:
    """Slabs on a pool of threads; the kernels release the interpreter lock. A context manager.

    Parameters
    ----------
    n_jobs : int
        Number of threads.
    """

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._pool = ThreadPoolExecutor(max(n_jobs - 1, 1), thread_name_prefix="rankfold")

    def run(self, function: Callable[..., R], slabs: Sequence[S], *shared: object) -> list[R]:
        """Run concurrently, return in order. The calling thread works too, and a task is a thread's, not a slab's."""
        results: dict[int, R] = {}
        turn = count()

        def work() -> None:
            while (k := next(turn)) < len(slabs):
                results[k] = function(slabs[k], *shared)

        helpers = [self._pool.submit(work) for _ in range(min(self.n_jobs, len(slabs)) - 1)]
        try:
            work()
        finally:
            wait(helpers)
        for helper in helpers:
            helper.result()
        return [results[k] for k in range(len(slabs))]

    def __enter__(self) -> Threads:
        """Nothing to do: the pool is there."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the threads: a pool that outlived its call would hang in a forked child."""
        self._pool.shutdown()


def shared_out(executor: Executor | None, values: int) -> Executor:
    """Who runs tasks that compute so many values each, and do so in several short calls: the calling thread if few."""
    return executor if executor is not None and values >= WORTH else Serial()


@contextmanager
def executor_for(executor: Executor | None, n_jobs: int | None) -> Iterator[Executor]:
    """Give the caller's executor, or one with ``n_jobs`` threads (None or 1: serial, -1: all cores).

    BLAS is held to one thread meanwhile: its own splitting would change the last bits with the number of
    cores, and would fight with ours for them.
    """
    if n_jobs is not None and (n_jobs < -1 or n_jobs == 0):
        raise InputError(
            f"n_jobs={n_jobs} is not a number of threads; use 1, 2, ... or -1 for all cores"
        )
    count = (os.cpu_count() or 1) if n_jobs == -1 else (n_jobs or 1)
    with _SINGLE_BLAS:
        if executor is not None:
            yield executor
        elif count == 1:
            yield Serial()
        else:
            with Threads(count) as threads:
                yield threads


class _SingleBlas:
    """Holds BLAS to one thread from the first of several overlapping calls to the end of the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        """The first one in sets the limit."""
        with self._lock:
            if self._calls == 0:
                self._limits = _blas().limit(limits=1, user_api="blas")
                self._limits.__enter__()
            self._calls += 1

    def __exit__(self, *error: object) -> None:
        """The last one out restores what was."""
        with self._lock:
            self._calls -= 1
            if self._calls == 0:
                self._limits.__exit__(None, None, None)


_SINGLE_BLAS = _SingleBlas()


@cache
def _blas() -> Any:
    """Find the BLAS libraries once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
