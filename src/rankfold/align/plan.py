"""What a run will take before it is started: memory and time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from rankfold.align.methods import get_method
from rankfold.align.stages import STAGES, usual_stages
from rankfold.families import get_family
from rankfold.stack import Frame

# Interpreter, libraries and compiled kernels.
BASE_BYTES = 250e6
# The last decomposition waits for the dual residual, or projects, which takes longer.
LAST_BALANCED = 3.0
LAST_MANIFOLD = 1.4


@dataclass(frozen=True)
class Plan:
    """An estimate, good to a factor of two in time."""

    images: int
    frame: Frame
    channels: int
    method: str
    family: str
    memory: float  # bytes, resident at the peak
    seconds: float  # on one thread of this machine


def plan(
    images: int,
    frame: Frame,
    channels: int = 1,
    method: str = "meadmm",
    family: str = "similarity",
    moves: bool = True,
) -> Plan:
    """Estimate memory and time on pictures of about the size of the frame.

    Of :func:`rankfold.align`, or with ``moves=False`` of :func:`rankfold.decompose`.
    """
    chosen = get_method(method)
    p = get_family(family).size
    moves = moves and chosen.moves
    m = frame.height * frame.width
    values = images * m
    # Doubles a grey pixel, fitted to measured peaks: while aligning D, Q and copies, in the last
    # decomposition all of D, X, A, E, Y, Φ and the results in every channel.
    aligning = 2 * p + 15 + 3 * channels if moves else 0
    doubles = max(aligning, 17 * channels + 2)
    memory = BASE_BYTES + 1.05 * 8 * values * doubles
    # Of an outer iteration: the linearisation.
    sampling = 2e-7 * values * (p + 6)
    iteration = _iteration_seconds(images, m, p)
    searching = [stage for stage in usual_stages(chosen) if moves and stage.moves]
    seconds = sum(stage.outer * (stage.inner * iteration + sampling) for stage in searching)
    last = STAGES["decomposition"]
    longer = LAST_MANIFOLD if chosen.projector else LAST_BALANCED
    seconds += last.cost * longer * _iteration_seconds(images, m * channels, p)
    return Plan(images, frame, channels, method, family, memory, seconds)


def _iteration_seconds(n: int, m: int, p: int) -> float:
    """Seconds for an inner iteration: two products with an n x n matrix, passes, eigenproblem."""
    return (4 * n * n * m + 12 * n**3) / _flops() + n * m * (10 + 2 * p) * 1.2e-9


@cache
def _flops(size: int = 256) -> float:
    """What this machine does a second, from one small matrix product, measured once."""
    a = np.ones((size, size))
    a @ a
    began = time.perf_counter()
    for _ in range(4):
        a @ a
    took = max(time.perf_counter() - began, 1e-6)
    # A run gets most of that.
    return float(4 * 2 * size**3 / took) / 1.4
