"""Reader for the Extended Yale Face Database B (cropped): one subject, many lamps, faces already aligned."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError
from rankfold.io import read_picture

LAMP = re.compile(r"A([+-]\d+)E([+-]\d+)\.(pgm|png|bmp|tif|tiff)$", re.IGNORECASE)
LAMPS = 64
ASK = "ask the University of California, San Diego for the cropped Extended Yale Face Database B and unpack it there"


@dataclass(frozen=True)
class YaleSubject:
    """Pictures (192, 168) of one face and the direction of the lamp in each, in degrees."""

    images: npt.NDArray[np.uint8]  # (n, 192, 168)
    azimuth: npt.NDArray[np.int_]
    elevation: npt.NDArray[np.int_]
    names: list[str]
    missing: int = 0  # lamps of the 64 without a picture: the set itself marks some files .bad


def yale_root(root: str | Path) -> Path:
    """The folder with yaleB01, yaleB02, ...: ``root`` itself, or one of the names it is unpacked as."""
    given = Path(root)
    for folder in (
        given,
        *(given / name for name in ("extended_yale_b", "CroppedYale", "ExtendedYaleB")),
    ):
        if any(folder.glob("yaleB[0-9][0-9]")):
            return folder
    raise FormatError(f"{given} has no folders yaleB01, yaleB02, ...; {ASK}")


def read_yale_subject(root: str | Path, subject: int) -> YaleSubject:
    """Read subject ``subject`` from ``root``/yaleBnn. Ambient pictures and files marked .bad are passed over."""
    folder = yale_root(root) / f"yaleB{subject:02d}"
    if not folder.is_dir():
        raise FormatError(f"{folder} does not exist; {ASK}")
    found = [
        (path, match) for path in sorted(folder.glob("*")) if (match := LAMP.search(path.name))
    ]
    if len(found) < 2:
        raise FormatError(
            f"{folder} has {len(found)} pictures named like yaleB01_P00A+035E+15.pgm; {ASK}"
        )
    if len(found) > LAMPS:
        raise FormatError(
            f"{folder} has {len(found)} pictures, the cropped set {LAMPS} a subject; give one pose only (P00)"
        )
    images = [read_picture(path) for path, _ in found]
    for (path, _), image in zip(found, images, strict=True):
        if image.shape != (192, 168):
            raise FormatError(f"{path} is {image.shape}; the cropped faces are (192, 168)")
    return YaleSubject(
        np.stack(images),
        np.array([int(match[1]) for _, match in found]),
        np.array([int(match[2]) for _, match in found]),
        [path.name for path, _ in found],
        LAMPS - len(found),
    )
