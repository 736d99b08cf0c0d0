"""Folders of pictures, and patterns like ``photos/*.jpg``."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import FormatError, InputError
from rankfold.io.decoding import HERE, Decoder
from rankfold.io.encoding import write_picture
from rankfold.io.file_names import distinct, unused
from rankfold.io.guard import or_error
from rankfold.io.pictures import ENDINGS
from rankfold.io.source import Array, Picture, Source, natural, refuse_options


def open_folder(path: str, decoder: Decoder = HERE, **options: object) -> Source:
    """Open the pictures of a folder, or those that a pattern names, in natural order."""
    refuse_options("a folder of pictures", options)
    folder = Path(path)
    if folder.is_dir():
        files = [file for file in folder.iterdir() if file.is_file()]
        # Hidden files are those of the system, like ._a.png on some drives.
        files = [file for file in files if not file.name.startswith(".")]
        complaint = "has no pictures"
        remedy = f"put some there ({', '.join(ending[1:] for ending in ENDINGS)})"
    else:
        # A file that exists is meant as it is written, also where its name has brackets.
        pattern = glob.escape(path) if folder.exists() else path
        # Path.glob takes no absolute patterns.
        found = glob.glob(pattern, recursive=True)  # noqa: PTH207
        files = [Path(name) for name in found if Path(name).is_file()]
        complaint = "names no pictures"
        remedy = "check the pattern and the folder"
    files.sort(key=lambda file: natural(str(file)))
    wanted = [file for file in files if file.suffix.lower() in ENDINGS]
    left_out = tuple(file.name for file in files if file.suffix.lower() not in ENDINGS)
    if not wanted:
        others = f" (it has {len(left_out)} other files)" if left_out else ""
        raise InputError(f"{path} {complaint}{others}; {remedy}")
    return _source(path, wanted, left_out, decoder)


def _source(path: str, files: list[Path], left_out: tuple[str, ...], decoder: Decoder) -> Source:
    """Look at the headers; a bad file keeps its place until the pictures are read."""
    headers = [or_error(decoder.header, file) for file in files]
    known = [header for header in headers if not isinstance(header, FormatError)]
    if not known:
        raise next(header for header in headers if isinstance(header, FormatError))
    # A bad file counts as one more picture like the first good one.
    complete = [known[0] if isinstance(header, FormatError) else header for header in headers]

    def read(k: int) -> Picture:
        header = headers[k]
        if isinstance(header, FormatError):
            raise header
        return decoder.load(files[k]).as_said(files[k], *header)

    def choose(indices: Sequence[int]) -> Iterator[Picture | FormatError]:
        for k in indices:
            yield or_error(read, k)

    return Source(
        path=path,
        format="pictures",
        names=_names(files),
        shapes=tuple(shape for shape, _ in complete),
        dtypes=tuple(dtype for _, dtype in complete),
        iterate=lambda: choose(range(len(files))),
        left_out=left_out,
        choose=choose,
        files=tuple(files),
        describe=decoder.metadata,
    )


def _names(files: list[Path]) -> tuple[str, ...]:
    """Return the names of the files, with their folders where two files have the same name."""
    names = tuple(file.name for file in files)
    if len(set(names)) == len(names):
        return names
    # From the folder that all have in common, so that they are the same from everywhere.
    common = os.path.commonpath(files)
    return tuple(os.path.relpath(file, common) for file in files)


def picture_files(names: tuple[str, ...], like: Source) -> list[str]:
    """Say in which files of a folder pictures of these names will be, or why in none."""
    # PNG holds no floats.
    ending = ["tif" if dtype.kind == "f" else "png" for dtype in _dtypes(names, like)]
    return distinct(names, ENDINGS, ending)


def _dtypes(names: tuple[str, ...], like: Source) -> tuple[np.dtype[Any], ...]:
    """The type of each picture; a source of another length says nothing about single ones."""
    return like.dtypes if len(like.dtypes) == len(names) else (like.dtype,) * len(names)


def write_folder(
    path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source
) -> Path:
    """Write one file a picture (h, w[, c]), named and stored like the one it came from."""
    unused(path).mkdir(parents=True)
    files = picture_files(names, like)
    for file_name, values, dtype in zip(files, pictures, _dtypes(names, like), strict=True):
        file = path / file_name
        file.parent.mkdir(parents=True, exist_ok=True)
        write_picture(file, values, dtype)
    return path
