"""What a run over pictures on disk will take, and whether this machine has it."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rankfold.align.matching import available
from rankfold.align.methods import Method, get_method
from rankfold.align.plan import BASE_BYTES, Plan, plan
from rankfold.align.request import route_for
from rankfold.io import Source
from rankfold.runs.choice import Choice
from rankfold.stack.views import VIEW_SIDE

# Share of the memory of a run in double precision that one in single precision takes, because some
# of its work is in the same precision either way. Peaks measured on 60 pictures in a frame of
# 290x290: 0.95 GB after 1.18 GB (RASL) and 1.41 GB (MeADMM).
SINGLE_PRECISION = 0.65
# Unit: seconds. What it takes on one core to place a picture against a sample, and more for every
# pixel of the frame: 0.03 s for 45x42 and 0.09 s for 120x160.
PLACING = 0.025
PLACING_A_PIXEL = 3.4e-6
# A second core saves about this share of its own time; further ones are not counted on.
SECOND_CORE = 0.6


def plan_run(
    source: Source,
    choice: Choice,
    method: str,
    family: str = "translation",
    *,
    moves: bool = True,
    start: str | None = None,
    coarse: str | bool | None = None,
    frame_of: int | str | None = None,
    dtype: npt.DTypeLike = np.float64,
    others: int = 0,
) -> Plan:
    """Estimate memory and time of a run before anything is read.

    Parameters
    ----------
    source : Source
    choice : Choice
    method, family : str
        Rows of METHODS and FAMILIES.
    moves : bool
        False for a decomposition, which estimates no transforms.
    start, coarse, frame_of
        As in :func:`rankfold.align`: matching needs small copies of the pictures.
    dtype : float64 or float32
    others : int
        Pictures that are placed against those of the source, where they are a sample. They take
        time, and no memory to speak of.

    Returns
    -------
    Plan
        ``memory`` in bytes at the peak; ``seconds`` on the cores of this machine, good to a
        factor of two.
    """
    on_one_core = plan(len(source), choice.frame, source.channels, method, family, moves)
    itemsize = np.dtype(dtype).itemsize
    arrays = on_one_core.memory - BASE_BYTES
    if np.dtype(dtype) == np.float32:
        arrays *= SINGLE_PRECISION
    pictures = _beyond_the_frame(source, choice) * itemsize
    if moves and keeps_views(resolved_route(method, start, coarse, frame_of)):
        pictures += _bytes_of_views(source, choice)
    cores = min(os.cpu_count() or 1, 2)
    pixels = choice.frame.height * choice.frame.width * source.channels
    seconds = on_one_core.seconds + others * (PLACING + PLACING_A_PIXEL * pixels)
    seconds /= 1 + SECOND_CORE * (cores - 1)
    return replace(
        on_one_core,
        memory=BASE_BYTES + arrays + pictures,
        least=on_one_core.least + (_in_pictures(source, choice) * itemsize if moves else 0),
        seconds=seconds,
    )


def resolved_route(
    method: str | Method,
    start: str | None = None,
    coarse: str | bool | None = None,
    frame_of: int | str | None = None,
) -> str:
    """Say which route to the start a run takes: a row of ROUTES, or "auto".

    Parameters
    ----------
    method : str or Method
    start, coarse, frame_of
        As in :func:`rankfold.align`.

    Returns
    -------
    str
    """
    return route_for(get_method(method), start, coarse, frame_of)


def keeps_views(route: str) -> bool:
    """Say whether small copies of the pictures are kept, in which keypoints may be looked for."""
    return route == "match" or (route == "auto" and available())


def machine_memory() -> int | None:
    """Say how many bytes of memory this machine has; None where the system does not tell."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        # Windows has no sysconf, and other systems may not know these names.
        return None
    return memory if memory > 0 else None


def _beyond_the_frame(source: Source, choice: Choice) -> float:
    """Count the values of the reduced pictures that the estimate for the frame does not hold."""
    # Pictures are read whole even where the frame lies over a small part of them.
    in_frames = len(source) * float(np.prod(choice.frame.shape)) * source.channels
    return max(_in_pictures(source, choice) - in_frames, 0.0)


def _in_pictures(source: Source, choice: Choice) -> float:
    """Count the values of the reduced pictures, which are in memory while they are aligned."""
    values = sum(np.prod(shape, dtype=float) for shape in source.shapes)
    return float(values) / choice.reduction**2


def _bytes_of_views(source: Source, choice: Choice) -> float:
    """Count the bytes of the small copies that are kept of pictures which are read coarser."""
    if choice.reduction == 1:
        # They are made from the pictures themselves when they are needed.
        return 0.0
    total = 0.0
    for height, width in (shape[:2] for shape in source.shapes):
        factor = -(-max(height, width) // VIEW_SIDE)
        total += (height // factor) * (width // factor)
    return total
