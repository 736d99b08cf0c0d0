"""What a projector is given and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.executors import Executor

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Context:
    """The state of the inner solver at the moment of a projection. Do not write to it."""

    low_rank: Array  # A, n x m
    sparse: Array  # E, n x m
    target: Array  # V_m = D + Jδ, n x m
    valid: npt.NDArray[np.bool_] | None  # n x m; None = all
    gram: Floats  # A A', n x n
    units: Floats  # (n,): what the range of a pixel (black to white) is in row i
    shape: tuple[int, int, int]  # (channels, height, width) of a row
    executor: Executor


# A projector turns a Context into Φ, an array like A with every row on (or nearer to) the manifold.
Projector = Callable[[Context], Array]
