"""TIFF: one picture from one file, and stacks in one file, multi-page or OME with named axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import FormatError, InputError
from rankfold.io.source import Array, Picture, Source, as_type, or_error, reading, refuse_options

PICTURE_AXES = "YXSC"  # rows, columns, samples, channels; every other axis counts pictures
ALPHA = (1, 2)  # extra samples that are transparency; others are channels
WHITE_IS_ZERO, PALETTE, CMYK = 0, 3, 5


def tiff_header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type that :func:`read_tiff` will give."""
    import tifffile

    with tifffile.TiffFile(path) as file:
        _check_single(path, file)
        page = file.pages.first
        height, width = page.imagelength, page.imagewidth
        if int(getattr(page.tags.get(274), "value", 1)) >= 5:  # turned by a quarter
            height, width = width, height
        colours = (
            3 if page.photometric in (PALETTE, CMYK) else page.samplesperpixel - len(_alpha(page))
        )
        kind = np.dtype(np.uint8 if page.photometric == PALETTE else page.dtype or np.uint8)
        return (height, width, colours) if colours > 1 else (height, width), kind


def read_tiff(path: Path) -> Picture:
    """The picture of a file that holds one."""
    import tifffile

    with tifffile.TiffFile(path) as file:
        _check_single(path, file)
        page = file.pages.first
        values = page.asarray()
        if page.planarconfig == 2 and values.ndim == 3:
            values = np.moveaxis(values, 0, -1)
        picture = _plain(values, page)
        return _upright(picture, int(getattr(page.tags.get(274), "value", 1)))


def write_tiff_picture(path: Path, stored: Array) -> None:
    """One picture, colours last."""
    import tifffile

    rgb = stored.shape[2:] == (3,)
    several: dict[str, Any] = {"planarconfig": "contig"} if stored.ndim == 3 else {}
    tifffile.imwrite(path, stored, photometric="rgb" if rgb else "minisblack", **several)


def open_tiff(path: str, select: tuple[str, ...] = (), **options: object) -> Source:
    """Pages of a TIFF as pictures; ``select`` fixes further axes, as in ``("C=0", "Z=3")``."""
    import tifffile

    refuse_options("a TIFF stack", options)
    with reading(path, "read as TIFF", "replace it"), tifffile.TiffFile(path) as file:
        series = file.series[0]
        axes, shape, dtype = _distinct(series.axes), series.shape, np.dtype(series.dtype)
        depth = series.keyframe.ndim  # how many of the axes lie within one page
        whole = len(series.pages) < int(
            np.prod(shape[: len(shape) - depth], dtype=int)
        )  # one header for all pages
        further = tuple(f"series {k + 1} of {Path(path).name}" for k in range(1, len(file.series)))
        colour = series.keyframe
        alpha, mapped = bool(_alpha(colour)), colour.photometric in (PALETTE, CMYK, WHITE_IS_ZERO)
    if "Y" not in axes or "X" not in axes:
        raise FormatError(f"{path} has the axes {axes}; pictures need Y and X")
    fixed = _selected(select, axes, shape, path)
    free = [
        k for k, a in enumerate(axes) if a not in PICTURE_AXES and a not in fixed and shape[k] > 1
    ]
    if len(free) > 1:
        several = ", ".join(f"{axes[k]} ({shape[k]})" for k in free)
        raise InputError(
            f"{path} has more than one axis of pictures: {several}; fix all but one, as in --select Z=0"
        )
    along = free[0] if free else None
    count = 1 if along is None else shape[along]
    lead = shape[: len(shape) - depth]
    colours = int(np.prod([shape[k] for k, a in enumerate(axes) if a in "SC" and a not in fixed]))
    colours = 3 if mapped and colour.photometric != WHITE_IS_ZERO else colours - alpha

    def page_of(tif: Any, where: list[int]) -> Array:
        if whole:
            return np.asarray(tifffile.memmap(path, series=0, mode="r")[tuple(where)])
        page = tif.series[0].pages[int(np.ravel_multi_index(where, lead)) if lead else 0]
        if page is None:
            raise FormatError(f"a page of {path} is missing; write the stack again")
        return np.asarray(page.asarray())

    def one(tif: Any, index: int) -> Picture:
        """Fix every axis but rows, columns and colours, and put the colours last."""
        where = [fixed.get(axes[k], index if k == along else 0) for k in range(len(lead))]
        apart = [
            k for k in range(len(lead)) if axes[k] in "SC" and axes[k] not in fixed
        ]  # colours in pages of their own
        planes = []
        for place in np.ndindex(*(shape[k] for k in apart)):
            for k, value in zip(apart, place, strict=True):
                where[k] = value
            planes.append(_within(page_of(tif, where), axes[len(lead) :], fixed))
        values = (
            planes[0] if not apart else np.concatenate([np.atleast_3d(p) for p in planes], axis=2)
        )
        values = values[..., 0] if values.ndim == 3 and values.shape[2] == 1 else values
        return _plain(values, tif.series[0].keyframe) if alpha or mapped else Picture(values)

    def guarded(tif: Any, index: int) -> Picture:
        with reading(f"page {index} of {path}", "read", "write the stack again"):
            return one(tif, index)

    def iterate() -> Iterator[Picture | FormatError]:
        with tifffile.TiffFile(path) as tif:
            for index in range(count):
                yield or_error(lambda: guarded(tif, index))  # noqa: B023 (called at once)

    size = (shape[axes.index("Y")], shape[axes.index("X")])
    stem = Path(path).name.split(".")[0]
    names = tuple(f"{stem}-{index:04d}" for index in range(count))
    full = (*size, colours) if colours > 1 else size
    kinds = (np.dtype(np.uint8) if colour.photometric == PALETTE else dtype,) * count
    return Source(path, "tiff", names, (full,) * count, kinds, iterate, left_out=further)


