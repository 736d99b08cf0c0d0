"""What a run will take before it is started: memory and time."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from rankfold.admm.layout import slab_length
from rankfold.align.methods import get_method
from rankfold.align.request import Request
from rankfold.align.settings import AlignSettings
from rankfold.align.stages import STAGES, usual_stages
from rankfold.families import get_family
from rankfold.scale import Needs
from rankfold.stack import Frame

# Interpreter, libraries and compiled kernels.
BASE_BYTES = 250e6

# With arrays on disk: slabs that are in memory at a time, arrays of each with copies of them, and
# matrices of the size of the short axis.
SLABS_AT_WORK = 4
ARRAYS_OF_A_SLAB = 9
SQUARES = 8
# Room on disk for arrays that would take so many bytes in memory: none is given back meanwhile.
ON_DISK = 1.5


@dataclass(frozen=True)
class Plan:
    """An estimate, good to a factor of two in time."""

    images: int
    frame: Frame
    channels: int
    method: str
    family: str
    memory: float  # bytes, resident at the peak
    least: float  # the same with large arrays on disk
    disk: float  # bytes of these arrays
    seconds: float  # on one thread of this machine

    @property
    def needs(self) -> Needs:
        """What it takes in memory, or in memory and on disk."""
        return Needs(self.memory, self.least, self.disk)


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
    single = chosen.projector is not None or values * channels > numbers.decomposition.single_above
    needs = needs_of(images, m, small, p if moves else None, channels, single)
    seconds = 0.0
    for stage in usual_stages(chosen, small < m) if moves else []:
        if stage.moves:
            pixels = m if stage.whole else small
            # Of an outer iteration: the linearisation.
            sampling = 1e-8 * images * pixels * (p + 6)
            iteration = _iteration_seconds(images, pixels, p)
            seconds += stage.outer * (stage.inner * iteration + sampling)
    seconds += STAGES["decomposition"].cost * _iteration_seconds(images, m * channels, 0)
    return Plan(
        images,
        frame,
        channels,
        method,
        family,
        needs.memory,
        needs.least,
        needs.disk,
        seconds,
    )


def needs_of_request(request: Request) -> Needs:
    """Estimate the memory of an alignment that is about to run."""
    stack = request.stack
    height, width = request.frame.shape
    pixels = height * width
    searched = float(pixels)
    if request.searches_small:
        searched = pixels * (request.settings.resolution.side / min(height, width)) ** 2
    values = len(stack) * pixels * stack.channels
    large = values > request.settings.decomposition.single_above
    single = request.schedule.single or (large and not request.schedule.exact)
    p = request.family.size if request.method.moves else None
    needs = needs_of(len(stack), pixels, searched, p, stack.channels, single)
    # The pictures themselves are in memory, wherever other arrays are.
    pictures = sum(array.nbytes for array in (*stack.sources, *stack.masks))
    return replace(needs, least=needs.least + pictures)


def needs_of(
    images: int, pixels: float, searched: float, p: int | None, channels: int, single: bool
) -> Needs:
    """Estimate the memory of a run.

    ``pixels`` are those of the frame, ``searched`` those of the frame on which places are searched
    for ``p`` parameters, None where nothing moves; ``single`` is the precision at the end.
    """
    # Doubles a grey pixel, fitted to measured peaks: while aligning D, Q and copies in single
    # precision, at the end D, X, A, E, Y, Φ and the results in every channel.
    aligning = 0.0 if p is None else (p + 12 + 3 * channels) * searched / pixels
    doubles = max(aligning, (9.5 if single else 17) * channels)
    arrays = 1.05 * 8 * images * pixels * doubles
    # With arrays on disk a few slabs are in memory at a time, and copies of them in double
    # precision with which something is proved.
    m = int(pixels * channels)
    slab = min(images, m) * slab_length(images, m)
    working = 8 * (SLABS_AT_WORK * ARRAYS_OF_A_SLAB * slab + SQUARES * min(images, m) ** 2)
    least = BASE_BYTES + min(working, arrays)
    return Needs(BASE_BYTES + arrays, least, ON_DISK * arrays)


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
