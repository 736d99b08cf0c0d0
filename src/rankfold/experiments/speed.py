"""Time of an inner iteration, RASL and MeADMM side by side on the same problem."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle

import numpy as np

from rankfold.admm import Clone, Problem, Settings, solve
from rankfold.datasets import low_rank_plus_sparse
from rankfold.executors import executor_for
from rankfold.manifold import Context, get_projector
from rankfold.manifold.contract import Array

SHAPES = {"64 x 1,890 (45 x 42)": (64, 45, 42), "140 x 4,800 (80 x 60)": (140, 80, 60)}
ITERATIONS = 48  # a run to 1e-6 takes RASL 50 to 57 and MeADMM 64 to 67 on pictures, RASL 18 and 40 on these shapes


@dataclass(frozen=True)
class Timing:
    """One inner iteration of both methods on the same problem."""

    rasl: float  # milliseconds, median over repeats
    meadmm: float
    ratio: float  # MeADMM over RASL, of runs next to each other; the paper reports 2.2
    free: float  # the same if to make Φ took no time: what the penalty alone costs
    ranks: tuple[float, float]  # of A, mean over the iterations of RASL and of MeADMM


def iteration_times(repeats: int = 7, n_jobs: int = 1) -> dict[str, Timing]:
    """Both methods on the declared shapes, generated."""
    return {
        name: time_both(moving_problem(shape), repeats, n_jobs) for name, shape in SHAPES.items()
    }


def time_both(problem: Problem, repeats: int = 7, n_jobs: int = 1, seconds: float = 0.0) -> Timing:
    """Time an iteration of RASL and of MeADMM, ``repeats`` times at least and until ``seconds`` have passed.

    Whole runs take turns, so that a busy machine slows both; the ratio is the median of those of neighbouring runs.
    """
    plain, projector = Settings(tol=1e-15, max_iter=ITERATIONS), get_projector("regression")
    made: list[Array] = []

    def remember(context: Context) -> Array:
        made.append(projector(context))
        return made[-1]

    times: list[tuple[float, ...]] = []
    with executor_for(None, n_jobs) as executor:

        def run(clone: Clone | None) -> float:
            began = time.perf_counter()
            solve(problem, replace(plain, clone=clone), executor)
            return time.perf_counter() - began

        first = [
            solve(problem, replace(plain, clone=clone), executor)
            for clone in (None, Clone(remember))
        ]  # compiles
        again = cycle(made)
        turns = (None, Clone(projector), Clone(lambda _: next(again)))
        while len(times) < repeats or sum(map(sum, times)) < seconds:
            times.append(tuple(run(clone) for clone in turns))
    rasl, meadmm, free = zip(*times, strict=True)
    one, other = (1e3 * float(np.median(some)) / ITERATIONS for some in (rasl, meadmm))
    ranks = [float(np.mean([record.rank for record in solution.records])) for solution in first]
    return Timing(one, other, paired(meadmm, rasl), paired(free, rasl), (ranks[0], ranks[1]))


def paired(one: Sequence[float], other: Sequence[float]) -> float:
    """Median of the ratios of times that were measured next to each other."""
    return float(np.median(np.divide(one, other)))


def moving_problem(shape: tuple[int, int, int]) -> Problem:
    """An inner problem of RASL on (images, height, width), generated: four parameters an image."""
    n, height, width = shape
    m, rng = height * width, np.random.default_rng(0)
    data = low_rank_plus_sparse(n, m, rank=8, corrupted=0.1, seed=0).data
    norms = np.linalg.norm(data, axis=1, keepdims=True)
    Q = np.linalg.qr(rng.standard_normal((n, m, 4)))[0].transpose(0, 2, 1)
    return Problem(
        data / norms, 1 / np.sqrt(m), None, Q, units=10 / norms[:, 0], shape=(1, height, width)
    )
