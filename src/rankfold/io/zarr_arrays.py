"""Arrays (n, height, width[, channels]) in zarr, whose chunks are read when they are needed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import FormatError, InputError
from rankfold.io.arrays import check_stack, of_array, one_of
from rankfold.io.budgets import SMALL_CHUNK, check_chunks
from rankfold.io.file_names import unused
from rankfold.io.guard import reading
from rankfold.io.source import Array, Source, as_portable, refuse_options

# Chunks may be coded by anything that is registered, by pickle as well, which could run code.
CODECS = frozenset(
    {
        "adler32",
        "bitround",
        "blosc",
        "bytes",
        "bz2",
        "crc32",
        "crc32c",
        "delta",
        "fixedscaleoffset",
        "fletcher32",
        "gzip",
        "jenkins_lookup3",
        "lz4",
        "lzma",
        "packbits",
        "quantize",
        "sharding_indexed",
        "shuffle",
        "transpose",
        "zlib",
        "zstd",
    }
)
# What the name of a codec may begin with, where version 3 has one of version 2.
PREFIX = "numcodecs."

# Unit: bytes. Pictures that were decoded together are kept up to here.
MAX_BLOCK = 2**28

# Where the metadata of an array, of version 3 or 2, name codecs.
CODED = ("codecs", "filters", "compressor", "index_codecs")


def open_zarr(path: str, key: str | None = None, **options: object) -> Source:
    """Open a zarr array, or the array ``key`` of a group."""
    refuse_options("a zarr array", options)
    zarr = _zarr()
    with reading(path, "read as zarr", "give the folder that zarr made"):
        found = zarr.open(path, mode="r")
        if isinstance(found, zarr.Group):
            names = sorted(name for name, _ in found.arrays())
            found = found[one_of(path, names, key)]
        _check_codecs(path, found)
        shape = tuple(int(size) for size in found.shape)
        dtype = np.dtype(found.dtype)
        if dtype.hasobject:
            raise ValueError("it holds Python objects")
        check_stack(path, shape, dtype)
        # A shard is read whole, and has many chunks, each of which is decoded by itself.
        parts = getattr(found, "shards", None) or found.chunks
        for piece in {tuple(parts), tuple(found.chunks)}:
            across = zip(shape[1:], piece[1:], strict=True)
            count = math.prod(math.ceil(side / part) for side, part in across)
            check_chunks(path, count, math.prod(piece) * dtype.itemsize, SMALL_CHUNK)
        return of_array(path, "zarr", _InBlocks(found, parts[0]) if parts[0] > 1 else found)


class _InBlocks:
    """An array whose chunks have several pictures each, which are decoded once for all of them.

    Parameters
    ----------
    array : zarr array (n, h, w[, c])
    depth : int
        Pictures a chunk.
    """

    def __init__(self, array: Any, depth: int) -> None:
        self.shape = array.shape
        self.dtype = array.dtype
        self._array = array
        size = math.prod(array.shape[1:]) * np.dtype(array.dtype).itemsize
        # A part of them, where all would take too much memory.
        self._depth = min(depth, max(MAX_BLOCK // size, 1))
        self._first = -1
        self._block: Array = np.empty(0)

    def __getitem__(self, index: int) -> Array:
        """Read one picture, and keep those beside it."""
        first = index - index % self._depth
        if first != self._first:
            self._block = np.asarray(self._array[first : first + self._depth])
            self._first = first
        picture: Array = self._block[index - first].copy()
        return picture


def _check_codecs(path: str, array: Any) -> None:
    """Refuse codecs that are not known to do nothing but code."""
    metadata = json.loads(json.dumps(array.metadata.to_dict(), default=str))
    for name in _codecs_in(metadata):
        if name.removeprefix(PREFIX) not in CODECS:
            raise FormatError(
                f"{path} has chunks with the codec {name!r}, which is not read; write it again "
                f"with one of {', '.join(sorted(CODECS))}"
            )


def _codecs_in(value: Any, is_coded: bool = False) -> Iterator[str]:
    """The names of all codecs in metadata, also of those inside of others."""
    if isinstance(value, list):
        for one in value:
            yield from _codecs_in(one, is_coded)
    elif isinstance(value, dict):
        if is_coded:
            yield str(value.get("name", value.get("id")))
        for key, one in value.items():
            yield from _codecs_in(one, key in CODED)


def write_zarr(path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source) -> Path:
    """Write pictures (h, w[, c]) to a zarr array, one picture a chunk."""
    stored = (as_portable(values, like.dtype) for values in pictures)
    first = next(stored)
    path = unused(path.with_name(path.name + ".zarr"))
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
