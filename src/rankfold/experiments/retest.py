"""Test-retest where there is no true pose: align the same pictures from two random starts and compare the answers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import align
from rankfold.datasets import read_rasl
from rankfold.datasets.usps import read_usps
from rankfold.errors import ConvergenceWarning
from rankfold.families import FAMILIES, Floats, get_family, inverse, map_points, shift
from rankfold.stack import Frame, Points, Stack


def perturbed(
    start: Floats, frame: Frame, rotation: float, translation: float, seed: int
) -> Floats:
    """Starts (n, 3, 3), each turned by up to ``rotation`` degrees and shifted by up to ``translation`` px."""
    rng = np.random.default_rng(seed)
    angles = np.radians(rng.uniform(-rotation, rotation, len(start)))
    offsets = rng.uniform(-translation, translation, (len(start), 2))
    motion = get_family("euclidean").matrix(np.column_stack([angles, offsets]))
    return start @ shift(frame.centre) @ motion @ shift(-frame.centre)


def disagreement(one: Floats, two: Floats, frame: Frame, family: str = "similarity") -> Floats:
    """Mean distance (n,) over the corners of T_b^{-1} T_a c from c, the common motion taken out, in frame px.

    The common motion is a similarity, or an affine map where the pictures could move by one.
    """
    common_family = FAMILIES["affine" if family == "affine" else "similarity"]
    corners = frame.corners
    landed = map_points(inverse(two) @ one, corners)  # n x 4 x 2
    common = common_family.fit(np.tile(corners, (len(one), 1)), landed.reshape(-1, 2))
    # a few pictures that are far off must not decide what is common
    for _ in range(10):
        off = np.linalg.norm(landed - map_points(common, corners), axis=2).mean(axis=1)
        good = off <= 2.5 * np.median(off) + 1e-12
        common = common_family.fit(
            np.tile(corners, (int(good.sum()), 1)), landed[good].reshape(-1, 2)
        )
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
            results.append(
                align(images, frame=frame, init=init, family=family, **options).transforms
            )
    return disagreement(results[0], results[1], frame)


ROWS: dict[str, dict[str, Any]] = {
    "RASL": {"method": "rasl"},
    "RASL + coarse": {"method": "rasl", "coarse": True},
    "MeADMM (coarse, no features)": {
        "method": "meadmm",
        "coarse": True,
        "features": None,
        "rescue": False,
    },
}


def read_sets(
    root: str | Path,
) -> dict[str, tuple[list[npt.NDArray[Any]], Frame, Floats, str, float]]:
    """Name -> 50 pictures, frame, start, family, largest turn in degrees; shifts are up to 2 px."""
    root = Path(root)
    sets: dict[str, tuple[list[npt.NDArray[Any]], Frame, Floats, str, float]] = {}
    for digit in (1, 4):
        # digits fill their 16 x 16 pixels; the border gives a turned frame something to see
        pictures = [np.pad(p, 6) for p in read_usps(root / "usps" / "usps.h5", digit, 50)]
        frame = Frame(20, 20)
        sets[f"USPS {digit}"] = (
            pictures,
            frame,
            Stack.of(pictures).centred(frame),
            "euclidean",
            15,
        )
    threes, heads = (read_rasl(root / "rasl" / name) for name in ("Digits_3", "Dummy_59_59"))
    frame = Frame(29, 29)
    sets["Digits_3"] = (
        threes.images[:50],
        frame,
        Stack.of(threes.images[:50]).centred(frame),
        "euclidean",
        15,
    )
    points = Points(np.array([[3.15, 18.6], [44.68, 18.6]]), heads.points[:50])
    start = points.transforms(FAMILIES["similarity"])
    sets["Dummy_59_59"] = (heads.images[:50], Frame(49, 49), start, "similarity", 10)
    return sets


def retest_table(root: str | Path, pairs: int = 2) -> Iterator[str]:
    """Markdown rows: mean, share of pictures off by more than a pixel, largest; over ``pairs`` pairs of starts."""
    yield "| set | " + " | ".join(ROWS) + " |"
    yield "|---" * (len(ROWS) + 1) + "|"
    for name, (images, frame, start, family, rotation) in read_sets(root).items():
        cells = []
        for options in ROWS.values():
            seeds = [(2 * k, 2 * k + 1) for k in range(pairs)]
            runs = [
                retest(images, frame, start, family, rotation, 2.0, s, **options) for s in seeds
            ]
            off = np.concatenate(runs)
            cells.append(f"{off.mean():.3f} ({(off > 1).mean():.0%} > 1 px, max {off.max():.1f})")
        yield f"| {name} | " + " | ".join(cells) + " |"
