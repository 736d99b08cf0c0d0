"""What reads single pictures: here, or in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.io.metadata import Metadata, read_metadata
from rankfold.io.pictures import load_picture, picture_header
from rankfold.io.source import Picture

Header = tuple[tuple[int, ...], np.dtype[Any]]


@dataclass(frozen=True)
class Decoder:
    """How a file that is one picture is read.

    Attributes
    ----------
    header : function of a path
        Gives the shape and type of the picture.
    load : function of a path
        Gives the picture.
    metadata : function of a path
        Gives what the file says besides its pixels.
    """

    header: Callable[[Path], Header]
    load: Callable[[Path], Picture]
    metadata: Callable[[Path], Metadata]


HERE = Decoder(picture_header, load_picture, read_metadata)
"""Read in this process."""
