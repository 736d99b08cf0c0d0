"""Reader for the USPS digits in three common forms: HDF5, libsvm text, the text of zip.train."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError

# Pictures (n, 256) in [0, 1] and the digit (n,) that each shows.
Labelled = tuple[npt.NDArray[Any], npt.NDArray[Any]]

SIDE = 16
PIXELS = SIDE * SIDE
NAMES = ("usps.h5", "usps", "usps.bz2", "usps.libsvm", "zip.train", "zip.train.gz")
OPENERS: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open}
ASK = (
    "put usps.h5 (train/data, train/target), usps.bz2 from the LIBSVM data sets, "
    "or zip.train.gz from the Elements of Statistical Learning there"
)


def find_usps(root: str | Path) -> Path:
    """Return the file of digits: ``root`` itself, or a known name in it or in its folder usps."""
    given = Path(root)
    if given.is_file():
        return given
    for folder in (given, given / "usps"):
        for name in NAMES:
            if (folder / name).is_file():
                return folder / name
    raise FormatError(f"{given} has no USPS digits; {ASK}")


def read_usps(path: str | Path, digit: int, count: int | None = None) -> npt.NDArray[Any]:
    """Read the training pictures of one digit.

    Parameters
    ----------
    path : path
        The file, or a folder in which :func:`find_usps` finds it.
    digit : int
        From 0 to 9.
    count : int, optional
        Only the first so many pictures.

    Returns
    -------
    array (n, 16, 16)
        Values from 0 to 1.
    """
    file = find_usps(path)
    read = _reader_for(file)
    try:
        data, target = read(file)
    except (OSError, KeyError, ValueError, EOFError, UnicodeDecodeError) as error:
        raise FormatError(
            f"{file} is not the USPS file of any known form ({error}); {ASK}"
        ) from error
    if data.ndim != 2 or data.shape[1] != PIXELS or len(data) != len(target):
        raise FormatError(
            f"{file} holds {data.shape} values for {len(target)} labels; digits are 16 x 16"
        )
    chosen = data[target == digit][:count]
    if not len(chosen):
        known = sorted(set(target.tolist()))
        raise FormatError(f"{file} has no pictures of the digit {digit}; it has {known}")
    return np.asarray(chosen.reshape(-1, SIDE, SIDE))


def _reader_for(path: Path) -> Callable[[Path], Labelled]:
    """Return the function that reads this file; its first bytes tell the three forms apart."""
    opened = OPENERS.get(path.suffix, open)
    try:
        with opened(path, "rb") as file:
            start = bytes(file.read(400))
    except (OSError, EOFError) as error:
        raise FormatError(f"{path} cannot be read ({error}); {ASK}") from error
    if start.startswith(b"\x89HDF"):
        return _read_hdf5
    if b":" in start:
        return _read_libsvm
    return _read_zip


def _read_hdf5(path: Path) -> Labelled:
    """Read the arrays train/data, in [0, 1], and train/target."""
    import h5py

    with h5py.File(path) as file:
        data = np.asarray(file["train/data"])
        target = np.asarray(file["train/target"])
    return data, target


def _read_libsvm(path: Path) -> Labelled:
    """Read lines ``label 1:v 2:v ...`` with values in [-1, 1]; a value that is left out is -1."""
    labels = []
    rows = []
    for line in _text(path).splitlines():
        label, *pairs = line.split()
        row = np.full(PIXELS, -1.0)
        for pair in pairs:
            index, _, value = pair.partition(":")
            row[int(index) - 1] = float(value)
        labels.append(int(float(label)))
        rows.append(row)
    digits = np.array(labels)
    # The LIBSVM file calls digit 0 "1" and digit 9 "10".
    if digits.min() >= 1 and digits.max() == 10:
        digits = digits - 1
    return (np.stack(rows) + 1) / 2, digits


def _read_zip(path: Path) -> Labelled:
    """Read lines ``label v v v ...`` of 256 values in [-1, 1]."""
    table = np.loadtxt(_text(path).splitlines(), ndmin=2)
    if table.shape[1] != 1 + PIXELS:
        raise ValueError(f"{table.shape[1]} numbers a line instead of {1 + PIXELS}")
    return (table[:, 1:] + 1) / 2, table[:, 0].astype(int)


def _text(path: Path) -> str:
    """Return the text of a plain or compressed file."""
    opened = OPENERS.get(path.suffix, open)
    with opened(path, "rt", encoding="ascii") as file:
        return str(file.read())
