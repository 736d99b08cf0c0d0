"""Test-retest where there is no true pose: alignments from two random starts are compared."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import align
from rankfold.errors import ConvergenceWarning
from rankfold.families import FAMILIES, Floats, get_family, inverse, map_points, shift
from rankfold.stack import Frame, Points, Stack
from rankfold_lab.readers import read_rasl, read_usps

NAME = "retest"
# Pictures of every set that are aligned, and how far they are shifted at most, in frame px.
PICTURES = 50
TRANSLATION = 2.0

# What is compared: options of rankfold.align.
ROWS: dict[str, dict[str, Any]] = {
    "RASL": {"method": "rasl", "schedule": "published"},
    "RASL + coarse": {"method": "rasl", "schedule": "published", "start": "coarse"},
    "MeADMM (coarse, no features)": {
        "method": "meadmm",
        "start": "coarse",
        "features": None,
        "rescue": False,
    },
    "MeADMM as it comes": {"method": "meadmm"},
}


@dataclass(frozen=True)
class RetestSet:
    """Pictures without a true pose, and how they are started.

    Attributes
    ----------
    images : sequence of arrays
    frame : Frame
    start : array (n, 3, 3)
        Where every picture lies before it is moved at random.
    family : str
    rotation : float
        How far pictures are turned at most, degrees.
    """

    images: Sequence[npt.NDArray[Any]]
    frame: Frame
    start: Floats
    family: str
    rotation: float


def perturbed(
    start: Floats, frame: Frame, rotation: float, translation: float, seed: int
) -> Floats:
    """Return starts (n, 3, 3), each turned and shifted at random about the centre of the frame.

    Parameters
    ----------
    start : array (n, 3, 3)
    frame : Frame
    rotation : float
        The largest turn, degrees.
    translation : float
        The largest shift along each axis, frame px.
    seed : int
    """
    rng = np.random.default_rng(seed)
    angles = np.radians(rng.uniform(-rotation, rotation, len(start)))
    offsets = rng.uniform(-translation, translation, (len(start), 2))
    motion = get_family("euclidean").matrix(np.column_stack([angles, offsets]))
    return start @ shift(frame.centre) @ motion @ shift(-frame.centre)


def disagreement(one: Floats, two: Floats, frame: Frame, family: str = "similarity") -> Floats:
    """Return how far two alignments (n, 3, 3) of the same pictures differ, (n,) in frame px.

    That is the mean distance of the frame's corners c from T_two^{-1} T_one c, after the motion
    that all pictures have in common is taken out: a similarity, or an affine map where the
    pictures could move by one.
    """
    common_family = FAMILIES["affine" if family == "affine" else "similarity"]
    corners = frame.corners
    landed = map_points(inverse(two) @ one, corners)  # n x 4 x 2

    def fitted(chosen: Floats) -> Floats:
        """Return the common motion of some pictures."""
        return common_family.fit(np.tile(corners, (len(chosen), 1)), chosen.reshape(-1, 2))

    def distances(common: Floats) -> Floats:
        """Return how far every picture is from the common motion."""
        apart = np.linalg.norm(landed - map_points(common, corners), axis=2)
        return np.asarray(apart.mean(axis=1))

    common = fitted(landed)
    # A few pictures that are far off must not decide what is common.
    for _ in range(10):
        off = distances(common)
        good = off <= 2.5 * np.median(off) + 1e-12
        common = fitted(landed[good])
    return distances(common)


def retest(given: RetestSet, seeds: Iterable[int], **options: Any) -> Floats:
    """Return the disagreement (n,) of runs from two seeds, with options of ``rankfold.align``."""
    found = []
    for seed in seeds:
        init = perturbed(given.start, given.frame, given.rotation, TRANSLATION, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = align(
                given.images, frame=given.frame, init=init, family=given.family, **options
            )
        found.append(result.transforms)
    one, two = found
    return disagreement(one, two, given.frame)


def read_sets(root: str | Path) -> dict[str, RetestSet]:
    """Read the sets by name: two digits of USPS, RASL's threes and its dummy heads."""
    root = Path(root)
    sets: dict[str, RetestSet] = {}
    for digit in (1, 4):
        # Digits fill their 16 x 16 pixels; the border gives a turned frame something to see.
        pictures = [np.pad(p, 6) for p in read_usps(root / "usps" / "usps.h5", digit, PICTURES)]
        sets[f"USPS {digit}"] = _digits(pictures, Frame(20, 20))
    threes = read_rasl(root / "rasl" / "Digits_3")
    sets["Digits_3"] = _digits(threes.images[:PICTURES], Frame(29, 29))
    heads = read_rasl(root / "rasl" / "Dummy_59_59")
    eyes = np.array([[3.15, 18.6], [44.68, 18.6]])
    points = Points(eyes, heads.points[:PICTURES])
    start = points.transforms(FAMILIES["similarity"])
    images = heads.images[:PICTURES]
    sets["Dummy_59_59"] = RetestSet(images, Frame(49, 49), start, "similarity", 10)
    return sets


def _digits(pictures: list[npt.NDArray[Any]], frame: Frame) -> RetestSet:
    """Return digits that start in the middle and may turn."""
    return RetestSet(pictures, frame, Stack.of(pictures).centred(frame), "euclidean", 15)


def run(root: str | Path, pairs: int = 2) -> Iterator[dict[str, Any]]:
    """Measure every set with every row over ``pairs`` pairs of starts; yields a record each."""
    for name, given in read_sets(root).items():
        for row, options in ROWS.items():
            runs = [retest(given, (2 * k, 2 * k + 1), **options) for k in range(pairs)]
            off = np.concatenate(runs)
            yield {
                "protocol": NAME,
                "set": name,
                "row": row,
                "mean": float(off.mean()),
                "above_1": float((off > 1).mean()),
                "max": float(off.max()),
            }


def table(records: list[dict[str, Any]]) -> str:
    """Return the records as markdown: mean, share of pictures off by more than a pixel, largest."""
    lines = ["| set | " + " | ".join(ROWS) + " |", "|---" * (len(ROWS) + 1) + "|"]
    for name in dict.fromkeys(record["set"] for record in records):
        cells = [
            f"{record['mean']:.3f} ({record['above_1']:.0%} > 1 px, max {record['max']:.1f})"
            for record in records
            if record["set"] == name
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
