"""One pass over a large batch: pictures are read in order and placed in parallel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.crowd.learned import Learned
from rankfold.align.crowd.places import Place
from rankfold.align.crowd.placing import explain, find_place
from rankfold.align.crowd.sample import Sampled
from rankfold.align.given import start_transforms
from rankfold.families import Floats
from rankfold.lazy import Originals, warped
from rankfold.scale import Executor
from rankfold.stack import Stack

Array = npt.NDArray[Any]

Bools = npt.NDArray[np.bool_]

# Pictures that are read before they are placed in parallel: at most so many, and so many values
# in the frame, so that a large frame does not fill the memory.
TOGETHER = 32
VALUES_TOGETHER = 2**23


@dataclass(frozen=True)
class Placed:
    """One picture of the batch, where it was placed.

    Attributes
    ----------
    index : int
    place : Place
    start : (3, 3) array
        Where it was given, into the original.
    coefficients : (r,) array
    row, valid : (c m,) arrays
        The picture in the frame, in the caller's units.
    """

    index: int
    place: Place
    start: Floats
    coefficients: Floats
    row: Array
    valid: Bools


def place_all(
    learned: Learned, sampled: Sampled, originals: Originals, executor: Executor
) -> Iterator[Placed]:
    """Place every picture, those of the sample where they are, and give them in order.

    A few are read and then worked on in parallel. Each is placed by itself, so that the result
    has the same bits for every number of threads.
    """
    n = len(sampled.batch.names)
    frame = learned.request.frame
    values = len(learned.explaining.seen)
    count = int(np.clip(VALUES_TOGETHER // values, 2, TOGETHER))
    position = {int(k): place for place, k in enumerate(sampled.indices)}
    max_rank = learned.request.settings.sample.max_rank

    def one(numbered: tuple[int, Stack]) -> Placed:
        index, stack = numbered
        start = _start_of(sampled, stack, index, learned)
        if index in position:
            k = position[index]
            place = _known_place(learned, stack, k)
        else:
            after = int(np.searchsorted(sampled.indices, index))
            between = (max(after - 1, 0), min(after, len(sampled.indices) - 1))
            place = find_place(learned, stack, start, between)
        row, valid = warped(stack, frame, place.base, place.transform)
        # Of a pixel that no picture of the sample shows, nothing can be said.
        valid = valid & learned.explaining.seen
        if index in position:
            coefficients = learned.explaining.coefficients[position[index]]
        else:
            coefficients = explain(learned.explaining, row, valid, max_rank)
        return Placed(index, place, stack.to_original(start), coefficients, row, valid)

    numbered = enumerate(originals.read(range(n)))
    while chunk := list(islice(numbered, count)):
        yield from executor.run(one, chunk)


def _start_of(sampled: Sampled, one: Stack, index: int, learned: Learned) -> Floats:
    """Where a picture begins (3, 3), into the picture as it was read."""
    given = sampled.given
    init = given if isinstance(given, str) else given[index : index + 1]
    request = learned.request
    return np.asarray(start_transforms(init, one, request.frame, request.family.name)[0])


def _known_place(learned: Learned, one: Stack, k: int) -> Place:
    """Where picture k of the sample is."""
    return Place(
        transform=one.to_original(learned.transforms[k]),
        base=one.to_original(learned.base[k]),
        share=float(learned.found.share[k]),
        rough=float(learned.found.rough[k]),
        cost=0.0,
    )