def _alpha(page: Any) -> list[int]:
    """Extra samples that say what is transparent."""
    return [int(kind) for kind in page.extrasamples if int(kind) in ALPHA][-1:]


def _plain(values: Array, page: Any) -> Picture:
    """Values (h, w[, samples]) as grey or RGB that grows with brightness, transparency as a mask."""
    mask = None
    if _alpha(page) and values.ndim == 3:
        transparency, values = values[..., -1], values[..., :-1]
        top = (
            np.iinfo(transparency.dtype).max if np.issubdtype(transparency.dtype, np.integer) else 1
        )
        mask = transparency >= top / 2
        mask = None if mask.all() else mask
        values = values[..., 0] if values.shape[2] == 1 else values
    if page.photometric == PALETTE and page.colormap is not None and values.ndim == 2:
        values = (np.asarray(page.colormap)[:, values] >> 8).astype(np.uint8).transpose(1, 2, 0)
    elif page.photometric == CMYK and values.ndim == 3 and values.shape[2] == 4:
        white = float(np.iinfo(values.dtype).max)
        values = as_type(
            (white - values[..., :3]) * ((white - values[..., 3:]) / white), values.dtype
        )
    elif page.photometric == WHITE_IS_ZERO and np.issubdtype(values.dtype, np.unsignedinteger):
        values = np.iinfo(values.dtype).max - values
    return Picture(np.ascontiguousarray(values), mask)


def _upright(picture: Picture, orientation: int) -> Picture:
    """As the camera was held: the eight values of the orientation tag."""
    turns = {
        3: (2, False),
        6: (3, False),
        8: (1, False),
        2: (0, True),
        4: (2, True),
        5: (1, True),
        7: (3, True),
    }
    if orientation not in turns:
        return picture
    quarter, mirrored = turns[orientation]

    def turn(array: Array) -> Array:
        return np.ascontiguousarray(np.rot90(array[:, ::-1] if mirrored else array, quarter))

    return Picture(turn(picture.values), None if picture.mask is None else turn(picture.mask))


def _check_single(path: Path, file: Any) -> None:
    """A file among others holds one picture; a stack is given alone."""
    from rankfold.io.pictures import check_size

    page = file.pages.first
    check_size(path, page.imagewidth, page.imagelength)
    series = file.series[0]
    pages = int(
        np.prod(
            [n for n, a in zip(series.shape, series.axes, strict=True) if a not in "YXSC"],
            dtype=int,
        )
    )
    if pages > 1:
        raise FormatError(
            f"{path} is a stack of {pages} pages; give it alone, or leave it out with --skip-bad"
        )


def _distinct(axes: str) -> str:
    """Axes with names of their own: a file without names has several Q."""
    spare = iter(letter for letter in "QRPOUVWBDEFGHIJKLMN" if letter not in axes)
    seen = ""
    for letter in axes:
        seen += letter if letter not in seen else next(spare)
    return seen


def _within(page: Array, axes: str, fixed: dict[str, int]) -> Array:
    """One page as (Y, X) or (Y, X, colours)."""
    for k in reversed(range(len(axes))):
        if axes[k] in fixed:
            page, axes = np.take(page, fixed[axes[k]], axis=k), axes[:k] + axes[k + 1 :]
        elif axes[k] not in PICTURE_AXES:
            page, axes = np.take(page, 0, axis=k), axes[:k] + axes[k + 1 :]
    order = [axes.index("Y"), axes.index("X"), *(k for k, a in enumerate(axes) if a in "SC")]
    page = page.transpose(order)
    return page.reshape(*page.shape[:2], -1) if page.ndim > 3 else page


def _selected(
    select: tuple[str, ...], axes: str, shape: tuple[int, ...], path: str
) -> dict[str, int]:
    """Axes that the caller fixes."""
    fixed = {}
    for text in select:
        axis, _, number = text.partition("=")
        if (
            axis not in axes
            or axis in "YX"
            or not number.isdecimal()
            or int(number) >= shape[axes.index(axis)]
        ):
            known = ", ".join(
                f"{a}=0..{size - 1}" for a, size in zip(axes, shape, strict=True) if a not in "YX"
            )
            raise InputError(
                f"--select {text} does not fit {path}; it has {known or 'one picture only'}"
            )
        fixed[axis] = int(number)
    return fixed


def write_tiff(path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source) -> Path:
    """One page a picture, of the type that came in; OME where the name says so. One picture in memory at a time."""
    import tifffile

    path = path.with_name(
        path.name
        + (".ome.tif" if like.path.lower().endswith((".ome.tif", ".ome.tiff")) else ".tif")
    )
    stored = (as_type(values, like.dtype) for values in pictures)
    first = next(stored)
    rgb = first.shape[2:] == (3,)
    ome = path.name.endswith(".ome.tif")

    def pages() -> Iterator[Array]:
        for values in chain([first], stored):
            if first.ndim == 2 or rgb:
                yield values
            else:
                yield from np.moveaxis(values, -1, 0)

    shape = first.shape if first.ndim == 2 or rgb else (first.shape[2], *first.shape[:2])
    axes = "TYXS" if rgb else "TYX" if first.ndim == 2 else "TCYX"
    metadata: dict[str, Any] = {"axes": axes}
    if ome:
        metadata |= {"Name": path.name}
    tifffile.imwrite(
        path,
        pages(),
        shape=(len(names), *shape),
        dtype=first.dtype,
        photometric="rgb" if rgb else "minisblack",
        metadata=metadata,
        ome=ome,
    )
    return path
