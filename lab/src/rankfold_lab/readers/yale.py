"""Reader for the cropped Extended Yale Face Database B: aligned faces under many lamps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError
from rankfold.io import read_picture

# The direction of the lamp is in the name: yaleB01_P00A+035E+15.pgm has azimuth 35, elevation 15.
LAMP = re.compile(r"A([+-]\d+)E([+-]\d+)\.(pgm|png|bmp|tif|tiff)$", re.IGNORECASE)
LAMPS = 64
SHAPE = (192, 168)
# The names as which the set is unpacked.
FOLDERS = ("extended_yale_b", "CroppedYale", "ExtendedYaleB")
ASK = (
    "ask the University of California, San Diego for the cropped Extended Yale Face Database B "
    "and unpack it there"
)


@dataclass(frozen=True)
class YaleSubject:
    """The pictures of one face and the direction of the lamp in each.

    Attributes
    ----------
    images : array (n, 192, 168)
    azimuth, elevation : arrays (n,)
        Degrees.
    names : list of str
    missing : int
        How many of the 64 lamps have no picture: the set itself marks some files ``.bad``.
    """

    images: npt.NDArray[np.uint8]
    azimuth: npt.NDArray[np.int_]
    elevation: npt.NDArray[np.int_]
    names: list[str]
    missing: int = 0


def yale_root(root: str | Path) -> Path:
    """Return the folder with yaleB01, yaleB02, ...: ``root``, or a folder in it of a known name."""
    given = Path(root)
    for folder in (given, *(given / name for name in FOLDERS)):
        if any(folder.glob("yaleB[0-9][0-9]")):
            return folder
    raise FormatError(f"{given} has no folders yaleB01, yaleB02, ...; {ASK}")


def read_yale_subject(root: str | Path, subject: int) -> YaleSubject:
    """Read one subject. Ambient pictures and files that are marked ``.bad`` are left out.

    Parameters
    ----------
    root : path
        A folder in which :func:`yale_root` finds the subjects.
    subject : int
        The number in the name of the folder: 1 for yaleB01.
    """
    folder = yale_root(root) / f"yaleB{subject:02d}"
    if not folder.is_dir():
        raise FormatError(f"{folder} does not exist; {ASK}")
    lamps = _lamps(folder)
    images = []
    for path in lamps:
        image = read_picture(path)
        if image.shape != SHAPE:
            raise FormatError(f"{path} is {image.shape}; the cropped faces are {SHAPE}")
        images.append(image)
    directions = np.array(list(lamps.values()))  # n x 2
    return YaleSubject(
        images=np.stack(images),
        azimuth=directions[:, 0],
        elevation=directions[:, 1],
        names=[path.name for path in lamps],
        missing=LAMPS - len(lamps),
    )


def _lamps(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return azimuth and elevation by picture, in the order of the names."""
    found = {}
    for path in sorted(folder.glob("*")):
        match = LAMP.search(path.name)
        if match:
            found[path] = (int(match[1]), int(match[2]))
    if len(found) < 2:
        raise FormatError(
            f"{folder} has {len(found)} pictures named like yaleB01_P00A+035E+15.pgm; {ASK}"
        )
    if len(found) > LAMPS:
        raise FormatError(
            f"{folder} has {len(found)} pictures, the cropped set {LAMPS} a subject; "
            "give one pose only (P00)"
        )
    return found
