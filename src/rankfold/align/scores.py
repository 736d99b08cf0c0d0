"""One number an image that says whether it found its place, and who failed.

A picture that lies where it should fits the others much better than the same picture three pixels away. The score
is q_i = f_i / mean of f_i at eight shifts of 3 px, f_i the robust cost of picture i against a basis of the others:
near 0 it sits tight, near 1 its place means nothing. (How far a picture moved from its start says nothing.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.robust import fit_model
from rankfold.executors import Executor
from rankfold.families import Floats, shift
from rankfold.warp.sampling import Sampler

Array = npt.NDArray[Any]

FAILED = 0.9
SHIFT = 3.0  # canonical px
DIRECTIONS = [np.array([np.cos(a), np.sin(a)]) for a in np.arange(8) * np.pi / 4]


def place_scores(
    sampler: Sampler,
    transforms: Floats,
    data: Array,
    low_rank: Array,
    valid: npt.NDArray[np.bool_],
    executor: Executor,
    offset: float | None = None,
) -> Floats:
    """Score q (n,) of every picture; above ``FAILED`` it did not find its place.

    ``data`` and ``low_rank`` are unit-norm rows, or, with an ``offset``, the sampler's values less that offset.
    """
    model = fit_model(data, low_rank, valid, executor=executor)
    sampler = replace(sampler, dtype=np.float32)  # a score is a matter of two digits
    moves = np.stack([shift(SHIFT * direction) for direction in DIRECTIONS])

    def here_and_away(index: int) -> tuple[Array, npt.NDArray[np.bool_]]:
        moved, known = sampler.sample_many(index, transforms[index] @ moves)
        if offset is None:
            norms = np.linalg.norm(moved, axis=1, keepdims=True)
            moved /= np.where(norms > 0, norms, 1)
        else:
            moved -= np.float32(offset)
        seen = np.concatenate([valid[index][None], known])
        return np.where(
            seen, np.concatenate([data[index][None], moved], dtype=np.float32), np.float32(0)
        ), seen

    def score(group: npt.NDArray[np.int_]) -> Floats:
        rows, seen = (np.concatenate(part) for part in zip(*map(here_and_away, group), strict=True))
        cost = model.others(group[0], np.float32).cost(rows, seen).reshape(len(group), -1)
        away = cost[:, 1:].mean(axis=1)
        return np.where(away > 0, cost[:, 0] / np.where(away > 0, away, 1.0), 1.0)

    return model.for_groups(score, executor)
