"""Measures on windows, portraits and planes."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import align
from rankfold.datasets.wild import read_lfw, read_oxford
from rankfold.experiments.reproduce import standins
from rankfold.experiments.reproduce.methods import METHODS, Measured, sheet
from rankfold.experiments.speed import moving_problem, time_both
from rankfold.experiments.windows import FRAME, Windows, patched, read_windows
from rankfold.families import Floats, inverse, map_points
from rankfold.metrics import recovery_error
from rankfold.stack import Frame, Stack


def windows(cell: dict[str, Any], data: Path | None) -> Measured:
    """Recovery where pixels were changed, and how far apart the hand-picked points end."""
    photographs = standins.windows() if data is None else read_windows(data)
    given, changed, truth = _corrupted(photographs, cell["kind"])
    frame = FRAME if data is not None else standins.WINDOW_FRAME
    options = METHODS[cell["method"]] | {"family": "homography", "inner_tol": 1e-5}
    result = align(given, frame=frame, init=photographs.points, **options)
    landed = np.stack(
        [
            map_points(inverse(T), p)
            for T, p in zip(result.transforms, photographs.points.sources, strict=True)
        ]
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
    rows = [
        [p[k, ::2, ::2] for k in range(0, len(p), 2)] for p in (result.aligned, result.low_rank)
    ]
    return values, sheet(rows, 1)


def speed(cell: dict[str, Any], data: Path | None) -> Measured:
    """Seconds for the windows: the batch, a picture, an inner iteration."""
    photographs = standins.windows() if data is None else read_windows(data)
    frame = FRAME if data is not None else standins.WINDOW_FRAME
    options: dict[str, Any] = {
        "family": "homography",
        "frame": frame,
        "init": photographs.points,
        "inner_tol": 1e-5,
    }
    began = time.perf_counter()
    result = align(photographs.clean, method=cell["method"], n_jobs=1, **options)
    seconds = time.perf_counter() - began
    n = len(photographs.clean)
    timing = time_both(moving_problem((n, *frame.shape)), repeats=3)
    return {
        "batch": seconds,
        "image": seconds / n,
        "inner": len(result.trace.inner["objective"]),
        "iteration_ms": timing.rasl if cell["method"] == "rasl" else timing.meadmm,
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
        landed = np.stack(
            [map_points(inverse(T), p) for T, p in zip(transforms, places, strict=True)]
        )
        spreads.append(float(np.linalg.norm(landed - np.median(landed, axis=0), axis=2).mean()))
    averages = [
        np.nanmean(p, axis=0)
        for p in (replace(result, transforms=result.start).apply(images), result.aligned)
    ]
    picture = sheet([[*averages, np.nanmean(result.low_rank, axis=0)]], 2)
    return {"before": spreads[0], "after": spreads[1], "failed": int(result.failed.sum())}, picture


def _plane(cell: dict[str, Any], data: Path | None) -> dict[str, Any]:
    """Corners against the true homographies, px of the originals; the largest view is the hardest."""
    images, homographies = (
        standins.plane(cell["set"]) if data is None else _grey_plane(data, cell["set"])
    )
    stack = Stack.of(images).reduced(4)
    height, width = stack.sources[0].shape[:2]
    frame = Frame(round(0.7 * height), round(0.7 * width))
    result = align(stack, method=cell["method"], family="homography", frame=frame, coarse=True)
    errors = []
    for transforms in (result.start, result.transforms):
        corners = map_points(transforms[0], frame.corners)  # in view 1
        ours = map_points(transforms @ inverse(transforms[0]), corners)
        errors.append(
            np.linalg.norm(ours - map_points(homographies, corners), axis=2).mean(axis=1)[1:]
        )
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


def _corrupted(photographs: Windows, kind: str) -> tuple[list[Any], list[Any] | None, list[Any]]:
    """Pictures as given, where they were changed, and what is true."""
    if kind == "clean":
        return photographs.clean, None, photographs.clean
    if kind == "patched":
        return patched(photographs)
    changed = [
        (a != b).astype(np.float64)
        for a, b in zip(photographs.clean, photographs.occluded, strict=True)
    ]
    return photographs.occluded, changed, photographs.clean
