"""The least an inner iteration can cost on this machine.

Any method that thresholds through a Gram matrix must do this: one Gram product X X', one product of
an n x n matrix with X, and one pass over the arrays that reads five and writes three of them. There
is no eigenproblem in it, no thresholds, no sums.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from rankfold.families import Floats
from rankfold.scale import Executor, executor_for
from rankfold_lab.bench.setting import jobs_of

Array = npt.NDArray[Any]

# Runs of a part, fewer where they take this many seconds together.
RUNS = 15
ENOUGH = 0.3


@njit(cache=True, nogil=True, fastmath=True)
def stream(a: Array, b: Array, c: Array, d: Array, e: Array, x: Array, y: Array, z: Array) -> None:
    """Read five rows and write three with as little arithmetic as that takes."""
    for i in range(len(a)):
        x[i] = a[i] + b[i]
        y[i] = c[i] - d[i]
        z[i] = d[i] + e[i]


def floor_seconds(X: Floats, threads: int) -> dict[str, float]:
    """Seconds for the two products and the pass on ``threads`` threads."""
    from threadpoolctl import threadpool_limits

    n = len(X)
    M = np.eye(n)
    product = np.empty_like(X)
    gram = np.empty((n, n))
    # Pages that were never written to are not in memory, and would be read from cache.
    others = [np.full_like(X, 0.5) for _ in range(5)]
    five = [X, *others[:4]]
    three = [others[4], product, np.zeros_like(X)]
    with threadpool_limits(threads, user_api="blas"):
        seconds = {
            "Gram product": _seconds(lambda: np.matmul(X, X.T, out=gram)),
            "product": _seconds(lambda: np.matmul(M, X, out=product)),
        }
    with executor_for(None, jobs_of(threads)) as executor:
        seconds["stream"] = _seconds(lambda: _stream(five, three, executor, threads))
    return seconds


def _stream(five: list[Array], three: list[Array], executor: Executor, threads: int) -> None:
    """One pass, shared out over the threads."""
    flat = [array.reshape(-1) for array in (*five, *three)]
    size = len(flat[0])
    step = -(-size // threads)

    def piece(k: int) -> None:
        stream(*(array[k : k + step] for array in flat))

    executor.run(piece, range(0, size, step))


def _seconds(run: Callable[[], object]) -> float:
    """Median of a few runs, after one that does not count; where they take long, of one."""
    run()
    seconds: list[float] = []
    while len(seconds) < RUNS and sum(seconds) < ENOUGH:
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))
