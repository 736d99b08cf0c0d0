"""Arrays (n, height, width[, channels]) in .npy, .npz and zarr, read a picture at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import FormatError, InputError
from rankfold.io.source import Array, Picture, Source, as_type, or_error, reading, refuse_options


def open_array(path: str, key: str | None = None, **options: object) -> Source:
    """Pictures of a .npy or .npz file; ``key`` names the array where a file has several."""
    refuse_options("an array file", options)
    with reading(path, "read as an array", "write it again with numpy.save"):
        stored: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    if isinstance(stored, np.ndarray):
        return _source(path, "array", stored)
    with stored:
        return _source(path, "array", stored[_one_of(path, list(stored.files), key)])


def open_zarr(path: str, key: str | None = None, **options: object) -> Source:
    """Pictures of a zarr array, or of the array ``key`` of a group; chunks are read as they are needed."""
    refuse_options("a zarr array", options)
    zarr = _zarr()
    with reading(path, "read as zarr", "give the folder that zarr made"):
        found = zarr.open(path, mode="r")
    if isinstance(found, zarr.Group):
        found = found[_one_of(path, sorted(name for name, _ in found.arrays()), key)]
    return _source(path, "zarr", found)


def _source(path: str, kind: str, array: Any) -> Source:
    """The rows of an array as pictures."""
    if array.ndim not in (3, 4) or 0 in array.shape:
        raise InputError(
            f"{path} has shape {tuple(array.shape)}; a stack is (n, height, width[, channels])"
        )

    def iterate() -> Iterator[Picture | FormatError]:
        for index in range(array.shape[0]):
            yield or_error(lambda: _picture(path, array, index))  # noqa: B023 (called at once)

    stem = Path(path).name.split(".")[0]
    names = tuple(f"{stem}-{index:04d}" for index in range(array.shape[0]))
    shape = tuple(int(size) for size in array.shape[1:])
    return Source(
        path, kind, names, (shape,) * len(names), (np.dtype(array.dtype),) * len(names), iterate
    )


def _picture(path: str, array: Any, index: int) -> Picture:
    """One row; a chunk of it may be damaged."""
    with reading(f"picture {index} of {path}", "read", "restore the file"):
        return Picture(np.asarray(array[index]))


def _one_of(path: str, names: list[str], key: str | None) -> str:
    """The array that is meant."""
    if key is None and len(names) == 1:
        return names[0]
    if key not in names:
        what = f"has no array {key!r}" if key else f"has {len(names)} arrays"
        raise InputError(
            f"{path} {what}; choose one with --key: {', '.join(names) or 'there is none'}"
        )
    assert key is not None
    return key


def write_array(
    path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source
) -> Path:
    """A .npy or .npz file, like the one that came in; one picture in memory at a time for .npy."""
    stored = (as_type(values, like.dtype) for values in pictures)
    first = next(stored)
    npz = like.path.lower().endswith(".npz")
    path = path.with_name(path.name + (".npz" if npz else ".npy"))
    if npz:
        np.savez_compressed(path, pictures=np.stack([first, *stored]))
        return path
    out: Any = np.lib.format.open_memmap(
        path, mode="w+", dtype=first.dtype, shape=(len(names), *first.shape)
    )
    for index, values in enumerate(v for part in ([first], stored) for v in part):
        out[index] = values
    out.flush()
    return path


def write_zarr(path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source) -> Path:
    """A zarr array, one picture a chunk."""
    stored = (as_type(values, like.dtype) for values in pictures)
    first = next(stored)
    path = path.with_name(path.name + ".zarr")
    shape = (len(names), *first.shape)
    out = _zarr().create_array(str(path), shape=shape, chunks=(1, *first.shape), dtype=first.dtype)
    for index, values in enumerate(v for part in ([first], stored) for v in part):
        out[index] = values
    return path


def _zarr() -> Any:
    """The package, or what to do without."""
    try:
        import zarr
    except ImportError as error:
        raise InputError("zarr is not installed; run `pip install rankfold[scale]`") from error
    return zarr
