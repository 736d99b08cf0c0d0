"""Stacks in one TIFF file: multi-page, or OME with named axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import FormatError, InputError
from rankfold.io.folders import refuse_options
from rankfold.io.source import Array, Picture, Source, as_type

PICTURE_AXES = "YXSC"  # rows, columns, samples, channels; every other axis counts pictures


def open_tiff(path: str, select: tuple[str, ...] = (), **options: object) -> Source:
    """Pages of a TIFF as pictures; ``select`` fixes further axes, as in ``("C=0", "Z=3")``."""
    import tifffile

    refuse_options("a TIFF stack", options)
    try:
        with tifffile.TiffFile(path) as file:
            series = file.series[0]
            axes, shape, dtype = series.axes, series.shape, np.dtype(series.dtype)
            depth = series.keyframe.ndim  # how many of the axes lie within one page
    except FileNotFoundError as error:
        raise FormatError(f"{path} does not exist; check the name") from error
    except Exception as error:  # whatever the parser trips over
        raise FormatError(f"{path} cannot be read as TIFF ({error}); replace it") from error
    fixed = _selected(select, axes, shape, path)
    free = [k for k, a in enumerate(axes) if a not in PICTURE_AXES and a not in fixed and shape[k] > 1]
    if len(free) > 1:
        several = ", ".join(f"{axes[k]} ({shape[k]})" for k in free)
        raise InputError(f"{path} has more than one axis of pictures: {several}; fix all but one, as in --select Z=0")
    along = free[0] if free else None
    count = 1 if along is None else shape[along]
    lead = shape[: len(shape) - depth]

    def pick(page_index: int, tif: Any) -> Array:
        page = tif.series[0].pages[page_index]
        if page is None:
            raise FormatError(f"page {page_index} of {path} is missing; write the stack again")
        return np.asarray(page.asarray())

    def one(tif: Any, index: int) -> Picture:
        """Fix every axis but rows, columns and colours, and put the colours last."""
        where = [fixed.get(axes[k], index if k == along else 0) for k in range(len(lead))]
        apart = [
            k for k in range(len(lead)) if axes[k] in "SC" and axes[k] not in fixed
        ]  # colours in pages of their own
        planes = []
        for colours in np.ndindex(*(shape[k] for k in apart)):
            for k, value in zip(apart, colours, strict=True):
                where[k] = value
            page = pick(int(np.ravel_multi_index(where, lead)) if lead else 0, tif)
            planes.append(_within(page, axes[len(lead) :], fixed))
        values = planes[0] if not apart else np.concatenate([np.atleast_3d(p) for p in planes], axis=2)
        return Picture(values[..., 0] if values.ndim == 3 and values.shape[2] == 1 else values)

    def iterate() -> Iterator[Picture | FormatError]:
        with tifffile.TiffFile(path) as tif:
            for index in range(count):
                try:
                    yield one(tif, index)
                except FormatError as error:
                    yield error
                except Exception as error:
                    yield FormatError(f"page {index} of {path} cannot be read ({error}); write the stack again")

    colours = int(np.prod([shape[k] for k, a in enumerate(axes) if a in "SC" and a not in fixed]))
    size = (shape[axes.index("Y")], shape[axes.index("X")])
    stem = Path(path).name.split(".")[0]
    names = tuple(f"{stem}-{index:04d}" for index in range(count))
    return Source(path, "tiff", names, ((*size, colours) if colours > 1 else size,) * count, dtype, iterate)


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


def _selected(select: tuple[str, ...], axes: str, shape: tuple[int, ...], path: str) -> dict[str, int]:
    """Axes that the caller fixes."""
    fixed = {}
    for text in select:
        axis, _, number = text.partition("=")
        if axis not in axes or axis in "YX" or not number.isdigit() or int(number) >= shape[axes.index(axis)]:
            known = ", ".join(f"{a}=0..{size - 1}" for a, size in zip(axes, shape, strict=True) if a not in "YX")
            raise InputError(f"--select {text} does not fit {path}; it has {known or 'one picture only'}")
        fixed[axis] = int(number)
    return fixed


def write_tiff(path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source) -> Path:
    """One page a picture, of the type that came in; OME where the name says so."""
    import tifffile

    path = path.with_name(path.name + (".ome.tif" if like.path.lower().endswith((".ome.tif", ".ome.tiff")) else ".tif"))
    stored = (as_type(values, like.dtype) for values in pictures)
    first = next(stored)
    rgb = first.shape[2:] == (3,)
    ome = path.name.endswith(".ome.tif")

    def pages() -> Iterator[Array]:
        for values in (first, *stored):
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
