"""Readers for real pictures with some truth: LFW people with landmarks, Oxford planes with their homographies."""

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


@dataclass(frozen=True)
class Person:
    """Portraits of one person and five landmarks in each: eyes, nose, corners of the mouth."""

    images: list[npt.NDArray[Any]]
    landmarks: Floats  # (n, 5, 2) as (x, y)
    names: tuple[str, ...]


def read_lfw(root: str | Path, name: str) -> Person:
    """Read a person from ``root``/lfw/NAME; ``landmarks.txt`` refers to the 250 x 250 originals."""
    base = Path(root) / "lfw" if (Path(root) / "lfw").is_dir() else Path(root)
    if not (base / name).is_dir() or not (base / "landmarks.txt").is_file():
        raise FormatError(
            f"{base} lacks the folder {name} or landmarks.txt; Labeled Faces in the Wild is at UMass Amherst"
        )
    table = {}
    for line in (base / "landmarks.txt").read_text(encoding="utf-8").splitlines():
        key, *numbers = line.split()
        table[key] = np.array([float(v) for v in numbers]).reshape(-1, 2)
    source = open_pictures(base / name)
    missing = [n for n in source.names if f"{name}/{n}" not in table]
    if missing:
        raise FormatError(f"{base / 'landmarks.txt'} has no line for {name}/{missing[0]}")
    scale = source.shapes[0][0] / 250
    places = np.stack([table[f"{name}/{n}"] for n in source.names])
    return Person([p.values for p in source.pictures()], (places + 0.5) * scale - 0.5, source.names)


@dataclass(frozen=True)
class Plane:
    """Six views of one plane and the homographies from the first to each."""

    images: list[npt.NDArray[Any]]
    homographies: Floats  # (6, 3, 3): view 1 to view k


def read_oxford(root: str | Path, name: str) -> Plane:
    """Read ``root``/oxford_affine/NAME: img1 ... img6 and H1to2p ... H1to6p, plain text or OpenCV's XML."""
    base = Path(root) / "oxford_affine" if (Path(root) / "oxford_affine").is_dir() else Path(root)
    folder = base / name
    pictures = [next(iter(sorted(folder.glob(f"img{k}.*"))), None) for k in range(1, 7)]
    if None in pictures:
        raise FormatError(
            f"{folder} lacks img{pictures.index(None) + 1}; the sets are at the VGG group of Oxford"
        )
    matrices = [np.eye(3), *(_homography(folder / f"H1to{k}p") for k in range(2, 7))]
    return Plane([read_picture(p) for p in pictures if p is not None], np.stack(matrices))


def _homography(path: Path) -> Floats:
    """Nine numbers, whatever is around them."""
    for file in (path, path.with_name(path.name + ".xml")):
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            body = re.search(r"<data>(.*?)</data>", text, re.DOTALL)
            numbers = re.findall(r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?", body[1] if body else text)
            if len(numbers) == 9:
                matrix = np.array([float(v) for v in numbers]).reshape(3, 3)
                return np.asarray(matrix / matrix[2, 2])
            raise FormatError(f"{file} has {len(numbers)} numbers; a homography has nine")
    raise FormatError(f"{path} is missing; it holds the homography of that view")
