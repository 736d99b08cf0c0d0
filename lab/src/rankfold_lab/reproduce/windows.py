"""Fig. 5: the facade windows as photographed, with patches and changed light, and occluded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import align
from rankfold.metrics import recovery_error
from rankfold.result import Alignment
from rankfold.stack import Frame
from rankfold_lab.evaluate.scenes import landed_points, spread_of_points
from rankfold_lab.readers.windows import FRAME, Windows, read_windows
from rankfold_lab.reproduce import standins
from rankfold_lab.reproduce.methods import METHODS, Measured, sheet

Pictures = list[npt.NDArray[Any]]

PATCH = 128  # the grey of a patch


def photographs_and_frame(data: Path | None) -> tuple[Windows, Frame]:
    """Return the windows and their frame; generated ones where there are no data."""
    if data is None:
        return standins.windows(), standins.WINDOW_FRAME
    return read_windows(data), FRAME


def windows(cell: dict[str, Any], data: Path | None) -> Measured:
    """Measure recovery where pixels were changed, and how far apart the hand-picked points end."""
    photographs, frame = photographs_and_frame(data)
    given, changed, truth = _corrupted(photographs, cell["kind"])
    options = METHODS[cell["method"]] | {"family": "homography", "inner_tol": 1e-5}
    result = align(given, frame=frame, init=photographs.points, **options)
    values = {
        "points": spread_of_points(landed_points(result.transforms, photographs.points.sources)),
        "rank": result.rank,
        "failed": int(result.failed.sum()),
        "worst": float(result.lost.max()),
    }
    if changed is not None:
        values |= _recovery(result, changed, truth)
    parts = (result.aligned, result.low_rank, np.abs(result.sparse))
    # Every second picture, every second pixel.
    rows = [[part[k, ::2, ::2] for k in range(0, len(part), 2)] for part in parts]
    return values, sheet(rows, 1)


def patched(photographs: Windows, seed: int = 0) -> tuple[Pictures, Pictures, Pictures]:
    """Put a grey patch on every picture and change the light over a part of it.

    Patches are placed around the hand-picked points, that is on the window, and have a third of its
    width.

    Returns
    -------
    pictures, patches, truth : lists of arrays
        The pictures as given to a method, 1 where they were patched, and the pictures without the
        patches.
    """
    rng = np.random.default_rng(seed)
    given: Pictures = []
    patches: Pictures = []
    truth: Pictures = []
    for picture, points in zip(photographs.clean, photographs.points.sources, strict=True):
        height, width = picture.shape
        centre = points.mean(axis=0)
        size = np.ptp(points, axis=0)
        left, top = centre + rng.uniform(-0.35, 0.1, 2) * size
        edge = centre[0] + rng.uniform(-0.3, 0.3) * size[0]
        light = np.where(np.arange(width) < edge, rng.uniform(0.5, 0.8), 1.0)
        lit = (picture * light).astype(picture.dtype)
        mask = np.zeros((height, width))
        rows = slice(max(int(top), 0), int(top + size[1] / 3))
        columns = slice(max(int(left), 0), int(left + size[0] / 3))
        mask[rows, columns] = 1
        given.append(np.where(mask > 0, np.asarray(PATCH, picture.dtype), lit))
        patches.append(mask)
        truth.append(lit)
    return given, patches, truth


def _corrupted(photographs: Windows, kind: str) -> tuple[Pictures, Pictures | None, Pictures]:
    """Return pictures as given to a method, 1 where they were changed, and what is true."""
    if kind == "clean":
        return photographs.clean, None, photographs.clean
    if kind == "patched":
        return patched(photographs)
    pairs = zip(photographs.clean, photographs.occluded, strict=True)
    changed = [(clean != occluded).astype(np.float64) for clean, occluded in pairs]
    return photographs.occluded, changed, photographs.clean


def _recovery(result: Alignment, changed: Pictures, truth: Pictures) -> dict[str, float]:
    """Return the relative error of the low-rank pictures on the changed pixels and on all."""
    clean = result.apply(truth)
    seen = result.valid & np.isfinite(clean)
    covered = seen & (np.nan_to_num(result.apply(changed)) > 0.5)
    return {
        "changed": recovery_error(result.low_rank, clean, covered),
        "all": recovery_error(result.low_rank, clean, seen),
    }
