"""The time of an inner iteration of RASL and of MeADMM, side by side on the same problem."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.scale import Executor, executor_for
from rankfold_lab import inner
from rankfold_lab.inner import AnyProjector, Context, Problem, get_projector, project_rows

# Iterations of a timed run. On pictures RASL takes 50 to 57 to a tolerance of 1e-6 and MeADMM 64 to
# 67; on the generated shapes RASL takes 18 and 40.
ITERATIONS = 48


@dataclass(frozen=True)
class Timing:
    """One inner iteration of both methods on the same problem.

    Attributes
    ----------
    rasl, meadmm : float
        Milliseconds, median over the repeats.
    ratio : float
        MeADMM over RASL, of runs next to each other. The paper reports 2.2.
    free : float
        The same if making Φ took no time: what the penalty alone costs.
    ranks : (float, float)
        The rank of A, mean over the iterations, of RASL and of MeADMM.
    """

    rasl: float
    meadmm: float
    ratio: float
    free: float
    ranks: tuple[float, float]


def time_both(problem: Problem, repeats: int = 7, n_jobs: int = 1, seconds: float = 0.0) -> Timing:
    """Time an iteration of RASL and of MeADMM.

    Whole runs take turns, so that a busy machine slows both. The ratio is the median of the ratios
    of neighbouring runs.

    Parameters
    ----------
    problem : Problem
    repeats : int
        How many turns there are at least.
    n_jobs : int
    seconds : float
        There are more turns until this time has passed.
    """
    projector = inner.default_projector()
    made: list[npt.NDArray[Any]] = []

    def remembering(context: Context) -> npt.NDArray[Any]:
        """Project, and keep Φ so that it can be handed out again."""
        made.append(project_rows(projector, context))
        return made[-1]

    times: list[tuple[float, ...]] = []
    with executor_for(None, n_jobs) as executor:
        # The first run of each method compiles, and is not timed.
        recorder = get_projector(remembering)
        first = [inner.iterate(problem, ITERATIONS, executor, one) for one in (None, recorder)]
        again = cycle(made)
        replayer = get_projector(lambda _: next(again))
        turns: tuple[AnyProjector | None, ...] = (None, projector, replayer)
        while len(times) < repeats or sum(map(sum, times)) < seconds:
            times.append(tuple(_seconds(problem, executor, one) for one in turns))
    rasl, meadmm, free = zip(*times, strict=True)
    ranks = [float(np.mean([record.rank for record in one.records])) for one in first]
    return Timing(
        rasl=_milliseconds(rasl),
        meadmm=_milliseconds(meadmm),
        ratio=paired(meadmm, rasl),
        free=paired(free, rasl),
        ranks=(ranks[0], ranks[1]),
    )


def paired(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the median of the ratios of times that were measured next to each other."""
    return float(np.median(np.divide(one, other)))


def _seconds(problem: Problem, executor: Executor, projector: AnyProjector | None) -> float:
    """Return the seconds of one run."""
    began = time.perf_counter()
    inner.iterate(problem, ITERATIONS, executor, projector)
    return time.perf_counter() - began


def _milliseconds(runs: Sequence[float]) -> float:
    """Return the milliseconds of an iteration, given the seconds of whole runs."""
    return 1e3 * float(np.median(runs)) / ITERATIONS
