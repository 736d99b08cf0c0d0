"""What a run will take before it is started: memory and time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from rankfold.align.methods import get_method
from rankfold.align.settings import AlignSettings
from rankfold.align.stages import STAGES, usual_stages
from rankfold.families import get_family
from rankfold.stack import Frame

# Interpreter, libraries and compiled kernels.
BASE_BYTES = 250e6


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
    numbers = AlignSettings()
    # Places are searched on a frame that is no larger than this.
    side = numbers.resolution.side
    small = m * min(side / min(frame.shape), 1.0) ** 2
    # Doubles a grey pixel, fitted to measured peaks: while aligning D, Q and copies in single
    # precision, at the end D, X, A, E, Y, Φ and the results in every channel.
    single = chosen.projector is not None or values * channels > numbers.decomposition.single_above
    aligning = (p + 12 + 3 * channels) * small / m if moves else 0
    doubles = max(aligning, (9.5 if single else 17) * channels)
    memory = BASE_BYTES + 1.05 * 8 * values * doubles
    seconds = 0.0
    for stage in usual_stages(chosen, small < m) if moves else []:
        if stage.moves:
            pixels = m if stage.whole else small
            # Of an outer iteration: the linearisation.
            sampling = 1e-8 * images * pixels * (p + 6)
            iteration = _iteration_seconds(images, pixels, p)
            seconds += stage.outer * (stage.inner * iteration + sampling)
    seconds += STAGES["decomposition"].cost * _iteration_seconds(images, m * channels, 0)
    return Plan(images, frame, channels, method, family, memory, seconds)


def _iteration_seconds(n: int, m: float, p: int) -> float:
    """Seconds for an inner iteration: two products with an n x n matrix, passes, eigenproblem."""
    return (4 * n * n * m + 12 * n**3) / _flops() + n * m * (10 + 2 * p) * 6e-10


@cache
def _flops(size: int = 256) -> float:
    """What this machine does a second, from the quickest of some small matrix products."""
    a = np.ones((size, size))
    seconds = []
    for _ in range(8):
        began = time.perf_counter()
        a @ a
        seconds.append(time.perf_counter() - began)
    # A run gets most of that.
    return float(2 * size**3 / max(min(seconds), 1e-6)) / 1.4
