"""The READERS table: every data set on disk, its reader, and where to get the files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rankfold_lab.readers.ar import read_ar
from rankfold_lab.readers.cdnet import read_cdnet
from rankfold_lab.readers.decolor import read_decolor
from rankfold_lab.readers.rasl import read_rasl
from rankfold_lab.readers.usps import read_usps
from rankfold_lab.readers.wild import read_lfw, read_oxford
from rankfold_lab.readers.windows import read_windows
from rankfold_lab.readers.yale import read_yale_subject


@dataclass(frozen=True)
class Reader:
    """A row of READERS.

    Attributes
    ----------
    folder : str
        What the data set is called below the data folder.
    summary : str
        What it shows and where to get it.
    read : callable
        The function that reads a part of it.
    """

    folder: str
    summary: str
    read: Callable[..., Any]


_ROWS = (
    Reader(
        "rasl",
        "the sets of the RASL paper (dummy head, digits, faces); perception.csl.illinois.edu",
        read_rasl,
    ),
    Reader(
        "windows",
        "facade windows of the RASL paper, and windows_occluded beside them",
        read_windows,
    ),
    Reader(
        "extended_yale_b",
        "faces under 64 lamps; ask the University of California, San Diego",
        read_yale_subject,
    ),
    Reader("usps", "handwritten digits as usps.h5, libsvm text or zip.train", read_usps),
    Reader(
        "ar",
        "faces with sunglasses and scarves; ask Aleix Martinez at the Ohio State University",
        read_ar,
    ),
    Reader(
        "lfw",
        "people of Labeled Faces in the Wild with landmarks.txt; UMass Amherst",
        read_lfw,
    ),
    Reader(
        "oxford_affine",
        "planes under viewpoint and light changes; the VGG group of Oxford",
        read_oxford,
    ),
    Reader(
        "cdnet_NAME",
        "a clip of a camera that stands or shakes, with masks of what moves, for every NAME; "
        "changedetection.net",
        read_cdnet,
    ),
    Reader(
        "decolor",
        "clips of a moving camera with masks of some frames, as .mat; from the authors of DECOLOR",
        read_decolor,
    ),
)
READERS: dict[str, Reader] = {row.folder: row for row in _ROWS}
