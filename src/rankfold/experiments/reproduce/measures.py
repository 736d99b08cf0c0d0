"""What is measured in a cell: numbers, and a picture where the paper has one. The MEASURES table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import align
from rankfold.datasets.ar import ArPerson, read_ar
from rankfold.datasets.synthetic import Batch
from rankfold.datasets.usps import read_usps
from rankfold.datasets.wild import read_lfw, read_oxford
from rankfold.experiments.faces import Protocol, make_batch
from rankfold.experiments.reproduce import standins
from rankfold.experiments.retest import disagreement, perturbed
from rankfold.experiments.windows import FRAME, Windows, patched, read_windows
from rankfold.families import Floats, inverse, map_points, shift
from rankfold.metrics import recovery_error
from rankfold.result import Alignment
from rankfold.stack import Frame, Stack

Bytes = npt.NDArray[np.uint8]
Measured = tuple[dict[str, Any], Bytes | None]

INITIAL = 1.69  # px, mean eye error at the start: Table 2
# What a method of the cases is. "paper": MeADMM with the paper's own average and norm, without our stages.
METHODS: dict[str, dict[str, Any]] = {
    "rasl": {"method": "rasl"},
    "rasl_coarse": {"method": "rasl", "coarse": True},
    "meadmm": {"method": "meadmm"},
    "paper": {
        "method": "meadmm",
        "projector": "average",
        "rank_surrogate": "nuclear",
        "features": None,
        "rescue": False,
        "coarse": False,
    },
}
STROKES: dict[str, Any] = {"coarse": True, "features": None, "rescue": False}  # of MeADMM on digits


def eyes(cell: dict[str, Any], data: Path | None) -> Measured:
    """Errors of the eye centres, at the start and after."""
    batch = _misaligned(data, cell["subject"], cell["lights"])
    result = align(batch.images, frame=batch.frame, init=batch.start, **METHODS[cell["method"]])
    before, after = (_eye_distances(t, batch) for t in (batch.start, result.transforms))
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
    dark = [float((p < 0.1 * np.percentile(p, 99)).mean()) for p in result.low_rank]
    start = replace(result, transforms=batch.start).apply(batch.images)
    darkest = np.argsort([np.nanmean(p) for p in result.aligned])[2 : 2 + 4 * 7 : 4]
    rows = [
        [np.nanmean(p, axis=0) for p in (start, result.aligned, result.low_rank)],
        [result.aligned[k] for k in darkest],
        [result.low_rank[k] for k in darkest],
    ]
    return {"dark": float(np.mean(dark)), "rank": result.rank}, sheet(rows, 2)


def unmasked(cell: dict[str, Any], data: Path | None) -> Measured:
    """Distance of the recovered eyes and mouths to what that person's look like."""
    person = standins.masked_person(cell["person"]) if data is None else read_ar(data, cell["person"])
    options = METHODS[cell["method"]] | {"sparsity_weight": cell["sparsity"], "coarse": False}
    result = align(list(person.images), **options)
    values = {}
    for kind, rows in (("sunglasses", slice(0.2, 0.5)), ("scarf", slice(0.55, 1.0))):
        values[kind] = _distance_to_own(result, person, kind, rows)
    shown = [1, 4, 7, 8, 9, 10, 11, 12]
    picture = sheet([[result.aligned[k] for k in shown], [result.low_rank[k] for k in shown]], 2)
    return {**values, "rank": result.rank, "failed": int(result.failed.sum())}, picture


def digits(cell: dict[str, Any], data: Path | None) -> Measured:
    """How many digits end in different places from two starts."""
    raw = standins.digits(cell["digit"], 50) if data is None else read_usps(data, cell["digit"], 50)
    pictures = [np.pad(p, 6) for p in raw]  # the border gives a turned frame something to see
    frame = Frame(20, 20)
    centred = Stack.of(pictures).centred(frame)
    results = []
    for seed in (0, 1):
        start = perturbed(centred, frame, 15, 2.0, seed)
        if cell["change"] == "affine":
            start = _stretched(start, frame, 0.1, seed)
        options = METHODS[cell["method"]] | (STROKES if cell["method"] == "meadmm" else {})
        results.append(align(pictures, frame=frame, init=start, family=cell["change"], **options))
    off = disagreement(results[0].transforms, results[1].transforms, frame, cell["change"])
    picture = None
    if cell["digit"] in (1, 4) and cell["change"] == "euclidean":
        picture = sheet([[p[k] for k in range(16)] for p in (results[0].aligned, results[0].low_rank)], 3)
    return {"failures": int((off > 1).sum()), "mean": float(off.mean()), "largest": float(off.max())}, picture


