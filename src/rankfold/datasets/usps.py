"""Reader for the USPS digits, as the HDF5 file that goes around (train/data, train/target)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError, InputError


def read_usps(path: str | Path, digit: int, count: int | None = None) -> npt.NDArray[Any]:
    """The first ``count`` training pictures (n, 16, 16) of one digit, in [0, 1]."""
    try:
        import h5py
    except ImportError as error:
        raise InputError("h5py is not installed; run `pip install rankfold[data]`") from error
    try:
        with h5py.File(path) as file:
            data, target = np.asarray(file["train/data"]), np.asarray(file["train/target"])
    except (OSError, KeyError) as error:
        raise FormatError(f"{path} is not the USPS file with train/data and train/target ({error})") from error
    if data.ndim != 2 or data.shape[1] != 256 or len(data) != len(target):
        raise FormatError(f"{path} holds {data.shape} values for {len(target)} labels; digits are 16 x 16")
    return np.asarray(data[target == digit][:count].reshape(-1, 16, 16))
