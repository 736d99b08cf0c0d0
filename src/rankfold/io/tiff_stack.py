"""Stacks in one TIFF file, multi-page or OME with named axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import FormatError
from rankfold.io.arrays import numbered
from rankfold.io.budgets import check_count
from rankfold.io.file_names import unused
from rankfold.io.guard import or_error, reading
from rankfold.io.source import Array, Picture, Source, refuse_options
from rankfold.io.tiff import (
    CMYK,
    PALETTE,
    WHITE_IS_ZERO,
    as_samples,
    check_page,
    has_alpha,
    plain,
    tiff_file,
)
from rankfold.io.tiff_axes import COLOUR_AXES, colours_last, counting_axis, distinct, selected


@dataclass(frozen=True)
class _Series:
    """The first series of a TIFF: its axes, and how they lie in pages.

    ``lengths`` has the length of each axis, in their order. The first ``leading`` axes count
    pages, the others lie within a page.
    """

    path: str
    lengths: dict[str, int]
    leading: int
    dtype: np.dtype[Any]
    photometric: int
    has_alpha: bool
    # Where the values begin, if all pages follow the header of the first.
    start: int | None
    # As they are stored, with their byte order.
    stored: np.dtype[Any]
    others: tuple[str, ...]  # further series in the file

    @property
    def page_counting_axes(self) -> str:
        """The axes that count pages."""
        return "".join(self.lengths)[: self.leading]

    @property
    def axes_within_a_page(self) -> str:
        """The axes of a page."""
        return "".join(self.lengths)[self.leading :]

    @property
    def is_plain(self) -> bool:
        """Whether the stored samples are grey or RGB that grows with brightness."""
        return not self.has_alpha and self.photometric not in (PALETTE, CMYK, WHITE_IS_ZERO)

    def page(self, file: Any, where: dict[str, int]) -> Array:
        """Read the page at ``where``, a place along each axis that counts pages."""
        place = tuple(where.values())
        lengths = [self.lengths[axis] for axis in where]
        # Pages are stored with the last axis running fastest.
        number = int(np.ravel_multi_index(place, lengths)) if place else 0
        if self.start is not None:
            return self._raw_page(file, self.start, number)
        page = file.series[0].pages[number]
        if page is None:
            raise FormatError(f"a page of {self.path} is missing; write the stack again")
        return np.asarray(page.asarray())

    @property
    def page_shape(self) -> tuple[int, ...]:
        """The lengths of the axes of a page."""
        return tuple(self.lengths.values())[self.leading :]

    def _raw_page(self, file: Any, start: int, number: int) -> Array:
        """Read a page without a header of its own.

        It is not mapped: who reads a mapped file that was cut off meanwhile is killed.
        """
        size = math.prod(self.page_shape) * self.stored.itemsize
        file.filehandle.seek(start + number * size)
        values = file.filehandle.read(size)
        if len(values) < size:
            raise FormatError(f"a page of {self.path} is cut off; restore it from a copy")
        return np.frombuffer(values, self.stored).reshape(self.page_shape)


@dataclass(frozen=True)
class _Pictures:
    """The pictures of a series: ``fixed`` axes have one place, ``along`` counts the pictures."""

    series: _Series
    fixed: dict[str, int]
    along: str | None

    def __len__(self) -> int:
        """Count the pictures."""
        return 1 if self.along is None else self.series.lengths[self.along]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (h, w) or (h, w, c) of every picture."""
        lengths = self.series.lengths
        size = (lengths["Y"], lengths["X"])
        if self.series.photometric in (PALETTE, CMYK):
            colours = 3
        else:
            samples = int(np.prod([lengths[axis] for axis in self._free_colours("".join(lengths))]))
            colours = samples - int(self.series.has_alpha)
        return (*size, colours) if colours > 1 else size

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of every picture."""
        return np.dtype(np.uint8) if self.series.photometric == PALETTE else self.series.dtype

    def read(self, file: Any, index: int) -> Picture:
        """Read one picture, or say which page is bad."""
        with reading(f"page {index} of {self.series.path}", "read", "write the stack again"):
            values = self._values(file, index)
            # One channel is grey.
            if values.ndim == 3 and values.shape[2] == 1:
                values = values[..., 0]
            if self.series.is_plain:
                picture = Picture(values)
            else:
                picture = plain(values, file.series[0].keyframe)
            return picture.as_said(self.series.path, self.shape, self.dtype)

    def _free_colours(self, axes: str) -> list[str]:
        """Return those of the axes along which the values of one pixel lie."""
        return [axis for axis in axes if axis in COLOUR_AXES and axis not in self.fixed]

    def _values(self, file: Any, index: int) -> Array:
        """Read the samples (h, w[, c]) of one picture, whose colours may have their own pages."""
        series = self.series
        # A place along each axis that counts pages: fixed, counted by index, or 0.
        where = dict.fromkeys(series.page_counting_axes, 0)
        where |= {axis: place for axis, place in self.fixed.items() if axis in where}
        if self.along in where:
            where[self.along] = index
        # Colours in pages of their own are read one after the other.
        apart = self._free_colours(series.page_counting_axes)
        planes = []
        for place in np.ndindex(*(series.lengths[axis] for axis in apart)):
            where |= dict(zip(apart, place, strict=True))
            page = series.page(file, where)
            planes.append(colours_last(page, series.axes_within_a_page, self.fixed))
        if not apart:
            return planes[0]
        return np.concatenate([np.atleast_3d(plane) for plane in planes], axis=2)


def open_tiff(path: str, select: tuple[str, ...] = (), **options: object) -> Source:
    """Open the pages of a TIFF as pictures; ``select`` fixes axes, as in ``("C=0", "Z=3")``."""
    refuse_options("a TIFF stack", options)
    series = _look(path)
    if not series.lengths.keys() >= {"Y", "X"}:
        axes = "".join(series.lengths)
        raise FormatError(f"{path} has the axes {axes}; pictures need Y and X")
    fixed = selected(select, series.lengths, path)
    pictures = _Pictures(series, fixed, counting_axis(series.lengths, fixed, path))
    count = len(pictures)

    def choose(indices: Sequence[int]) -> Iterator[Picture | FormatError]:
        # Opened once for all pictures.
        with reading(path, "read as TIFF", "replace it"), tiff_file(path) as file:
            for index in indices:
                yield or_error(pictures.read, file, index)

    source = numbered(path, "tiff", (count, *pictures.shape), pictures.dtype, choose)
    return replace(source, left_out=series.others)


def _look(path: str) -> _Series:
    """Read the headers of a file."""
    with reading(path, "read as TIFF", "replace it"), tiff_file(path) as file:
        series = file.series[0]
        keyframe = series.keyframe
        check_page(path, keyframe)
        # The keyframe is the page whose layout the others share.
        leading = len(series.shape) - keyframe.ndim
        pages = int(np.prod(series.shape[:leading], dtype=int))
        check_count(path, pages)
        start = None
        stored = np.dtype(series.dtype).newbyteorder(file.byteorder)
        if len(series.pages) < pages:
            start = series.dataoffset
            size = pages * math.prod(series.shape[leading:]) * stored.itemsize
            if start is None or start + size > Path(path).stat().st_size:
                raise FormatError(
                    f"{path} is cut off: it says that it has {pages} pages, and they are not all "
                    "there; restore it from a copy"
                )
        name = Path(path).name
        return _Series(
            path=path,
            lengths=dict(zip(distinct(series.axes), series.shape, strict=True)),
            leading=leading,
            dtype=np.dtype(series.dtype),
            photometric=int(keyframe.photometric),
            has_alpha=has_alpha(keyframe),
            start=start,
            stored=stored,
            others=tuple(f"series {k + 1} of {name}" for k in range(1, len(file.series))),
        )


def write_tiff(path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source) -> Path:
    """Write pictures (h, w[, c]) to a stack of the type that came in, OME where the name says so.

    One picture is in memory at a time.
    """
    import tifffile

    is_ome = like.path.lower().endswith((".ome.tif", ".ome.tiff"))
    path = unused(path.with_name(path.name + (".ome.tif" if is_ome else ".tif")))
    stored = (as_samples(values, like.dtype) for values in pictures)
    first = next(stored)
    is_rgb = first.shape[2:] == (3,)
    # RGB has its colours within a page, other channels have pages of their own.
    in_planes = first.ndim == 3 and not is_rgb

    def pages() -> Iterator[Array]:
        for values in chain([first], stored):
            if in_planes:
                yield from np.moveaxis(values, -1, 0)
            else:
                yield values

    shape = first.shape
    axes = "TYXS" if is_rgb else "TYX"
    if in_planes:
        shape = (first.shape[2], *first.shape[:2])
        axes = "TCYX"
    # T for the pictures: most programs show an axis of time as a film.
    metadata: dict[str, Any] = {"axes": axes}
    if is_ome:
        metadata["Name"] = path.name
    tifffile.imwrite(
        path,
        pages(),
        shape=(len(names), *shape),
        dtype=first.dtype,
        photometric="rgb" if is_rgb else "minisblack",
        metadata=metadata,
        ome=is_ome,
    )
    return path
