"""Arrays (n, height, width[, channels]) in .npy, .npz and zarr, read a picture at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import FormatError, InputError
from rankfold.io.source import Array, Picture, Source, as_type, or_error, reading, refuse_options


def open_array(path: str, key: str | None = None, **options: object) -> Source:
    """Open a .npy or .npz file; ``key`` names the array where a file has several."""
    refuse_options("an array file", options)
    with reading(path, "read as an array", "write it again with numpy.save"):
        # A .npy file is mapped, not read. Pickled objects could run code, so they are refused.
        stored: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    if isinstance(stored, np.ndarray):
        return _source(path, "array", stored)
    # A .npz file is an archive, whose members are read whole.
    with stored:
        chosen = _one_of(path, list(stored.files), key)
        return _source(path, "array", stored[chosen])


def open_zarr(path: str, key: str | None = None, **options: object) -> Source:
    """Open a zarr array, or the array ``key`` of a group; chunks are read when they are needed."""
    refuse_options("a zarr array", options)
    zarr = _zarr()
    with reading(path, "read as zarr", "give the folder that zarr made"):
        found = zarr.open(path, mode="r")
    if isinstance(found, zarr.Group):
        names = sorted(name for name, _ in found.arrays())
        found = found[_one_of(path, names, key)]
    return _source(path, "zarr", found)


def _source(path: str, kind: str, array: Any) -> Source:
    """Return the rows of an array (n, h, w[, c]) as pictures."""
    if array.ndim not in (3, 4) or 0 in array.shape:
        raise InputError(
            f"{path} has shape {tuple(array.shape)}; a stack is (n, height, width[, channels])"
        )
    count = array.shape[0]

    def choose(indices: Sequence[int]) -> Iterator[Picture | FormatError]:
        for index in indices:
            yield or_error(_picture, path, array, index)

    stem = Path(path).name.split(".")[0]
    shape = tuple(int(size) for size in array.shape[1:])
    return Source(
        path=path,
        format=kind,
        names=tuple(f"{stem}-{index:04d}" for index in range(count)),
        shapes=(shape,) * count,
        dtypes=(np.dtype(array.dtype),) * count,
        iterate=lambda: choose(range(count)),
        choose=choose,
    )


def _picture(path: str, array: Any, index: int) -> Picture:
    """Read one row of an array (n, h, w[, c]), of which a chunk may be damaged."""
    with reading(f"picture {index} of {path}", "read", "restore the file"):
        return Picture(np.asarray(array[index]))


def _one_of(path: str, names: list[str], key: str | None) -> str:
    """Return the name of the array that the caller means."""
    if key is None and len(names) == 1:
        return names[0]
    if key is not None and key in names:
        return key
    what = f"has no array {key!r}" if key else f"has {len(names)} arrays"
    known = ", ".join(names) or "there is none"
    raise InputError(f"{path} {what}; choose one by its key: {known}")


def write_array(
    path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source
) -> Path:
    """Write pictures (h, w[, c]) to a .npy or .npz file, like the one that came in.

    A .npy file takes one picture into memory at a time, a .npz file all of them.
    """
    # A generator: a picture is computed only when it is written.
    stored = (as_type(values, like.dtype) for values in pictures)
    if like.path.lower().endswith(".npz"):
        path = path.with_name(path.name + ".npz")
        np.savez_compressed(path, pictures=np.stack(list(stored)))
        return path
    path = path.with_name(path.name + ".npy")
    # The first picture tells the shape and type of the file.
    first = next(stored)
    shape = (len(names), *first.shape)
    out: Any = np.lib.format.open_memmap(path, mode="w+", dtype=first.dtype, shape=shape)
    for index, values in enumerate(chain([first], stored)):
        out[index] = values
    out.flush()
    return path


def write_zarr(path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source) -> Path:
    """Write pictures (h, w[, c]) to a zarr array, one picture a chunk."""
    stored = (as_type(values, like.dtype) for values in pictures)
    first = next(stored)
    path = path.with_name(path.name + ".zarr")
    out = _zarr().create_array(
        str(path),
        shape=(len(names), *first.shape),
        # A picture can be read later without its neighbours.
        chunks=(1, *first.shape),
        dtype=first.dtype,
    )
    for index, values in enumerate(chain([first], stored)):
        out[index] = values
    return path


def _zarr() -> Any:
    """Import zarr, or say how to get it."""
    try:
        import zarr
    except ImportError as error:
        raise InputError("zarr is not installed; run `pip install rankfold[scale]`") from error
    return zarr
