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
BASE_BYTES = 330e6  # interpreter, libraries and compiled kernels

# Outer iterations that a stage usually takes, for estimates only; the decomposition counts as one long iteration.
TYPICAL = {"coarse": 12, "features": 12, "pixels": 8}
INNER = 45  # iterations of the inner solver in one outer iteration
LAST = 60  # of the last decomposition


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


def plan(images: int, frame: Frame, channels: int = 1, method: str = "meadmm", family: str = "similarity") -> Plan:
    """Estimate memory and time of :func:`rankfold.align` on pictures of about the size of the frame."""
    chosen, p = get_method(method), get_family(family).size
    m = frame.height * frame.width
    values = images * m
    guide = 3 if chosen.features else 1  # grey, contrast features, blurred
    # per value of the grey frame: sources and their splines; D, Q, X, A, E, Y, Φ twice (problem and slabs)
    memory = BASE_BYTES + 8 * values * (3 * channels + 2 * guide + max(2 * p + 14, 17 * channels) * 1.1)
    outer = sum(TYPICAL[stage] for stage in TYPICAL if chosen.moves and (stage == "pixels" or chosen.features))
    grey, colour = (_iteration(images, m * c, p) for c in (1, channels))
    sampling = 2e-7 * values * (p + 6)
    seconds = outer * (INNER * grey + sampling) + LAST * colour * (1.4 if chosen.projector else 3)
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
    return float(4 * 2 * size**3 / max(time.perf_counter() - began, 1e-6)) / 3  # a third of it in practice