def windows(cell: dict[str, Any], data: Path | None) -> Measured:
    """Recovery where pixels were changed, and how far apart the hand-picked points end."""
    photographs = standins.windows() if data is None else read_windows(data)
    given, changed, truth = _corrupted(photographs, cell["kind"])
    frame = FRAME if data is not None else standins.WINDOW_FRAME
    options = METHODS[cell["method"]] | {"family": "homography", "inner_tol": 1e-5}
    result = align(given, frame=frame, init=photographs.points, **options)
    landed = np.stack(
        [map_points(inverse(T), p) for T, p in zip(result.transforms, photographs.points.sources, strict=True)]
    )
    values = {
        "points": float(np.linalg.norm(landed - np.median(landed, axis=0), axis=2).mean()),
        "rank": result.rank,
        "failed": int(result.failed.sum()),
    }
    if changed is not None:
        clean = result.apply(truth)
        seen = result.valid & np.isfinite(clean)
        covered = seen & (np.nan_to_num(result.apply(changed)) > 0.5)
        values |= {
            "changed": recovery_error(result.low_rank, clean, covered),
            "all": recovery_error(result.low_rank, clean, seen),
        }
    rows = [[p[k, ::2, ::2] for k in range(0, len(p), 2)] for p in (result.aligned, result.low_rank)]
    return values, sheet(rows, 1)


def speed(cell: dict[str, Any], data: Path | None) -> Measured:
    """Seconds for the windows: the batch, a picture, an inner iteration."""
    photographs = standins.windows() if data is None else read_windows(data)
    frame = FRAME if data is not None else standins.WINDOW_FRAME
    options: dict[str, Any] = {"family": "homography", "frame": frame, "init": photographs.points, "inner_tol": 1e-5}
    began = time.perf_counter()
    result = align(photographs.clean, method=cell["method"], n_jobs=1, **options)
    seconds = time.perf_counter() - began
    from rankfold.experiments.speed import time_iterations

    n = len(photographs.clean)
    rasl, meadmm = time_iterations((n, *frame.shape), repeats=3)
    return {
        "batch": seconds,
        "image": seconds / n,
        "inner": len(result.trace.inner["objective"]),
        "iteration_ms": rasl if cell["method"] == "rasl" else meadmm,
    }, None


def real(cell: dict[str, Any], data: Path | None) -> Measured:
    """Portraits with landmarks, planes with homographies."""
    if cell["set"] in ("leuven", "graf"):
        return _plane(cell, data), None
    if data is None:
        batch = standins.portraits(cell["set"])
        images, places = batch.images, map_points(batch.truth, batch.points)
        frame, init = batch.frame, batch.start
        result = align(images, method=cell["method"], frame=frame, init=init)
    else:
        person = read_lfw(data, cell["set"])
        images, places, frame = person.images, person.landmarks, Frame(80, 64)
        result = align(images, method=cell["method"], frame=frame, coarse="auto")
    spreads = []
    for transforms in (result.start, result.transforms):
        landed = np.stack([map_points(inverse(T), p) for T, p in zip(transforms, places, strict=True)])
        spreads.append(float(np.linalg.norm(landed - np.median(landed, axis=0), axis=2).mean()))
    averages = [np.nanmean(p, axis=0) for p in (replace(result, transforms=result.start).apply(images), result.aligned)]
    picture = sheet([[*averages, np.nanmean(result.low_rank, axis=0)]], 2)
    return {"before": spreads[0], "after": spreads[1], "failed": int(result.failed.sum())}, picture


def _plane(cell: dict[str, Any], data: Path | None) -> dict[str, Any]:
    """Corners against the true homographies, px of the originals; the largest view is the hardest."""
    images, homographies = standins.plane(cell["set"]) if data is None else _grey_plane(data, cell["set"])
    stack = Stack.of(images).reduced(4)
    height, width = stack.sources[0].shape[:2]
    frame = Frame(round(0.7 * height), round(0.7 * width))
    result = align(stack, method=cell["method"], family="homography", frame=frame, coarse=True)
    errors = []
    for transforms in (result.start, result.transforms):
        corners = map_points(transforms[0], frame.corners)  # in view 1
        ours = map_points(transforms @ inverse(transforms[0]), corners)
        errors.append(np.linalg.norm(ours - map_points(homographies, corners), axis=2).mean(axis=1)[1:])
    before, after = errors
    return {
        "before": float(before.mean()),
        "after": float(after.mean()),
        "best": float(after.min()),
        "failed": int(result.failed.sum()),
    }


