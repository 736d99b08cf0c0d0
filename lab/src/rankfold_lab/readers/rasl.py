"""Reader for the published RASL sets: pictures, each with the points that were marked in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError
from rankfold.families import Floats
from rankfold.io import read_picture
from rankfold_lab.readers.matlab import load_matlab

PICTURES = (".bmp", ".png", ".jpg", ".jpeg", ".pgm", ".tif", ".tiff")
POINTS = "-points.mat"


@dataclass(frozen=True)
class RaslSet:
    """A set of pictures and the points that were marked in them.

    Attributes
    ----------
    images : list of arrays
    points : array (n, k, 2)
        The marked points of every picture as (x, y), counted from 0.
    names : list of str
        The names of the picture files.
    """

    images: list[npt.NDArray[Any]]
    points: Floats
    names: list[str]


def read_rasl(folder: str | Path) -> RaslSet:
    """Read one RASL data set.

    Parameters
    ----------
    folder : path
        For every picture NAME it has the point file ``NAME-points.mat``. Pictures without points
        and other files are left out.

    Returns
    -------
    RaslSet
        In the order of the names.
    """
    folder = Path(folder)
    point_files = sorted(folder.glob(f"*{POINTS}"))
    if not point_files:
        raise FormatError(f"{folder} has no *{POINTS} files; give the folder of one RASL data set")
    points = [read_points(file) for file in point_files]
    if len({marked.shape for marked in points}) > 1:
        raise FormatError(
            f"the point files in {folder} have different numbers of points; "
            "they must all have the same"
        )
    pictures = [_picture_of(file) for file in point_files]
    images = [read_picture(path) for path in pictures]
    return RaslSet(images, np.stack(points), [path.name for path in pictures])


def read_points(path: str | Path) -> Floats:
    """Read the points of one picture.

    Parameters
    ----------
    path : path
        A MATLAB file with a matrix ``points`` (2, k), x over y, counted from 1.

    Returns
    -------
    array (k, 2)
        The points as (x, y), counted from 0.
    """
    path = Path(path)
    content = load_matlab(path)
    points = np.asarray(content.get("points", np.empty(0)))
    is_matrix = points.ndim == 2 and points.shape[0] == 2
    if not is_matrix or not np.isfinite(points.astype(np.float64)).all():
        raise FormatError(
            f"{path} holds points of shape {points.shape}; "
            "it needs a finite 2 x k matrix 'points', x over y, from 1"
        )
    # MATLAB counts from 1, rankfold from 0.
    return points.T.astype(np.float64) - 1


def _picture_of(points_file: Path) -> Path:
    """Return the picture that a point file belongs to."""
    stem = points_file.name.removesuffix(POINTS)
    for ending in PICTURES:
        candidate = points_file.with_name(stem + ending)
        if candidate.is_file():
            return candidate
    endings = ",".join(PICTURES)
    raise FormatError(f"no picture {stem}{{{endings}}} beside {points_file}; put it there")
