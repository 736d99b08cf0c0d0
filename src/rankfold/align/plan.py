"""What a run will take before it is started: memory, time, and a frame that fits."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from rankfold.align.methods import get_method
from rankfold.families import get_family
from rankfold.stack import Frame

FRAME_PIXELS = 2**16  # of a frame that is chosen by default: 256 x 256
BATCH_VALUES = 2**24  # values (pictures x pixels x channels) of such a batch
BASE_BYTES = 250e6  # interpreter, libraries and compiled kernels

# What a stage usually takes, for estimates only: outer iterations, and inner ones in each of them.
TYPICAL = {"coarse": 8, "features": 8, "pixels": 6}
INNER = {"coarse": 25, "features": 25, "pixels": 45}
LAST = 60  # inner iterations of the last decomposition


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


def default_reduction(images: int, height: int, width: int, channels: int) -> int:
    """By how much pictures are reduced so that a frame of their size has a sensible number of pixels."""
    pixels = min(FRAME_PIXELS, BATCH_VALUES / max(images * channels, 1))
    return max(int(np.ceil(np.sqrt(height * width / pixels) - 1e-9)), 1)


def batch_reduction(images: int, shape: tuple[int, ...]) -> int:
    """By how much pictures that are only decomposed are reduced, so that the batch has a sensible number of values."""
    return max(int(np.ceil(np.sqrt(images * np.prod(shape, dtype=float) / BATCH_VALUES) - 1e-9)), 1)


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
    chosen, p = get_method(method), get_family(family).size
    moves = moves and chosen.moves
    m = frame.height * frame.width
    values = images * m
    # doubles a grey pixel, fitted to measured peaks: while aligning D, Q and copies, in the last decomposition all
    # of D, X, A, E, Y, Φ and the results in every channel
    doubles = max((2 * p + 15 + 3 * channels) if moves else 0, 17 * channels + 2)
    memory = BASE_BYTES + 1.05 * 8 * values * doubles
    stages = [stage for stage in TYPICAL if moves and (stage == "pixels" or chosen.features)]
    grey, colour = (_iteration(images, m * c, p) for c in (1, channels))
    sampling = 2e-7 * values * (p + 6)
    seconds = sum(TYPICAL[stage] * (INNER[stage] * grey + sampling) for stage in stages)
    seconds += LAST * colour * (1.4 if chosen.projector else 3)
    return Plan(images, frame, channels, method, family, memory, seconds)


def _iteration(n: int, m: int, p: int) -> float:
    """Seconds for one inner iteration: two products with an n x n matrix, streaming passes, one eigenproblem."""
    rate = _flops()
    return (4 * n * n * m + 12 * n**3) / rate + n * m * (10 + 2 * p) * 1.2e-9


def _flops(size: int = 256) -> float:
    """What this machine does a second, from one small matrix product."""
    a = np.ones((size, size))
    a @ a
    began = time.perf_counter()
    for _ in range(4):
        a @ a
    return (
        float(4 * 2 * size**3 / max(time.perf_counter() - began, 1e-6)) / 1.4
    )  # of which we get most
