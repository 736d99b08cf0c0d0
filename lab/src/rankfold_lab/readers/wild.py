"""Readers for real pictures with some truth: portraits with landmarks, planes with homographies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError
from rankfold.families import Floats
from rankfold.io import open_pictures, read_picture

# Landmarks of Labeled Faces in the Wild refer to originals of this height, in pixels.
LFW_HEIGHT = 250
VIEWS = 6
NUMBER = re.compile(r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Person:
    """Portraits of one person and five landmarks in each: eyes, nose, corners of the mouth.

    Attributes
    ----------
    images : list of arrays
    landmarks : array (n, 5, 2)
        As (x, y) in the pictures as they are stored.
    names : tuple of str
    """

    images: list[npt.NDArray[Any]]
    landmarks: Floats
    names: tuple[str, ...]


def read_lfw(root: str | Path, name: str) -> Person:
    """Read a person of Labeled Faces in the Wild.

    Parameters
    ----------
    root : path
        The folder with ``landmarks.txt`` and a folder for every person, or the folder above, in
        which these lie below ``lfw``. The pictures may be smaller than the originals.
    name : str
        The person's folder, such as ``Laura_Bush``.
    """
    base = _below(root, "lfw")
    landmark_file = base / "landmarks.txt"
    if not (base / name).is_dir() or not landmark_file.is_file():
        raise FormatError(
            f"{base} lacks the folder {name} or landmarks.txt; "
            "Labeled Faces in the Wild is at UMass Amherst"
        )
    table = _landmarks(landmark_file)
    source = open_pictures(base / name)
    keys = [f"{name}/{picture}" for picture in source.names]
    missing = [key for key in keys if key not in table]
    if missing:
        raise FormatError(f"{landmark_file} has no line for {missing[0]}")
    places = np.stack([table[key] for key in keys])  # n x 5 x 2, in the originals
    scale = source.shapes[0][0] / LFW_HEIGHT
    # Pixel centres lie at integers, so a coordinate is scaled about the corner at (-0.5, -0.5).
    landmarks = (places + 0.5) * scale - 0.5
    images = [picture.values for picture in source.pictures()]
    return Person(images, landmarks, source.names)


def _landmarks(path: Path) -> dict[str, Floats]:
    """Return the landmarks (5, 2) by picture of lines ``PERSON/PICTURE x1 y1 x2 y2 ...``."""
    table = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        key, *numbers = line.split()
        table[key] = np.array([float(number) for number in numbers]).reshape(-1, 2)
    return table


@dataclass(frozen=True)
class Plane:
    """Six views of one plane and the homographies from the first view to each.

    Attributes
    ----------
    images : list of arrays
    homographies : array (6, 3, 3)
        The first is the identity.
    """

    images: list[npt.NDArray[Any]]
    homographies: Floats


def read_oxford(root: str | Path, name: str) -> Plane:
    """Read a plane of the Oxford affine set.

    Parameters
    ----------
    root : path
        The folder of the planes, or the folder above, in which they lie below ``oxford_affine``.
    name : str
        The plane's folder. It has ``img1`` to ``img6`` and ``H1to2p`` to ``H1to6p``, which are
        plain text or OpenCV's XML.
    """
    folder = _below(root, "oxford_affine") / name
    pictures = []
    for view in range(1, VIEWS + 1):
        found = sorted(folder.glob(f"img{view}.*"))
        if not found:
            raise FormatError(f"{folder} lacks img{view}; the sets are at the VGG group of Oxford")
        pictures.append(found[0])
    others = [_homography(folder / f"H1to{view}p") for view in range(2, VIEWS + 1)]
    images = [read_picture(path) for path in pictures]
    return Plane(images, np.stack([np.eye(3), *others]))


def _homography(path: Path) -> Floats:
    """Return the matrix (3, 3) in a file, or in the file of that name with ``.xml`` added."""
    candidates = (path, path.with_name(path.name + ".xml"))
    file = next((one for one in candidates if one.is_file()), None)
    if file is None:
        raise FormatError(f"{path} is missing; it holds the homography of that view")
    text = file.read_text(encoding="utf-8")
    # OpenCV's XML has other numbers too: the matrix is inside <data>.
    body = re.search(r"<data>(.*?)</data>", text, re.DOTALL)
    numbers = NUMBER.findall(body[1] if body else text)
    if len(numbers) != 9:
        raise FormatError(f"{file} has {len(numbers)} numbers; a homography has nine")
    matrix = np.array([float(number) for number in numbers]).reshape(3, 3)
    return np.asarray(matrix / matrix[2, 2])


def _below(root: str | Path, folder: str) -> Path:
    """Return the folder of that name in ``root`` if there is one, else ``root`` itself."""
    base = Path(root)
    return base / folder if (base / folder).is_dir() else base
