"""Reader for the published RASL sets: pictures with ``NAME-points.mat`` beside them (1-based points, 2 x k)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError
from rankfold.families import Floats
from rankfold.io import read_picture
from rankfold.io.source import reading

PICTURES = (".bmp", ".png", ".jpg", ".jpeg", ".pgm", ".tif", ".tiff")


@dataclass(frozen=True)
class RaslSet:
    """Pictures and the points that were marked in them, 0-based."""

    images: list[npt.NDArray[Any]]
    points: Floats  # (n, k, 2) as (x, y)
    names: list[str]


def read_rasl(folder: str | Path) -> RaslSet:
    """Read every ``NAME-points.mat`` of a folder and the picture NAME beside it, in the order of the names."""
    folder = Path(folder)
    files = sorted(folder.glob("*-points.mat"))
    if not files:
        raise FormatError(
            f"{folder} has no *-points.mat files; give the folder of one RASL data set"
        )
    points = [read_points(file) for file in files]
    if len({p.shape for p in points}) > 1:
        raise FormatError(
            f"the point files in {folder} have different numbers of points; they must all have the same"
        )
    pictures = [_picture_of(file) for file in files]
    return RaslSet(
        [read_picture(p) for p in pictures], np.stack(points), [p.name for p in pictures]
    )


def read_points(path: str | Path) -> Floats:
    """Points (k, 2) as 0-based (x, y) from a MATLAB file with a 2 x k matrix ``points``, 1-based."""
    from scipy.io import loadmat

    with reading(path, "read as a MATLAB file", "save it as version 5 or 7"):
        content = loadmat(path)
    points = np.asarray(content.get("points", np.empty(0)))
    if points.ndim != 2 or points.shape[0] != 2 or not np.isfinite(points.astype(np.float64)).all():
        raise FormatError(
            f"{path} holds points of shape {points.shape}; it needs a finite 2 x k matrix 'points', x over y, from 1"
        )
    return points.T.astype(np.float64) - 1


def _picture_of(points_file: Path) -> Path:
    """The picture that a point file belongs to."""
    stem = points_file.name.removesuffix("-points.mat")
    candidates = [points_file.with_name(stem + ending) for ending in PICTURES]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise FormatError(
        f"no picture {stem}{{{','.join(PICTURES)}}} beside {points_file}; put it there"
    )
