"""What is measured in a cell, for faces and digits, and the MEASURES table of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.align import align
from rankfold.datasets.synthetic import Batch
from rankfold.families import Floats, inverse, map_points, shift
from rankfold.result import Alignment
from rankfold.stack import Frame, Stack
from rankfold_lab.evaluate.faces import Protocol, make_batch
from rankfold_lab.evaluate.retest import disagreement, perturbed
from rankfold_lab.readers.ar import LIT, SESSION, ArPerson, read_ar
from rankfold_lab.readers.usps import read_usps
from rankfold_lab.reproduce import standins
from rankfold_lab.reproduce.controls import (
    dark_share,
    error_on,
    median_face,
    rank_one,
    second_to_first,
)
from rankfold_lab.reproduce.methods import METHODS, STROKES, Measured, sheet
from rankfold_lab.reproduce.scenes import real, speed
from rankfold_lab.reproduce.windows import windows

# Mean eye error at the start in Table 2, frame px.
INITIAL = 1.69
# Pictures of an AR person on the sheet: two free ones, three with sunglasses, three with a scarf.
SHOWN = [1, 4, 7, 8, 9, 10, 11, 12]
# The rows of the face that are hidden, as shares of its height.
REGIONS = {"sunglasses": (0.2, 0.5), "scarf": (0.55, 1.0)}


def eyes(cell: dict[str, Any], data: Path | None) -> Measured:
    """Errors of the eye centres, at the start and after."""
    batch = _misaligned(data, cell["subject"], cell["lights"])
    result = align(batch.images, frame=batch.frame, init=batch.start, **METHODS[cell["method"]])
    before = _eye_distances(batch.start, batch)
    after = _eye_distances(result.transforms, batch)
    whole = np.round(after)
    return {
        **{f"initial_{k}": v for k, v in _spread(before).items()},
        **_spread(after),
        **{f"whole_{k}": v for k, v in _spread(whole).items()},
        "above_1": float((after > 1).mean()),
        "failed": int(result.failed.sum()),
        "images": len(batch.images),
    }, None


def lighting(cell: dict[str, Any], data: Path | None) -> Measured:
    """How much of the low-rank pictures is still in the dark; averages and rows as in Fig. 2."""
    batch = _misaligned(data, cell["subject"], 130)
    options = METHODS[cell["method"]] | {"sparsity_weight": cell["sparsity"]}
    result = align(batch.images, frame=batch.frame, init=batch.start, **options)
    every = np.ones(len(batch.images), dtype=bool)
    values = {
        "dark": dark_share(result.low_rank),
        "dark_input": dark_share(result.aligned),
        "dark_truth": dark_share(_without_cast_shadows(data, cell["subject"], result)),
        "dark_median": dark_share(median_face(result)),
        "dark_one": dark_share(rank_one(result)),
        "error": error_on(result, every),
        "second": second_to_first(result),
        "rank": result.rank,
    }
    start = replace(result, transforms=batch.start).apply(batch.images)
    darkest = np.argsort([np.nanmean(p) for p in result.aligned])[2 : 2 + 4 * 7 : 4]
    rows = [
        [np.nanmean(p, axis=0) for p in (start, result.aligned, result.low_rank)],
        [result.aligned[k] for k in darkest],
        [result.low_rank[k] for k in darkest],
    ]
    return values, sheet(rows, 2)


def unmasked(cell: dict[str, Any], data: Path | None) -> Measured:
    """Distance of the recovered eyes and mouths to what that person's look like."""
    if data is None:
        person = standins.masked_person(cell["person"])
    else:
        person = read_ar(data, cell["person"])
    options = METHODS[cell["method"]] | {"sparsity_weight": cell["sparsity"], "start": "given"}
    result = align(list(person.images), **options)
    kinds = np.array(person.hidden)
    values: dict[str, Any] = {}
    for kind in REGIONS:
        values[kind] = distance_to_own(result, person, kind)
        values[f"{kind}_median"] = distance_to_own(result, person, kind, median_face(result))
        values[f"{kind}_one"] = distance_to_own(result, person, kind, rank_one(result))
    values |= {
        "error": error_on(result, kinds == ""),
        "error_lit": error_on(result, np.isin(np.arange(len(kinds)) % SESSION, LIT)),
        "second": second_to_first(result),
        "found": [list(one.pictures) for one in result.occluders],
    }
    rows = [[part[k] for k in SHOWN] for part in (result.aligned, result.low_rank)]
    return {**values, "rank": result.rank, "failed": int(result.failed.sum())}, sheet(rows, 2)


