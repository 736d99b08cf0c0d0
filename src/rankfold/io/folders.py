"""Folders and globs of pictures."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import FormatError, InputError
from rankfold.io.pictures import ENDINGS, load_picture, picture_header, write_picture
from rankfold.io.source import Array, Picture, Source, natural, or_error, refuse_options


def open_folder(path: str, **options: object) -> Source:
    """Pictures of a folder, or those that a pattern like ``photos/*.jpg`` names, in natural order."""
    refuse_options("a folder of pictures", options)
    folder = Path(path)
    if folder.is_dir():
        files = [
            file for file in folder.iterdir() if file.is_file() and not file.name.startswith(".")
        ]
        what, remedy = "has no pictures", f"put some there ({', '.join(e[1:] for e in ENDINGS)})"
    else:
        pattern = glob.escape(path) if folder.exists() else path
        files = [Path(name) for name in glob.glob(pattern, recursive=True) if Path(name).is_file()]  # noqa: PTH207 (may be absolute)
        what, remedy = "names no pictures", "check the pattern and the folder"
    files.sort(key=lambda file: natural(str(file)))
    wanted = [file for file in files if file.suffix.lower() in ENDINGS]
    left_out = tuple(file.name for file in files if file.suffix.lower() not in ENDINGS)
    if not wanted:
        others = f" (it has {len(left_out)} other files)" if left_out else ""
        raise InputError(f"{path} {what}{others}; {remedy}")
    return _source(path, wanted, left_out)


def _source(path: str, files: list[Path], left_out: tuple[str, ...]) -> Source:
    """Look at the headers; a bad one keeps its place until the pictures are read."""
    headers: list[tuple[tuple[int, ...], np.dtype[Any]] | None] = []
    for file in files:
        try:
            headers.append(picture_header(file))
        except FormatError:
            headers.append(None)
    known = [header for header in headers if header is not None]
    if not known:
        load_picture(files[0])  # says what is wrong with it
        raise FormatError(
            f"none of the {len(files)} files in {path} can be read as a picture; check them"
        )
    shapes = tuple(known[0][0] if header is None else header[0] for header in headers)
    kinds = tuple(known[0][1] if header is None else header[1] for header in headers)

    def iterate() -> Iterator[Picture | FormatError]:
        for file in files:
            yield or_error(lambda: load_picture(file))  # noqa: B023 (called at once)

    return Source(path, "pictures", _names(files), shapes, kinds, iterate, left_out=left_out)


def _names(files: list[Path]) -> tuple[str, ...]:
    """File names; with their folder where two are the same."""
    names = [file.name for file in files]
    return tuple(names) if len(set(names)) == len(names) else tuple(str(file) for file in files)


def write_folder(
    path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source
) -> Path:
    """One file a picture, named and stored like the one it came from."""
    path.mkdir(parents=True, exist_ok=True)
    dtypes = like.dtypes if len(like.dtypes) == len(names) else (like.dtype,) * len(names)
    for name, values, dtype in zip(names, pictures, dtypes, strict=True):
        file = (
            path / Path(name).name
            if len({Path(n).name for n in names}) == len(names)
            else path / flat(name)
        )
        if file.suffix.lower() not in ENDINGS:
            file = file.with_name(f"{file.name}.{'tif' if dtype.kind == 'f' else 'png'}")
        write_picture(file, values, dtype)
    return path


def flat(name: str) -> str:
    """A path as one file name."""
    return "_".join(part for part in Path(name).parts if part not in ("/", "..", "."))
