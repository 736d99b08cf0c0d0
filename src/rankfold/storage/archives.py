"""Files of arrays, as :func:`numpy.save` and :func:`numpy.savez` write them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt


def write_arrays(
    target: Path | IO[bytes], arrays: Mapping[str, npt.NDArray[Any]], compressed: bool = True
) -> None:
    """Write arrays to a .npz file; no pickle is ever written.

    NumPy's own function leaves an archive open if a write fails, which then complains on its own.

    Parameters
    ----------
    target : Path or file
    arrays : mapping of str to array
    compressed : bool
        Whether to take time for a smaller file.
    """
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(target, "w", method, allowZip64=True) as archive:
        for name, array in arrays.items():
            # Its length is not known beforehand.
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def write_rows(
    path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], rows: Iterable[npt.NDArray[Any]]
) -> None:
    """Write an array row by row to a .npy file: it may be larger than memory.

    No row is written through a map of the file: who does that on a full disk is killed.

    Parameters
    ----------
    path : Path
    shape : tuple of int
    dtype : dtype
    rows : arrays of ``shape[1:]``
    """
    header = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": shape,
    }
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for row in rows:
            file.write(np.ascontiguousarray(row, dtype).data)