def digits(cell: dict[str, Any], data: Path | None) -> Measured:
    """Measure how many digits end in different places from two starts."""
    digit = cell["digit"]
    change = cell["change"]
    raw = standins.digits(digit, 50) if data is None else read_usps(data, digit, 50)
    # The border gives a turned frame something to see.
    pictures = [np.pad(picture, 6) for picture in raw]
    frame = Frame(20, 20)
    centred = Stack.of(pictures).centred(frame)
    options = METHODS[cell["method"]] | (STROKES if cell["method"] == "meadmm" else {})
    results = []
    for seed in (0, 1):
        start = perturbed(centred, frame, 15, 2.0, seed)
        if change == "affine":
            start = _stretched(start, frame, 0.1, seed)
        results.append(align(pictures, frame=frame, init=start, family=change, **options))
    first, second = results
    off = disagreement(first.transforms, second.transforms, frame, change)
    picture = None
    if digit in (1, 4) and change == "euclidean":
        # As in Fig. 4.
        rows = [[part[k] for k in range(16)] for part in (first.aligned, first.low_rank)]
        picture = sheet(rows, 3)
    return {
        "failures": int((off > 1).sum()),
        "mean": float(off.mean()),
        "largest": float(off.max()),
    }, picture


def _misaligned(data: Path | None, subject: int, lights: int) -> Batch:
    """Return faces turned and shifted so that the eyes start 1.69 px off on average."""

    def faces(size: float) -> Batch:
        if data is None:
            return standins.faces(subject, lights, size)
        return _real_faces(data, subject, lights, size)

    size = 1.0
    # The error is nearly linear in the size of the motion, so three steps are enough.
    for _ in range(3):
        batch = faces(size)
        size *= INITIAL / float(_eye_distances(batch.start, batch).mean())
    return faces(size)


def _real_faces(data: Path, subject: int, lights: int, size: float) -> Batch:
    protocol = Protocol(
        "reproduction", lights, occluded=0.0, rotation=6.0 * size, translation=2.0 * size
    )
    return make_batch(data, subject, protocol, 0)


def _without_cast_shadows(data: Path | None, subject: int, result: Alignment) -> Floats:
    """Return the faces (n, h, w) as their surface alone would look: dark where it turns away."""
    if data is None:
        truth = standins.faces(subject, 130, 0.0)
    else:
        still = Protocol("truth", 130, "lambertian", occluded=0.0, rotation=0.0, translation=0.0)
        truth = make_batch(data, subject, still, 0)
    return np.asarray(replace(result, transforms=truth.truth).apply(truth.clean))


def _eye_distances(transforms: Floats, batch: Batch) -> Floats:
    """(n, 2): how far each eye is off, the common motion taken out."""
    landed = map_points(inverse(batch.truth) @ transforms, batch.points)
    return np.asarray(np.linalg.norm(landed - np.median(landed, axis=0), axis=2))


def _spread(values: Floats) -> dict[str, float]:
    return {"mean": float(values.mean()), "std": float(values.std()), "max": float(values.max())}


def distance_to_own(
    result: Alignment, person: ArPerson, kind: str, recovered: Floats | None = None
) -> float:
    """Return how far what is behind ``kind`` is recovered from what the person looks like there.

    That is the distance of the region to the space of the person's free pictures, relative to its
    norm, mean over the pictures that ``kind`` hides.

    Parameters
    ----------
    result : Alignment
    person : ArPerson
    kind : str
        ``"sunglasses"`` or ``"scarf"``.
    recovered : (n, h, w) array, optional
        Other pictures in place of the low-rank ones.
    """
    pictures = result.low_rank if recovered is None else recovered
    top, bottom = (round(share * result.frame.height) for share in REGIONS[kind])
    hidden = np.array([one == kind for one in person.hidden])
    free = np.array([one == "" for one in person.hidden])

    def columns(pictures: Floats) -> Floats:
        """Return the region of every picture as a column."""
        return np.nan_to_num(pictures[:, top:bottom]).reshape(len(pictures), -1).T

    basis = columns(result.aligned[free])
    regions = columns(pictures[hidden])
    residual = regions - basis @ np.linalg.lstsq(basis, regions, rcond=None)[0]
    relative = np.linalg.norm(residual, axis=0) / np.linalg.norm(regions, axis=0)
    return float(np.mean(relative))


def _stretched(start: Floats, frame: Frame, amount: float, seed: int) -> Floats:
    """Starts stretched and sheared by up to ``amount``."""
    rng = np.random.default_rng([seed, 7])
    matrices = np.tile(np.eye(3), (len(start), 1, 1))
    matrices[:, :2, :2] += rng.uniform(-amount, amount, (len(start), 2, 2))
    return start @ shift(frame.centre) @ matrices @ shift(-frame.centre)


MEASURES: dict[str, Callable[[dict[str, Any], Path | None], Measured]] = {
    "eyes": eyes,
    "lighting": lighting,
    "unmasked": unmasked,
    "digits": digits,
    "windows": windows,
    "speed": speed,
    "real": real,
}
