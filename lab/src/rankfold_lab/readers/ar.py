"""Reader for the AR faces: 13 pictures of a person in one session, or 26 in two.

The order within a session is that of the set: 1-4 expressions, 5-7 lights, 8-10 sunglasses,
11-13 scarf.
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
from rankfold.io.source import natural
from rankfold_lab.readers.matlab import load_matlab

Array = npt.NDArray[Any]

SESSION = 13
# Of a session, the pictures with other lights, counted from 0.
LIT = (4, 5, 6)
HIDDEN = ("",) * 7 + ("sunglasses",) * 3 + ("scarf",) * 3
PICTURE = re.compile(r"\.(png|bmp|jpg|pgm|tiff?)$", re.IGNORECASE)
ASK = "ask Aleix Martinez at the Ohio State University for the AR face database"


@dataclass(frozen=True)
class ArPerson:
    """The pictures of one person and what hides the face in each.

    Attributes
    ----------
    images : array (n, h, w)
        Grey, with n = 13 or 26.
    hidden : tuple of str
        For every picture ``""``, ``"sunglasses"`` or ``"scarf"``.
    name : str
    """

    images: Array
    hidden: tuple[str, ...]
    name: str


def read_ar(root: str | Path, person: int) -> ArPerson:
    """Read one person of the AR set.

    Parameters
    ----------
    root : path
        The folder that holds ``person01``, ``person02``, ... (folders or MATLAB files), or the
        folder above, in which they lie below ``ar``.
    person : int
        Counted from 1.
    """
    base = Path(root)
    if (base / "ar").is_dir():
        base = base / "ar"
    name = f"person{person:02d}"
    folder = base / name
    matlab_file = base / f"{name}.mat"
    if folder.is_dir():
        images = _from_folder(folder)
    elif matlab_file.is_file():
        images = _from_matlab(matlab_file)
    else:
        raise FormatError(f"{base} has neither {name} nor {name}.mat; {ASK} and unpack it there")
    if images.ndim == 4:
        # n x h x w x c: colour becomes grey.
        images = images.mean(axis=3)
    if len(images) not in (SESSION, 2 * SESSION):
        raise FormatError(
            f"{folder} has {len(images)} pictures; "
            "a person of the AR set has 13, or 26 in two sessions"
        )
    sessions = len(images) // SESSION
    return ArPerson(images, HIDDEN * sessions, name)


def _from_folder(folder: Path) -> Array:
    """Return the pictures (n, h, w[, c]) of a folder in the order of their numbers."""
    files = [path for path in folder.iterdir() if PICTURE.search(path.name)]
    files.sort(key=lambda path: natural(path.name))
    pictures = [read_picture(path) for path in files]
    if len({picture.shape for picture in pictures}) > 1:
        raise FormatError(f"the pictures in {folder} have different sizes; use the cropped set")
    return np.stack(pictures) if pictures else np.empty((0, 0, 0))


def _from_matlab(path: Path) -> Array:
    """Return the pictures (n, h, w) of a MATLAB file: its array with an axis of 13 or 26."""
    content = load_matlab(path)
    arrays = [
        np.asarray(value)
        for name, value in content.items()
        if not name.startswith("__") and np.ndim(value) == 3
    ]
    for array in arrays:
        # MATLAB stacks pictures along the third axis, so that one is tried first.
        for axis in (2, 0, 1):
            if array.shape[axis] in (SESSION, 2 * SESSION):
                return np.moveaxis(array, axis, 0)
    shapes = [array.shape for array in arrays]
    raise FormatError(
        f"{path} has arrays of three dimensions {shapes}; one of them must hold 13 or 26 pictures"
    )