def _grey_plane(data: Path, name: str) -> tuple[list[npt.NDArray[Any]], Floats]:
    plane = read_oxford(data, name)
    stack = Stack.of(plane.images).luminance()
    return [np.asarray(s) for s in stack.sources], plane.homographies


def _misaligned(data: Path | None, subject: int, lights: int) -> Batch:
    """Faces turned and shifted so that the eyes start 1.69 px off on average."""
    size = 1.0
    for _ in range(3):  # nearly linear in the size of the motion
        batch = standins.faces(subject, lights, size) if data is None else _real_faces(data, subject, lights, size)
        size *= INITIAL / float(_eye_distances(batch.start, batch).mean())
    return standins.faces(subject, lights, size) if data is None else _real_faces(data, subject, lights, size)


def _real_faces(data: Path, subject: int, lights: int, size: float) -> Batch:
    protocol = Protocol("reproduction", lights, occluded=0.0, rotation=6.0 * size, translation=2.0 * size)
    return make_batch(data, subject, protocol, 0)


def _eye_distances(transforms: Floats, batch: Batch) -> Floats:
    """(n, 2): how far each eye is off, the common motion taken out."""
    landed = map_points(inverse(batch.truth) @ transforms, batch.points)
    return np.asarray(np.linalg.norm(landed - np.median(landed, axis=0), axis=2))


def _spread(values: Floats) -> dict[str, float]:
    return {"mean": float(values.mean()), "std": float(values.std()), "max": float(values.max())}


def _distance_to_own(result: Alignment, person: ArPerson, kind: str, rows: slice) -> float:
    """Mean over the pictures hidden by ``kind``: residual of the region on the person's free pictures, relative."""
    height = result.frame.height
    region = np.s_[:, round(rows.start * height) : round(rows.stop * height)]
    hidden = np.array([h == kind for h in person.hidden])
    free = np.array([h == "" for h in person.hidden])
    basis = np.nan_to_num(result.aligned[free][region]).reshape(int(free.sum()), -1).T
    recovered = np.nan_to_num(result.low_rank[hidden][region]).reshape(int(hidden.sum()), -1).T
    residual = recovered - basis @ np.linalg.lstsq(basis, recovered, rcond=None)[0]
    return float(np.mean(np.linalg.norm(residual, axis=0) / np.linalg.norm(recovered, axis=0)))


def _stretched(start: Floats, frame: Frame, amount: float, seed: int) -> Floats:
    """Starts stretched and sheared by up to ``amount``."""
    rng = np.random.default_rng([seed, 7])
    matrices = np.tile(np.eye(3), (len(start), 1, 1))
    matrices[:, :2, :2] += rng.uniform(-amount, amount, (len(start), 2, 2))
    return start @ shift(frame.centre) @ matrices @ shift(-frame.centre)


def _corrupted(photographs: Windows, kind: str) -> tuple[list[Any], list[Any] | None, list[Any]]:
    """Pictures as given, where they were changed, and what is true."""
    if kind == "clean":
        return photographs.clean, None, photographs.clean
    if kind == "patched":
        return patched(photographs)
    changed = [(a != b).astype(np.float64) for a, b in zip(photographs.clean, photographs.occluded, strict=True)]
    return photographs.occluded, changed, photographs.clean


def sheet(rows: list[list[Any]], zoom: int, gap: int = 3) -> Bytes:
    """Rows of pictures on white, each stretched to its own range."""
    height, width = rows[0][0].shape[:2]
    count = max(len(row) for row in rows)
    out = np.full((len(rows) * (height * zoom + gap) - gap, count * (width * zoom + gap) - gap), 255, np.uint8)
    for r, row in enumerate(rows):
        for c, picture in enumerate(row):
            grey = np.nan_to_num(picture if picture.ndim == 2 else picture.mean(axis=2))
            low, high = np.percentile(grey, [0.5, 99.5])
            shown = np.clip(255 * (grey - low) / max(high - low, 1e-9), 0, 255).astype(np.uint8)
            tile = shown.repeat(zoom, axis=0).repeat(zoom, axis=1)
            top, left = r * (height * zoom + gap), c * (width * zoom + gap)
            out[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
    return out


MEASURES: dict[str, Callable[[dict[str, Any], Path | None], Measured]] = {
    "eyes": eyes,
    "lighting": lighting,
    "unmasked": unmasked,
    "digits": digits,
    "windows": windows,
    "speed": speed,
    "real": real,
}
