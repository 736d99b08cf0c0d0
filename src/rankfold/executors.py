"""Who runs the slabs: one thread or several. Results come back in slab order, so sums have a fixed order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol, TypeVar

from rankfold.errors import InputError

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
    """Slabs on a pool of threads; the kernels release the interpreter lock.

    Parameters
    ----------
    n_jobs : int
        Number of threads.
    """

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._pool = ThreadPoolExecutor(n_jobs, thread_name_prefix="rankfold")

    def run(self, function: Callable[..., R], slabs: Sequence[S], *shared: object) -> list[R]:
        """Run concurrently, return in order."""
        return list(self._pool.map(lambda slab: function(slab, *shared), slabs))


@contextmanager
def executor_for(executor: Executor | None, n_jobs: int | None) -> Iterator[Executor]:
    """Give the caller's executor, or one with ``n_jobs`` threads (None or 1: serial, -1: all cores).

    BLAS is held to one thread meanwhile: its own splitting would change the last bits with the number of
    cores, and would fight with ours for them.
    """
    if n_jobs is not None and (n_jobs < -1 or n_jobs == 0):
        raise InputError(f"n_jobs={n_jobs} is not a number of threads; use 1, 2, ... or -1 for all cores")
    count = (os.cpu_count() or 1) if n_jobs == -1 else (n_jobs or 1)
    with _blas().limit(limits=1, user_api="blas"):
        yield executor if executor is not None else (Serial() if count == 1 else _pool(count))


@cache
def _pool(n_jobs: int) -> Threads:
    """One pool for each size, kept: starting threads for every call would cost more than the work."""
    return Threads(n_jobs)


@cache
def _blas() -> Any:
    """Find the BLAS libraries once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
