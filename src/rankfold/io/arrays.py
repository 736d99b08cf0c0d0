"""Arrays (n, height, width[, channels]) in .npy and .npz files, read a picture at a time."""

from __future__ import annotations

import math
import struct
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from rankfold.arguments import is_real
from rankfold.errors import FormatError, InputError
from rankfold.io.budgets import MAX_BYTES, check_count, check_picture
from rankfold.io.file_names import unused
from rankfold.io.guard import or_error, reading
from rankfold.io.source import Array, Picture, Source, as_type, refuse_options
from rankfold.storage import write_arrays, write_rows

# What a header begins with says how long it is; a third version has names of fields, which
# pictures have not.
HEADERS = {
    (1, 0): (np.lib.format.read_array_header_1_0, struct.Struct("<H")),
    (2, 0): (np.lib.format.read_array_header_2_0, struct.Struct("<I")),
}
# Unit: bytes. One that says what it holds, and nothing else, has about a hundred.
MAX_HEADER = 2**16

# Of the arrays of a file, so many are named.
NAMED = 20


@dataclass(frozen=True)
class _Header:
    """What a .npy file says of its array, and where the values begin."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def size(self) -> int:
        """Bytes of the values."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def picture_size(self) -> int:
        """Bytes of one picture."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize


def open_array(path: str, key: str | None = None, **options: object) -> Source:
    """Open a .npy or .npz file; ``key`` names the array where a file has several."""
    refuse_options("an array file", options)
    with reading(path, "read as an array", "write it again with numpy.save"):
        if not zipfile.is_zipfile(path):
            return _open_rows(path)
        with zipfile.ZipFile(path) as archive:
            return _open_member(path, archive, key)


def _open_rows(path: str) -> Source:
    """Open a .npy file, whose pictures lie one after the other."""
    with Path(path).open("rb") as file:
        header = _header(file)
    check_stack(path, header.shape, header.dtype)
    there = Path(path).stat().st_size - header.start
    if there < header.size:
        raise FormatError(
            f"{path} is cut off: it has {max(there, 0):,} of {header.size:,} bytes of values; "
            "restore it from a copy"
        )
    if header.is_fortran:
        # Its pictures do not lie one after the other, so all of it is read.
        _check_whole(path, header.size, "save it again with numpy.ascontiguousarray")
        return of_array(path, "array", np.load(path, allow_pickle=False))

    def choose(indices: Sequence[int]) -> Iterator[Picture | FormatError]:
        for index in indices:
            yield or_error(_row, path, header, index)

    return numbered(path, "array", header.shape, header.dtype, choose)


def _row(path: str, header: _Header, index: int) -> Picture:
    """Read one picture.

    It is read and not mapped: who reads a mapped file that was cut off meanwhile is killed by the
    system.
    """
    with reading(f"picture {index} of {path}", "read", "restore the file"):
        with Path(path).open("rb") as file:
            if _header(file) != header:
                raise ValueError("the file was replaced meanwhile")
            file.seek(header.start + index * header.picture_size)
            stored = file.read(header.picture_size)
        if len(stored) < header.picture_size:
            raise ValueError("the file was cut off meanwhile")
        return Picture(np.frombuffer(stored, header.dtype).reshape(header.shape[1:]))


def _open_member(path: str, archive: zipfile.ZipFile, key: str | None) -> Source:
    """Open an array of a .npz file, an archive whose members are read whole."""
    names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    chosen = one_of(path, names, key)
    member = archive.getinfo(f"{chosen}.npy")
    _check_whole(path, member.file_size, "save it with numpy.save, which is read piece by piece")
    with archive.open(member) as file:
        header = _header(file)
        check_stack(path, header.shape, header.dtype)
        if header.start + header.size > member.file_size:
            raise FormatError(f"{path} is cut off in {chosen}; restore it from a copy")
        stored = np.frombuffer(file.read(header.size), header.dtype)
        # At its end the archive looks at the checksum.
        file.read(1)
    if header.is_fortran:
        return of_array(path, "array", stored.reshape(header.shape[::-1]).T)
    return of_array(path, "array", stored.reshape(header.shape))


def _header(file: IO[bytes]) -> _Header:
    """Read what stands before the values; pickled objects could run code, so they are refused."""
    version = np.lib.format.read_magic(file)
    if version not in HEADERS:
        raise ValueError(f"it has version {version} of the format")
    read_header, length = HEADERS[version]
    begin = file.tell()
    said = file.read(length.size)
    # NumPy reads as much as the header says that it has, before it looks at anything.
    if len(said) == length.size and length.unpack(said)[0] > MAX_HEADER:
        raise ValueError("its header is too long")
    file.seek(begin)
    shape, is_fortran, dtype = read_header(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    return _Header(shape, is_fortran, dtype, file.tell())


def _check_whole(path: str, size: int, remedy: str) -> None:
    """Refuse an array that would have to be read whole and is too large for that."""
    if size > MAX_BYTES:
        raise FormatError(
            f"{path} has an array of {size:,} bytes that can only be read whole, "
            f"for which {MAX_BYTES / 2**30:.0f} GiB is the limit; {remedy}"
        )


def check_stack(path: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse an array that is no stack of pictures, or one of more than can be."""
    if len(shape) not in (3, 4) or min(shape) < 1:
        raise InputError(
            f"{path} has shape {tuple(shape)}; a stack is (n, height, width[, channels])"
        )
    if not is_real(dtype):
        raise InputError(f"{path} holds values of type {dtype}; pictures are integers or floats")
    check_count(path, shape[0])
    check_picture(path, shape[1], shape[2], math.prod(shape[3:]), dtype.itemsize)


