"""One number for a new picture that says how well it fits pictures that were aligned before.

A picture that lies where it should fits the others much better than the same picture three pixels
away. The score is q_i = f_i / mean of f_i at eight shifts of 3 px, f_i the robust cost of picture i
against a basis of the others. Near 0 the picture sits tight; near 1 any other place would be as
good. (How far a picture moved from its start says nothing.) A batch is judged by verdicts instead:
a picture that was lost by an alignment lies in a local minimum and has a low score.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.basis import Basis
from rankfold.align.settings import ScoreSettings
from rankfold.families import Floats, shift
from rankfold.warp.sampling import Sampler

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

DIRECTIONS = [np.array([np.cos(angle), np.sin(angle)]) for angle in np.arange(8) * np.pi / 4]


def scores_against(
    others: Basis,
    sampler: Sampler,
    indices: npt.NDArray[np.int_],
    transforms: Floats,
    data: Array,
    valid: Bools,
    numbers: ScoreSettings,
    offset: float | None,
) -> Floats:
    """Score q (k,) of some pictures of a sampler against one basis; the rest (k, ...) is theirs."""
    # A score is a matter of two digits.
    sampler = replace(sampler, dtype=np.float32)
    moves = np.stack([shift(numbers.shift * direction) for direction in DIRECTIONS])

    def here_and_away(k: int) -> tuple[Array, Bools]:
        """The picture (9, m) where it is and at the eight other places, and validity."""
        moved, known = sampler.sample_many(int(indices[k]), transforms[k] @ moves)
        if offset is None:
            norms = np.linalg.norm(moved, axis=1, keepdims=True)
            moved /= np.where(norms > 0, norms, 1)
        else:
            moved -= np.float32(offset)
        rows = np.concatenate([data[k][None], moved], dtype=np.float32)
        seen = np.concatenate([valid[k][None], known])
        return np.where(seen, rows, np.float32(0)), seen

    parts = [here_and_away(k) for k in range(len(indices))]
    rows = np.concatenate([part for part, _ in parts])
    seen = np.concatenate([part for _, part in parts])
    cost = others.cost(rows, seen).reshape(len(indices), -1)
    away = cost[:, 1:].mean(axis=1)
    return np.where(away > 0, cost[:, 0] / np.where(away > 0, away, 1.0), 1.0)
