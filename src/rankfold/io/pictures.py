"""One picture from one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError


def write_picture(path: str | Path, picture: npt.NDArray[np.uint8]) -> None:
    """Write an 8-bit picture in the format that the ending of ``path`` names."""
    import imageio.v3 as iio

    iio.imwrite(path, picture)


def read_picture(path: str | Path) -> npt.NDArray[Any]:
    """Read a picture as it is stored: (h, w) or (h, w, c), integers or floats."""
    import imageio.v3 as iio

    try:
        return np.asarray(iio.imread(path))
    except (OSError, ValueError, SyntaxError) as error:
        raise FormatError(f"{path} cannot be read as a picture ({error}); replace it or leave it out") from error
