"""Test-retest where there is no true pose: align the same pictures from two random starts and compare the answers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import align
from rankfold.errors import ConvergenceWarning
from rankfold.families import FAMILIES, Floats, get_family, inverse, map_points, shift
from rankfold.stack import Frame


def perturbed(start: Floats, frame: Frame, rotation: float, translation: float, seed: int) -> Floats:
    """Starts (n, 3, 3), each turned by up to ``rotation`` degrees and shifted by up to ``translation`` px."""
    rng = np.random.default_rng(seed)
    angles = np.radians(rng.uniform(-rotation, rotation, len(start)))
    offsets = rng.uniform(-translation, translation, (len(start), 2))
    motion = get_family("euclidean").matrix(np.column_stack([angles, offsets]))
    return start @ shift(frame.centre) @ motion @ shift(-frame.centre)


def disagreement(one: Floats, two: Floats, frame: Frame) -> Floats:
    """Mean distance (n,) over the corners of T_b^{-1} T_a c from c, the common similarity taken out, in frame px."""
    corners = frame.corners
    landed = map_points(inverse(two) @ one, corners)  # n x 4 x 2
    common = FAMILIES["similarity"].fit(np.tile(corners, (len(one), 1)), landed.reshape(-1, 2))
    # a few pictures that are far off must not decide what is common
    for _ in range(10):
        off = np.linalg.norm(landed - map_points(common, corners), axis=2).mean(axis=1)
        good = off <= 2.5 * np.median(off) + 1e-12
        common = FAMILIES["similarity"].fit(np.tile(corners, (int(good.sum()), 1)), landed[good].reshape(-1, 2))
    return np.asarray(np.linalg.norm(landed - map_points(common, corners), axis=2).mean(axis=1))


def retest(
    images: Sequence[npt.NDArray[Any]],
    frame: Frame,
    start: Floats,
    family: str,
    rotation: float,
    translation: float,
    seeds: tuple[int, int],
    **options: Any,
) -> Floats:
    """Disagreement (n,) of two runs with the given options of :func:`rankfold.align`."""
    results = []
    for seed in seeds:
        init = perturbed(start, frame, rotation, translation, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            results.append(align(images, frame=frame, init=init, family=family, **options).transforms)
    return disagreement(results[0], results[1], frame)
