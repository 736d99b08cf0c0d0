"""What does not belong in the pictures of a run, or in a video, in a folder of masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import InputError
from rankfold.io import FORMATS, Source, write_picture, write_pictures
from rankfold.moving import foreground
from rankfold.outputs import Foreground
from rankfold.result import Decomposition, load
from rankfold.runs.apart import check_apart
from rankfold.runs.display import Array
from rankfold.runs.feeding import feeding
from rankfold.runs.made import BLACK, WHITE, Made, plain_names, stepping
from rankfold.runs.watch import Unwatched, Watch
from rankfold.storage import whole_or_nothing


def mask_run(
    source: Source,
    folder: str | Path,
    *,
    run: str | Path | None = None,
    camera: str = "auto",
    background: bool = True,
    format: str | None = None,
    overwrite: bool = False,
    watch: Watch | None = None,
    **options: Any,
) -> Made:
    """Say of every pixel of pictures or frames whether it belongs, and write masks.

    Parameters
    ----------
    source : Source
        The originals, or the frames of a video.
    folder : str or Path
        A new folder: ``masks``, ``background``, ``not_judged``, ``noise.tif``, ``canvas.png``.
    run : str or Path, optional
        The folder of an alignment or decomposition of the pictures. Without it, the background is
        found from the frames themselves.
    camera : {"auto", "still", "moving"}
        As in :func:`rankfold.foreground`; without a run.
    background : bool
        Whether to write what is behind every picture.
    format : str, optional
        "pictures" or "video" for masks and backgrounds; as the frames came by default.
    overwrite : bool
        Whether a folder that rankfold wrote earlier is replaced.
    watch : Watch, optional
        Follows the work.
    **options
        Further arguments of :func:`rankfold.foreground` or :meth:`rankfold.Alignment.mask`.
    """
    check_apart(folder, source, run)
    watching = watch or Unwatched()
    if run is not None and camera != "auto":
        raise InputError(
            f"camera={camera!r} has no effect on a run, which knows where its pictures are; "
            "leave it out"
        )
    if format not in (None, *FORMATS):
        raise InputError(f"unknown format {format!r}; choose one of {', '.join(FORMATS)}")
    with whole_or_nothing(folder, overwrite) as draft:
        found = _found(source, run, camera, watching, options)
        watching.say("writing masks", len(source))
        figures = _write_masks(draft, found, source, format, background, watching)
        noise = np.nan_to_num(found.noise)
        write_picture(draft / "noise.tif", noise, np.float32)
        canvas = found.canvas.astype(np.float64)
        canvas[~found.seen] = np.nan
        write_picture(draft / "canvas.png", canvas, source.dtype)
    return Made(Path(folder), found.sentence, figures)


def _found(
    source: Source,
    run: str | Path | None,
    camera: str,
    watch: Watch,
    options: dict[str, Any],
) -> Foreground:
    """What does not belong, by a run or by the frames themselves."""
    progress = stepping(watch, "finding the background")
    if run is None:
        matching = stepping_by_name(watch)
        return foreground(source, camera=camera, matching=matching, progress=progress, **options)
    result = load(run)
    if isinstance(result, Decomposition):
        _check_as_they_lie(result, source, run)
        return foreground(source, camera="still", progress=progress, **options)
    return result.mask(source, progress=progress, **options)


def _check_as_they_lie(result: Decomposition, source: Source, run: str | Path) -> None:
    """Refuse pictures that are not those of a decomposition."""
    if len(source) != len(result.low_rank):
        raise InputError(
            f"{source.path} has {len(source)} pictures, {run} {len(result.low_rank)}; "
            "they must agree"
        )


def _write_masks(
    folder: Path,
    found: Foreground,
    source: Source,
    format: str | None,
    background: bool,
    watch: Watch,
) -> dict[str, Any]:
    """Write masks and backgrounds in one pass; return what there is to say in numbers."""
    names = plain_names(source)
    chosen = format or ("video" if source.format == "video" else "pictures")
    # As what could not be judged, so that each of both is found by the name of the other.
    files = tuple(f"{name}.png" for name in names)
    like_masks = mask_source(source, files)

    def write_to(
        part: str, called: tuple[str, ...], like: Source, pictures: Iterator[Array]
    ) -> None:
        write_pictures(folder / part, called, pictures, like, chosen)

    writers = [partial(write_to, "masks", files, like_masks)]
    if background:
        writers.append(partial(write_to, "background", source.names, source))
    in_front = 0
    judged = 0
    pixels = 0
    with feeding(writers) as feeds:
        for name, one in zip(files, found, strict=True):
            levels = np.where(one.mask, WHITE, BLACK).astype(np.float64)
            feeds.put([levels, one.background.astype(np.float64)][: len(writers)])
            in_front += int(one.mask.sum())
            judged += int(one.judged.sum())
            pixels += one.mask.size
            if not one.judged.all():
                blind = np.where(one.judged, BLACK, WHITE).astype(np.uint8)
                file = folder / "not_judged" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                write_picture(file, blind)
            watch.advance()
    if feeds.reasons:
        raise InputError(feeds.reasons[0])
    return {
        "images": len(source),
        "in_front_share": in_front / max(judged, 1),
        "judged_share": judged / max(pixels, 1),
    }


def mask_source(source: Source, names: tuple[str, ...]) -> Source:
    """What masks are written like: the pictures, in grey and bytes, with other names."""
    count = len(source)
    return replace(source, names=names, dtypes=(np.dtype(np.uint8),) * count, files=())


def stepping_by_name(watch: Watch) -> Callable[[str, int, int], None]:
    """Return what tells a watch how far the matching is."""

    def step(what: str, done: int, total: int) -> None:
        if done == 1:
            watch.say(f"matching, {what}", total)
        watch.advance()

    return step