def of_array(path: str, kind: str, array: Any) -> Source:
    """Return the rows of an array (n, h, w[, c]) as pictures."""

    def picture(index: int) -> Picture:
        # A chunk may be damaged.
        with reading(f"picture {index} of {path}", "read", "restore the file"):
            return Picture(np.asarray(array[index]))

    def choose(indices: Sequence[int]) -> Iterator[Picture | FormatError]:
        for index in indices:
            yield or_error(picture, index)

    return numbered(path, kind, array.shape, np.dtype(array.dtype), choose)


def numbered(
    path: str,
    kind: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    choose: Any,
) -> Source:
    """Return pictures without names of their own, all of one shape and type, as a source."""
    count = int(shape[0])
    check_count(path, count)
    stem = Path(path).name.split(".")[0]
    return Source(
        path=path,
        format=kind,
        names=tuple(f"{stem}-{index:04d}" for index in range(count)),
        shapes=(tuple(int(size) for size in shape[1:]),) * count,
        dtypes=(dtype,) * count,
        iterate=lambda: choose(range(count)),
        choose=choose,
    )


def one_of(path: str, names: list[str], key: str | None) -> str:
    """Return the name of the array that the caller means."""
    if key is None and len(names) == 1:
        return names[0]
    if key is not None and key in names:
        return key
    what = f"has no array {key!r}" if key else f"has {len(names)} arrays"
    known = ", ".join(names[:NAMED]) or "there is none"
    more = ", ..." if len(names) > NAMED else ""
    raise InputError(f"{path} {what}; choose one by its key: {known}{more}")


def write_array(
    path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source
) -> Path:
    """Write pictures (h, w[, c]) to a .npy or .npz file, like the one that came in.

    A .npy file takes one picture into memory at a time, a .npz file all of them.
    """
    # A generator: a picture is computed only when it is written.
    stored = (as_type(values, like.dtype) for values in pictures)
    if like.path.lower().endswith(".npz"):
        path = unused(path.with_name(path.name + ".npz"))
        write_arrays(path, {"pictures": np.stack(list(stored))})
        return path
    path = unused(path.with_name(path.name + ".npy"))
    # The first picture tells the shape and type of the file.
    first = next(stored)
    shape = (len(names), *first.shape)
    write_rows(path, shape, first.dtype, chain([first], stored))
    return path
