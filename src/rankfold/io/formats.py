"""The FORMATS table: where pictures come from and go to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankfold.arguments import path_of, whole
from rankfold.errors import InputError
from rankfold.io.arrays import open_array, write_array
from rankfold.io.folders import open_folder, write_folder
from rankfold.io.isolated import decoder_for, is_foreign, open_isolated
from rankfold.io.ranges import in_range
from rankfold.io.source import Array, Source, unit_of
from rankfold.io.tiff_stack import open_tiff, write_tiff
from rankfold.io.video import ENDINGS as VIDEO
from rankfold.io.video import open_video, write_video
from rankfold.io.zarr_arrays import open_zarr, write_zarr


@dataclass(frozen=True)
class Format:
    """A row of FORMATS.

    Parameters
    ----------
    name : str
        The key of the row.
    summary : str
        What it is, for help and tables.
    matches : function of a Path
        Whether this row reads that file or folder.
    open : function of a path and options
        Looks at the pictures without reading them.
    write : function of a path, names, pictures and a Source
        Writes pictures the way the Source was stored, and returns where.
    apart : bool
        Whether it is decoded in a process of its own unless the caller says otherwise, whoever
        the file belongs to: because its library sets no limits that can be set for it here.
    """

    name: str
    summary: str
    matches: Callable[[Path], bool]
    open: Callable[..., Source]
    write: Callable[[Path, tuple[str, ...], Iterable[Array], Source], Path]
    apart: bool = False


def _ends(*endings: str) -> Callable[[Path], bool]:
    """Return a test for files whose names end in one of ``endings``."""
    return lambda path: path.is_file() and path.name.lower().endswith(endings)


def _is_zarr(path: Path) -> bool:
    """Tell whether a folder was made by zarr, of version 2 or 3."""
    if path.suffix == ".zarr":
        return True
    return any((path / name).is_file() for name in ("zarr.json", ".zarray", ".zgroup"))


# The first row that matches a path opens it.
# What no other row matches is taken for a folder or a pattern, so that row stands last.
_ROWS = (
    Format(
        name="zarr",
        summary="a zarr array, or one of a group",
        matches=_is_zarr,
        open=open_zarr,
        write=write_zarr,
        # A chunk is decoded to whatever is in it, and may be a pipe that never ends.
        apart=True,
    ),
    Format(
        name="tiff",
        summary="a multi-page or OME TIFF",
        matches=_ends(".tif", ".tiff"),
        open=open_tiff,
        write=write_tiff,
    ),
    Format(
        name="video",
        summary="mp4, avi, mov, mkv, webm, gif, ...",
        matches=_ends(*VIDEO),
        open=open_video,
        write=write_video,
    ),
    Format(
        name="array",
        summary="a .npy or .npz file",
        matches=_ends(".npy", ".npz"),
        open=open_array,
        write=write_array,
    ),
    Format(
        name="pictures",
        summary="a folder or pattern of pictures",
        matches=lambda _: True,
        open=open_folder,
        write=write_folder,
    ),
)
FORMATS: dict[str, Format] = {row.name: row for row in _ROWS}
"""What pictures can be read from and written to: a row with a ``summary`` by its name."""


def open_pictures(
    path: str | Path,
    *,
    frames: str | None = None,
    stride: int = 1,
    select: tuple[str, ...] = (),
    key: str | None = None,
    isolate: bool | None = None,
) -> Source:
    """Look at pictures on disk without reading them.

    Parameters
    ----------
    path : str or Path
        A folder, a pattern like ``photos/*.jpg``, a multi-page TIFF, a video, a .npy or .npz
        file, or a zarr folder.
    frames : str, optional
        Which pictures, as in "100:300"; the last one is excluded.
    stride : int
        Take every so many of them.
    select : tuple of str
        For a TIFF with named axes: ("C=0", "Z=3").
    key : str, optional
        For .npz files and zarr groups: the name of the array.
    isolate : bool, optional
        Decode in a process of its own, with limits on memory and time, so that a file that makes
        a decoder crash or hang costs that file alone. If left out, that is done for files and
        folders that belong to somebody else, and for zarr.

    Returns
    -------
    Source

    Raises
    ------
    InputError
        There is nothing at ``path``, or an option has no meaning for what is there.
    FormatError
        The file cannot be read.
    """
    text = path_of("path", path)
    place = Path(text)
    whole("stride", stride, least=1)
    is_pattern = any(sign in text for sign in "*?[")
    if not is_pattern and not place.exists():
        raise InputError(
            f"{text} does not exist; give a folder, a pattern, a TIFF, a video or an array file"
        )
    # A pattern that is no file itself is for the folders.
    chosen = FORMATS["pictures"]
    if place.exists():
        chosen = next(row for row in FORMATS.values() if row.matches(place))
    options = {"frames": frames, "stride": stride, "select": select, "key": key}
    # Only what the caller changed is passed on, so that a format can refuse what it does not know.
    changed = {name: value for name, value in options.items() if value not in (None, (), 1)}
    known = dict(changed)
    if chosen.name != "video":
        # A video decodes no more than it has to; of all others, pictures are chosen afterwards.
        known = {name: value for name, value in changed.items() if name not in ("frames", "stride")}
    apart = isolate
    if apart is None:
        apart = chosen.apart or is_foreign(text)
    if chosen.name == "pictures":
        source = chosen.open(text, decoder=decoder_for(apart), **known)
    elif apart:
        source = open_isolated(text, **known)
    else:
        source = chosen.open(text, **known)
    if known != changed:
        source = in_range(source, frames, stride)
    if isolate is not None:
        changed["isolate"] = isolate
    return replace(source, opened_with=changed)


def reopen(path: str | Path, opened_with: Mapping[str, Any]) -> Source:
    """Open pictures once more as they were opened before.

    Parameters
    ----------
    path : str or Path
    opened_with : mapping
        As :attr:`Source.opened_with` has it; JSON may have turned its tuples into lists.

    Returns
    -------
    Source
    """
    options = dict(opened_with)
    grey = bool(options.pop("grey", False))
    if "select" in options:
        options["select"] = tuple(options["select"])
    source = open_pictures(path, **options)
    return source.in_grey() if grey else source


def write_pictures(
    path: str | Path,
    names: tuple[str, ...],
    pictures: Iterable[Array],
    like: Source,
    format: str | None = None,
) -> Path:
    """Write pictures the way ``like`` was stored, or in another format.

    Parameters
    ----------
    path : str or Path
        Where to write, without an ending: the format adds its own. Nothing may be there.
    names : n strings
        What the pictures are called.
    pictures : n arrays (h, w) or (h, w, c)
        In the units of ``like``; NaN is missing. One is taken at a time.
    like : Source
        Where the pictures came from.
    format : str, optional
        A row of FORMATS; that of ``like`` unless given.

    Returns
    -------
    Path
        The file or folder that was written.
    """
    chosen = format or like.format
    if chosen not in FORMATS:
        raise InputError(f"unknown format {chosen!r}; choose one of {', '.join(FORMATS)}")
    if chosen != "pictures" and len(set(like.dtypes)) > 1:
        # One file has one type, so pictures of several types are brought to one unit.
        # like.dtype is the one type that holds all of them.
        top = unit_of(like.dtype)
        typed = zip(pictures, like.dtypes, strict=True)
        pictures = (values * (top / unit_of(dtype)) for values, dtype in typed)
    return FORMATS[chosen].write(Path(path), names, pictures, like)
