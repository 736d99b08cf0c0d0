"""The facade windows of the RASL paper: homographies from three hand-picked points, clean and with added occlusion."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import align
from rankfold.datasets import read_rasl
from rankfold.errors import ConvergenceWarning, FormatError
from rankfold.io import read_picture
from rankfold.metrics import recovery_error
from rankfold.result import Alignment
from rankfold.stack import Frame, Points

FRAME = Frame(200, 200)
CANONICAL = np.array([[26.0, 24.0], [176.0, 24.0], [100.0, 184.0]]) - 1


@dataclass(frozen=True)
class Windows:
    """Clean and occluded photographs of the same windows, and the points marked in them."""

    clean: list[npt.NDArray[Any]]
    occluded: list[npt.NDArray[Any]]
    points: Points


def read_windows(root: str | Path) -> Windows:
    """Read ``root``/windows and ``root``/windows_occluded."""
    root = Path(root)
    data = read_rasl(root / "windows")
    paths = [root / "windows_occluded" / name for name in data.names]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise FormatError(
            f"{missing[0]} is missing; windows_occluded needs a picture for every one in windows"
        )
    return Windows(
        data.images, [read_picture(path) for path in paths], Points(CANONICAL, data.points)
    )


def patched(windows: Windows, seed: int = 0) -> tuple[list[Any], list[Any], list[Any]]:
    """A grey patch on every picture and a change of light over a part of it: pictures, where patched, and the truth.

    Patches are placed around the hand-picked points, that is on the window, and have a third of its width.
    """
    rng = np.random.default_rng(seed)
    given, changed, truth = [], [], []
    for picture, points in zip(windows.clean, windows.points.sources, strict=True):
        h, w = picture.shape
        centre, size = points.mean(axis=0), np.ptp(points, axis=0)
        left, top = centre + rng.uniform(-0.35, 0.1, 2) * size
        box = np.s_[
            max(int(top), 0) : int(top + size[1] / 3), max(int(left), 0) : int(left + size[0] / 3)
        ]
        edge = centre[0] + rng.uniform(-0.3, 0.3) * size[0]
        light = np.where(np.arange(w) < edge, rng.uniform(0.5, 0.8), 1.0)
        lit = (picture * light).astype(picture.dtype)
        mask = np.zeros((h, w))
        mask[box] = 1
        given.append(np.where(mask > 0, np.asarray(128, picture.dtype), lit))
        changed.append(mask)
        truth.append(lit)
    return given, changed, truth


def run_windows(windows: Windows, method: str, occluded: bool, n_jobs: int = 1) -> Alignment:
    """Align the clean or the occluded windows."""
    images = windows.occluded if occluded else windows.clean
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return align(
            images,
            method=method,
            family="homography",
            frame=FRAME,
            init=windows.points,
            inner_tol=1e-5,
            n_jobs=n_jobs,
        )


def occluded_recovery(windows: Windows, result: Alignment) -> tuple[float, float]:
    """Recovery error on the changed pixels, and on all, of a run on the occluded windows."""
    changed = [
        (a != b).astype(np.float64) for a, b in zip(windows.clean, windows.occluded, strict=True)
    ]
    truth = result.apply(windows.clean)
    seen = result.valid & np.isfinite(truth)
    covered = seen & (np.nan_to_num(result.apply(changed)) > 0.5)
    return recovery_error(result.low_rank, truth, covered), recovery_error(
        result.low_rank, truth, seen
    )


def contact_sheet(
    results: list[Alignment], columns: int = 6, step: int = 2
) -> npt.NDArray[np.uint8]:
    """Aligned, low-rank and error rows of each result, every ``step``-th pixel of the first ``columns`` pictures."""
    rows = []
    for result in results:
        for pictures in (result.aligned, result.low_rank, np.abs(result.sparse)):
            shown = np.clip(np.nan_to_num(pictures[:columns, ::step, ::step]), 0, 255).astype(
                np.uint8
            )
            rows.append(np.hstack(list(shown)))
        rows.append(np.full((6, rows[0].shape[1]), 255, np.uint8))
    return np.vstack(rows[:-1])
