"""Reader for the AR faces: 13 pictures of a person in one session, or 26 in two, in a folder or a MATLAB file.

The order of a session is that of the set: 1-4 expressions, 5-7 lights, 8-10 sunglasses, 11-13 scarf.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError
from rankfold.io import read_picture
from rankfold.io.source import natural, reading

SESSION = 13
ASK = "ask Aleix Martinez at the Ohio State University for the AR face database"


@dataclass(frozen=True)
class ArPerson:
    """Pictures of one person and what hides each."""

    images: npt.NDArray[Any]  # (n, h, w), n = 13 or 26
    hidden: tuple[str, ...]  # "", "sunglasses" or "scarf"
    name: str


def read_ar(root: str | Path, person: int) -> ArPerson:
    """Read person ``person`` from ``root``/ar/personNN, ``root``/personNN, or a personNN.mat beside them."""
    base = Path(root) / "ar" if (Path(root) / "ar").is_dir() else Path(root)
    name = f"person{person:02d}"
    if (base / name).is_dir():
        files = sorted(
            (
                p
                for p in (base / name).iterdir()
                if re.search(r"\.(png|bmp|jpg|pgm|tiff?)$", p.name, re.I)
            ),
            key=lambda p: natural(p.name),
        )
        pictures = [read_picture(path) for path in files]
        if len({p.shape for p in pictures}) > 1:
            raise FormatError(
                f"the pictures in {base / name} have different sizes; use the cropped set"
            )
        images = np.stack(pictures) if pictures else np.empty((0, 0, 0))
    elif (base / f"{name}.mat").is_file():
        images = _from_matlab(base / f"{name}.mat")
    else:
        raise FormatError(f"{base} has neither {name} nor {name}.mat; {ASK} and unpack it there")
    if images.ndim == 4:
        images = images.mean(axis=3)
    if len(images) not in (SESSION, 2 * SESSION):
        raise FormatError(
            f"{base / name} has {len(images)} pictures; a person of the AR set has 13, or 26 in two sessions"
        )
    kinds = ("",) * 7 + ("sunglasses",) * 3 + ("scarf",) * 3
    return ArPerson(images, kinds * (len(images) // SESSION), name)


def _from_matlab(path: Path) -> npt.NDArray[Any]:
    """The one array of three dimensions in a MATLAB file, its longest-run axis of 13 or 26 first."""
    from scipy.io import loadmat

    with reading(path, "read as a MATLAB file", "save it as version 5 or 7"):
        content = loadmat(path)
    arrays = [
        np.asarray(v) for k, v in content.items() if not k.startswith("__") and np.ndim(v) == 3
    ]
    for array in arrays:
        for axis in (2, 0, 1):  # MATLAB stacks along the third
            if array.shape[axis] in (SESSION, 2 * SESSION):
                return np.moveaxis(array, axis, 0)
    shapes = [array.shape for array in arrays]
    raise FormatError(
        f"{path} has arrays of three dimensions {shapes}; one of them must hold 13 or 26 pictures"
    )
