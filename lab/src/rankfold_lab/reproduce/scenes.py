"""Measures on portraits and planes, and of speed."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import align
from rankfold.families import Floats, map_points
from rankfold.stack import Frame, Stack
from rankfold_lab.evaluate.scenes import (
    PORTRAIT,
    REDUCTION,
    corner_errors,
    landed_points,
    spread_of_points,
)
from rankfold_lab.inner import moving_problem
from rankfold_lab.readers import read_lfw, read_oxford
from rankfold_lab.reproduce import standins
from rankfold_lab.reproduce.methods import Measured, sheet
from rankfold_lab.reproduce.windows import photographs_and_frame
from rankfold_lab.timing import time_both

PLANES = ("leuven", "graf")


def speed(cell: dict[str, Any], data: Path | None) -> Measured:
    """Measure seconds for the windows: the batch, a picture, an inner iteration."""
    photographs, frame = photographs_and_frame(data)
    began = time.perf_counter()
    result = align(
        photographs.clean,
        method=cell["method"],
        family="homography",
        frame=frame,
        init=photographs.points,
        inner_tol=1e-5,
        n_jobs=1,
    )
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
    """Measure portraits against their landmarks, planes against their homographies."""
    if cell["set"] in PLANES:
        return _plane(cell, data), None
    return _portraits(cell, data)


def _portraits(cell: dict[str, Any], data: Path | None) -> Measured:
    """Measure how far a person's landmarks lie apart in the frame, before and after."""
    if data is None:
        batch = standins.portraits(cell["set"])
        images = batch.images
        places = map_points(batch.truth, batch.points)
        result = align(images, method=cell["method"], frame=batch.frame, init=batch.start)
    else:
        person = read_lfw(data, cell["set"])
        images = person.images
        places = person.landmarks
        result = align(images, method=cell["method"], frame=PORTRAIT)
    before = replace(result, transforms=result.start).apply(images)
    averages = [np.nanmean(part, axis=0) for part in (before, result.aligned, result.low_rank)]
    return {
        "before": spread_of_points(landed_points(result.start, places)),
        "after": spread_of_points(landed_points(result.transforms, places)),
        "verdict": result.verdict,
        "failed": int(result.failed.sum()),
    }, sheet([averages], 2)


def _plane(cell: dict[str, Any], data: Path | None) -> dict[str, Any]:
    """Measure corners against the true homographies, in pixels of the originals."""
    if data is None:
        images, homographies = standins.plane(cell["set"])
    else:
        images, homographies = _grey_plane(data, cell["set"])
    stack = Stack.of(images).reduced(REDUCTION)
    frame = Frame(*stack.sources[0].shape[:2])
    result = align(stack, method=cell["method"], family="homography", frame=frame)
    before = corner_errors(result.start, homographies, images[0].shape)
    after = corner_errors(result.transforms, homographies, images[0].shape)
    return {
        "before": float(before.mean()),
        "after": float(after.mean()),
        "best": float(after.min()),
        "verdict": result.verdict,
        "failed": int(result.failed.sum()),
    }


def _grey_plane(data: Path, name: str) -> tuple[list[npt.NDArray[Any]], Floats]:
    """Return the views of a plane in grey, and the homographies (6, 3, 3) from view 1 to each."""
    plane = read_oxford(data, name)
    stack = Stack.of(plane.images).luminance()
    return [np.asarray(source) for source in stack.sources], plane.homographies
