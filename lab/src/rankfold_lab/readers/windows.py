"""Reader for the facade windows of the RASL paper, as photographed and with a part replaced."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError
from rankfold.io import read_picture
from rankfold.stack import Frame, Points
from rankfold_lab.readers.rasl import read_rasl

# The published frame, and where the three hand-picked points lie in it: (x, y), published from 1.
FRAME = Frame(200, 200)
CANONICAL = np.array([[26.0, 24.0], [176.0, 24.0], [100.0, 184.0]]) - 1


@dataclass(frozen=True)
class Windows:
    """Clean and occluded photographs of the same windows, and the points marked in them."""

    clean: list[npt.NDArray[Any]]
    occluded: list[npt.NDArray[Any]]
    points: Points


def read_windows(root: str | Path) -> Windows:
    """Read ``root``/windows, which has the points, and ``root``/windows_occluded.

    Parameters
    ----------
    root : path
        The folder above both.
    """
    root = Path(root)
    clean = read_rasl(root / "windows")
    paths = [root / "windows_occluded" / name for name in clean.names]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise FormatError(
            f"{missing[0]} is missing; windows_occluded needs a picture for every one in windows"
        )
    occluded = [read_picture(path) for path in paths]
    return Windows(clean.images, occluded, Points(CANONICAL, clean.points))
