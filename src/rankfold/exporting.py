"""Names and transforms for other programs: as one file, or as objects of theirs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from rankfold.arguments import path_of
from rankfold.errors import InputError
from rankfold.families import FAMILIES, Floats
from rankfold.neutral import cell, encodable
from rankfold.stack import Frame
from rankfold.storage import whole_file


def write_transforms(
    path: str | Path,
    names: Sequence[str],
    transforms: Floats,
    frame: Frame,
    family: str,
    overwrite: bool = False,
) -> None:
    """Write names and matrices as ``.json`` or ``.csv``, by the ending of ``path``.

    Parameters
    ----------
    path : str or Path
    names : n strings
        In CSV, a name that a spreadsheet would take for a formula begins with an apostrophe.
    transforms : (n, 3, 3) array
    frame : Frame
    family : str
    overwrite : bool
    """
    target = Path(path_of("path", path))
    writers: dict[str, Callable[[IO[str]], None]] = {
        ".json": lambda file: _write_json(file, names, transforms, frame, family),
        ".csv": lambda file: _write_csv(file, names, transforms),
    }
    ending = target.suffix.lower()
    if ending not in writers:
        raise InputError(f"cannot tell a format from {target.name!r}; end it in .json or .csv")
    with (
        whole_file(target, overwrite) as draft,
        draft.open("w", newline="", encoding="utf-8") as file,
    ):
        writers[ending](file)


def _write_json(
    file: IO[str], names: Sequence[str], transforms: Floats, frame: Frame, family: str
) -> None:
    """Write a table with what it is about."""
    rows = [
        {"name": name, "matrix": matrix.tolist()}
        for name, matrix in zip(names, transforms, strict=True)
    ]
    table = {
        "maps": "frame (x, y) to source (x, y), pixel centres at integers from 0",
        "frame": {"height": frame.height, "width": frame.width},
        "family": family,
        "transforms": rows,
    }
    file.write(json.dumps(encodable(table), indent=1) + "\n")


def _write_csv(file: IO[str], names: Sequence[str], transforms: Floats) -> None:
    """Write a row a picture: its name and the nine numbers of its matrix, row by row."""
    writer = csv.writer(file)
    writer.writerow(["name", *(f"t{row}{column}" for row in range(3) for column in range(3))])
    for name, matrix in zip(names, transforms, strict=True):
        writer.writerow([cell(name), *(repr(float(value)) for value in matrix.ravel())])


def as_skimage(transforms: Floats) -> list[Any]:
    """Return transforms (n, 3, 3) as objects of scikit-image, each of the smallest family."""
    try:
        from skimage import transform
    except ImportError as error:
        raise InputError(
            "scikit-image is not installed; run `pip install rankfold[skimage]`"
        ) from error
    classes = {
        "euclidean": transform.EuclideanTransform,
        "similarity": transform.SimilarityTransform,
        "affine": transform.AffineTransform,
        "homography": transform.ProjectiveTransform,
    }
    smallest = [next(f for f in classes if FAMILIES[f].contains(T, tol=1e-6)) for T in transforms]
    return [classes[name](matrix=T) for name, T in zip(smallest, transforms, strict=True)]
