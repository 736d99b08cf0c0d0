"""Where large arrays are kept: in memory, or in files that are mapped into it.

Whoever passes over an array of a store says which parts come next and which are done with. For
arrays in memory that means nothing. Of arrays on disk the parts that come next are read ahead, and
those that are done with no longer count as memory of the process. The values are the same either
way, to the last bit.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rankfold.errors import WriteError

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

# Unit: bytes. An array below this is kept in memory: a file would cost more than it saves.
WORTH_A_FILE = 2**20

# Unit: bytes. Rows of large arrays are taken together until they have about so many.
CHUNK = 2**22


class Store(Protocol):
    """Gives room for large arrays."""

    def zeros(self, shape: Shape, dtype: npt.DTypeLike) -> Array:
        """Return a new array of zeros."""
        ...

    def pieces(self, shapes: Sequence[Shape], dtype: npt.DTypeLike) -> list[Array]:
        """Return new arrays of zeros that are used one after the other."""
        ...

    def soon(self, *arrays: Array) -> None:
        """Take notice that arrays, or parts of them, are needed next."""
        ...

    def done(self, *arrays: Array) -> None:
        """Take notice that arrays, or parts of them, are not needed for a while."""
        ...


class Memory:
    """Arrays in memory."""

    def zeros(self, shape: Shape, dtype: npt.DTypeLike) -> Array:
        """Return a new array of zeros."""
        return np.zeros(shape, dtype)

    def pieces(self, shapes: Sequence[Shape], dtype: npt.DTypeLike) -> list[Array]:
        """Return new arrays of zeros, each in memory of its own."""
        # Large pieces come in large pages, and to touch a new page for the first time takes as
        # long as to fill it.
        return [np.zeros(shape, dtype) for shape in shapes]

    def soon(self, *arrays: Array) -> None:
        """Do nothing: they are there."""

    def done(self, *arrays: Array) -> None:
        """Do nothing: they stay."""


class Room(mmap.mmap):
    """A mapped file that a store made; only of these anything is ever let go."""


class Disk:
    """Arrays in files of a scratch folder.

    The files have no names, so that nothing is left behind however the process ends. Their room is
    set aside at once: a disk that is full is told of before anything is computed, not in its
    middle.

    Parameters
    ----------
    folder : str or Path, optional
        Where the files are; the system's folder for temporary files by default.
    spare : float
        Unit: bytes. Of pieces that are used one after the other, as many stay in memory.
    """

    def __init__(self, folder: str | Path | None = None, spare: float = 0) -> None:
        self.folder = Path(tempfile.gettempdir() if folder is None else folder)
        self._spare = spare

    def zeros(self, shape: Shape, dtype: npt.DTypeLike) -> Array:
        """Return a new array of zeros, in a file if it is large."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if size < WORTH_A_FILE:
            return np.zeros(shape, dtype)
        return np.ndarray(shape, dtype, buffer=self._map(size))

    def pieces(self, shapes: Sequence[Shape], dtype: npt.DTypeLike) -> list[Array]:
        """Return new arrays of zeros: the first in memory, the others in one file."""
        # Whoever passes over all of them again and again reads those on disk every time. So it is
        # best that the same ones stay.
        kept: list[Array] = []
        for shape in shapes:
            array = self._in_memory(shape, dtype)
            if array is None:
                break
            kept.append(array)
        return kept + self._in_one_file(shapes[len(kept) :], dtype)

    def _in_memory(self, shape: Shape, dtype: npt.DTypeLike) -> Array | None:
        """Return a new array of zeros in memory; None where there is no room for it."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if size > self._spare:
            return None
        self._spare -= size
        array = np.zeros(shape, dtype)
        weakref.finalize(array, self._give_back, size)
        return array

    def _give_back(self, size: int) -> None:
        """Take notice that an array in memory is gone."""
        self._spare += size

    def _in_one_file(self, shapes: Sequence[Shape], dtype: npt.DTypeLike) -> list[Array]:
        """Return new arrays of zeros in one file, each from the start of a page on."""
        itemsize = np.dtype(dtype).itemsize
        starts = [0]
        for shape in shapes:
            end = starts[-1] + int(np.prod(shape)) * itemsize
            starts.append(-(-end // mmap.PAGESIZE) * mmap.PAGESIZE)
        if starts[-1] < WORTH_A_FILE:
            return [np.zeros(shape, dtype) for shape in shapes]
        room = self._map(starts[-1])
        return [
            np.ndarray(shape, dtype, buffer=room, offset=start)
            for shape, start in zip(shapes, starts[:-1], strict=True)
        ]

    def soon(self, *arrays: Array) -> None:
        """Let the system read arrays ahead."""
        _advise(arrays, "MADV_WILLNEED")

    def done(self, *arrays: Array) -> None:
        """Take arrays out of the memory of the process; the system writes them when it likes."""
        _advise(arrays, "MADV_DONTNEED")

    def _map(self, size: int) -> Room:
        """Map a new file of so many bytes without a name."""
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                # A file with holes would be refused its room only when it is written to, and
                # then the system ends the process.
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                return Room(file.fileno(), size)
        except OSError as error:
            raise WriteError(
                f"the scratch folder {self.folder} has no room for {size / 2**30:.2f} GiB "
                f"({error.strerror}); make room there, or name another folder with scratch="
            ) from error


def chunks(array: Array) -> Iterator[slice]:
    """Give slices of some rows of an array, a few megabytes of it at a time."""
    size = array.nbytes // max(len(array), 1)
    together = max(CHUNK // max(size, 1), 1)
    for first in range(0, len(array), together):
        yield slice(first, min(first + together, len(array)))


def streamed(array: Array) -> Iterator[Array]:
    """Give the rows of an array one after the other; those on disk do not stay in memory."""
    for rows in chunks(array):
        yield from array[rows]
        _advise([array[rows]], "MADV_DONTNEED")


def _advise(arrays: Sequence[Array], advice: str) -> None:
    """Tell the system about the whole pages of arrays that lie in mapped files."""
    if not hasattr(mmap, advice):
        # Windows, which has no such call: the system decides by itself.
        return
    for array in arrays:
        room = _room_of(array)
        if room is None or array.size == 0:
            continue
        first = array.__array_interface__["data"][0]
        reach = sum(
            (size - 1) * abs(step) for size, step in zip(array.shape, array.strides, strict=True)
        )
        last = first + reach + array.itemsize
        origin = np.frombuffer(room, np.uint8).__array_interface__["data"][0]
        # From the first page to the last one that the array touches. Pages that it shares with a
        # neighbour are only read again.
        start = (first - origin) // mmap.PAGESIZE * mmap.PAGESIZE
        room.madvise(getattr(mmap, advice), start, last - origin - start)


def _room_of(array: Array) -> Room | None:
    """Return the file of a store in which an array or a view of one lies; None if in none."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, memoryview):
        owner = owner.obj
    return owner if isinstance(owner, Room) else None


def is_mapped(array: Array) -> bool:
    """Say whether an array lies in a file of a store."""
    return _room_of(array) is not None


MEMORY = Memory()


def store_of(executor: object) -> Store:
    """Return the store that an executor brings with it; memory if it brings none."""
    store: Store = getattr(executor, "store", MEMORY)
    return store
