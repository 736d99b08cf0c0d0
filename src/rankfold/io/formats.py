"""The FORMATS table: where pictures come from and go to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rankfold.errors import InputError
from rankfold.io.arrays import open_array, open_zarr, write_array, write_zarr
from rankfold.io.folders import open_folder, write_folder
from rankfold.io.source import Array, Source, unit_of
from rankfold.io.tiff import open_tiff, write_tiff
from rankfold.io.video import ENDINGS as VIDEO
from rankfold.io.video import open_video, write_video


@dataclass(frozen=True)
class Format:
    """A row of FORMATS."""

    name: str
    summary: str
    matches: Callable[[Path], bool]
    open: Callable[..., Source]
    write: Callable[[Path, tuple[str, ...], Iterable[Array], Source], Path]


def _ends(*endings: str) -> Callable[[Path], bool]:
    return lambda path: path.is_file() and path.name.lower().endswith(endings)


def _is_zarr(path: Path) -> bool:
    return path.suffix == ".zarr" or any(
        (path / name).is_file() for name in ("zarr.json", ".zarray", ".zgroup")
    )


# The first row that matches a path opens it; a folder of pictures, or a pattern, is what is left.
FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format("zarr", "a zarr array, or one of a group", _is_zarr, open_zarr, write_zarr),
        Format("tiff", "a multi-page or OME TIFF", _ends(".tif", ".tiff"), open_tiff, write_tiff),
        Format(
            "video", "mp4, avi, mov, mkv, webm, gif, ...", _ends(*VIDEO), open_video, write_video
        ),
        Format("array", "a .npy or .npz file", _ends(".npy", ".npz"), open_array, write_array),
        Format(
            "pictures", "a folder or pattern of pictures", lambda _: True, open_folder, write_folder
        ),
    )
}


def open_pictures(
    path: str | Path,
    *,
    frames: str | None = None,
    stride: int = 1,
    select: tuple[str, ...] = (),
    key: str | None = None,
) -> Source:
    """Look at pictures on disk without reading them.

    Parameters
    ----------
    path : str or Path
        A folder, a pattern like ``photos/*.jpg``, a multi-page TIFF, a video, a .npy or .npz file, a zarr folder.
    frames, stride
        For a video: "100:300", and every so many of them.
    select
        For a TIFF with named axes: ("C=0", "Z=3").
    key
        For .npz files and zarr groups: the name of the array.

    Returns
    -------
    Source
    """
    text, place = str(path), Path(path)
    if not any(sign in text for sign in "*?[") and not place.exists():
        raise InputError(
            f"{text} does not exist; give a folder, a pattern, a TIFF, a video or an array file"
        )
    chosen = (
        next(row for row in FORMATS.values() if row.matches(place))
        if place.exists()
        else FORMATS["pictures"]
    )
    given = {"frames": frames, "stride": stride, "select": select, "key": key}
    return chosen.open(
        text, **{name: value for name, value in given.items() if value not in (None, (), 1)}
    )


def write_pictures(
    path: str | Path,
    names: tuple[str, ...],
    pictures: Iterable[Array],
    like: Source,
    format: str | None = None,
) -> Path:
    """Write pictures the way ``like`` was stored, or in another row of FORMATS; returns the file or folder.

    ``path`` has no ending: the format adds its own.
    """
    chosen = format or like.format
    if chosen not in FORMATS:
        raise InputError(f"unknown format {chosen!r}; choose one of {', '.join(FORMATS)}")
    if chosen != "pictures" and len(set(like.dtypes)) > 1:  # one file has one unit
        top = unit_of(like.dtype)
        pictures = (p * (top / unit_of(d)) for p, d in zip(pictures, like.dtypes, strict=True))
    return FORMATS[chosen].write(Path(path), names, pictures, like)
