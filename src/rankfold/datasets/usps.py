"""Reader for the USPS digits in the three forms that go around: HDF5, libsvm text, and the text of zip.train."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError, InputError

Labelled = tuple[npt.NDArray[Any], npt.NDArray[Any]]
NAMES = ("usps.h5", "usps", "usps.bz2", "usps.libsvm", "zip.train", "zip.train.gz")
ASK = (
    "put usps.h5 (train/data, train/target), usps.bz2 from the LIBSVM data sets, or zip.train.gz from the "
    "Elements of Statistical Learning there"
)


def find_usps(root: str | Path) -> Path:
    """The file of digits: ``root`` itself, or a known name in it or in its folder usps."""
    given = Path(root)
    if given.is_file():
        return given
    for folder in (given, given / "usps"):
        for name in NAMES:
            if (folder / name).is_file():
                return folder / name
    raise FormatError(f"{given} has no USPS digits; {ASK}")


def read_usps(path: str | Path, digit: int, count: int | None = None) -> npt.NDArray[Any]:
    """The first ``count`` training pictures (n, 16, 16) of one digit, in [0, 1]."""
    file = find_usps(path)
    start = _first_bytes(file)
    read = (
        _read_hdf5 if start.startswith(b"\x89HDF") else _read_libsvm if b":" in start else _read_zip
    )
    try:
        data, target = read(file)
    except (OSError, KeyError, ValueError, EOFError, UnicodeDecodeError) as error:
        raise FormatError(
            f"{file} is not the USPS file of any known form ({error}); {ASK}"
        ) from error
    if data.ndim != 2 or data.shape[1] != 256 or len(data) != len(target):
        raise FormatError(
            f"{file} holds {data.shape} values for {len(target)} labels; digits are 16 x 16"
        )
    chosen = data[target == digit][:count]
    if not len(chosen):
        raise FormatError(
            f"{file} has no pictures of the digit {digit}; it has {sorted(set(target.tolist()))}"
        )
    return np.asarray(chosen.reshape(-1, 16, 16))


def _read_hdf5(path: Path) -> Labelled:
    try:
        import h5py
    except ImportError as error:
        raise InputError("h5py is not installed; run `pip install rankfold[data]`") from error
    with h5py.File(path) as file:
        return np.asarray(file["train/data"]), np.asarray(file["train/target"])


def _read_libsvm(path: Path) -> Labelled:
    """Lines ``label 1:v 2:v ...`` with values in [-1, 1] and labels from 1 (digit 0) to 10 (digit 9)."""
    labels, rows = [], []
    with _opener(path)(path, "rt", encoding="ascii") as file:
        lines = file.read().splitlines()
    for line in lines:
        label, *pairs = line.split()
        row = np.full(256, -1.0)
        for pair in pairs:
            index, _, value = pair.partition(":")
            row[int(index) - 1] = float(value)
        labels.append(int(float(label)))
        rows.append(row)
    numbers = np.array(labels)
    return (
        np.stack(rows) + 1
    ) / 2, numbers - 1 if numbers.min() >= 1 and numbers.max() == 10 else numbers


def _read_zip(path: Path) -> Labelled:
    """Lines ``label v v v ...`` of 256 values in [-1, 1]."""
    with _opener(path)(path, "rt", encoding="ascii") as file:
        table = np.loadtxt(file, ndmin=2)
    if table.shape[1] != 257:
        raise ValueError(f"{table.shape[1]} numbers a line instead of 257")
    return (table[:, 1:] + 1) / 2, table[:, 0].astype(int)


def _opener(path: Path) -> Callable[..., Any]:
    """Plain or compressed text."""
    return {".bz2": bz2.open, ".gz": gzip.open}.get(path.suffix, open)


def _first_bytes(path: Path) -> bytes:
    """Enough to tell the forms apart."""
    try:
        with (
            path.open("rb")
            if path.suffix not in (".bz2", ".gz")
            else _opener(path)(path, "rb") as file
        ):
            return bytes(file.read(400))
    except (OSError, EOFError) as error:
        raise FormatError(f"{path} cannot be read ({error}); {ASK}") from error
