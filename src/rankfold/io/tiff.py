"""One picture from one TIFF file, and back: colours, transparency and orientation."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError
from rankfold.io.budgets import check_chunks, check_density, check_picture
from rankfold.io.metadata import NOTHING_KNOWN, Metadata
from rankfold.io.source import Array, Picture, as_portable, as_type
from rankfold.io.tiff_axes import PICTURE_AXES
from rankfold.io.tiff_headers import check_headers

# Numbers that the TIFF specification gives to ways of storing colours.
WHITE_IS_ZERO = 0
PALETTE = 3
CMYK = 5
# Extra samples that are transparency; other extra samples are channels.
ALPHA = (1, 2)
SEPARATE_PLANES = 2

# So many rows are changed at a time.
ROWS = 64

# The tag that says how the camera was held; values from 5 on swap height and width.
ORIENTATION = 274
FIRST_SIDEWAYS = 5
# For each orientation but 1, which is upright: quarter turns to the left, after mirroring or not.
TURNS = {
    2: (0, True),
    3: (2, False),
    4: (2, True),
    5: (1, True),
    6: (3, False),
    7: (3, True),
    8: (1, False),
}


def tiff_file(path: str | Path) -> Any:
    """Open a TIFF whose headers can be believed."""
    import tifffile

    check_headers(path)
    file = tifffile.TiffFile(path)
    try:
        check_page(path, file.pages.first)
    except BaseException:
        file.close()
        raise
    return file


def check_page(path: str | Path, page: Any) -> None:
    """Refuse a page that the library takes for larger than it can be, whatever we have read."""
    itemsize = 1 if page.dtype is None else page.dtype.itemsize
    samples = page.samplesperpixel * page.imagedepth
    check_picture(path, page.imagelength, page.imagewidth, samples, itemsize)
    decoded = page.imagelength * page.imagewidth * samples * itemsize
    check_density(path, Path(path).stat().st_size, decoded)
    check_chunks(path, math.prod(page.chunked), math.prod(page.chunks) * itemsize)


def tiff_header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Tell the shape and type that :func:`read_tiff` will give."""
    with tiff_file(path) as file:
        _check_single(path, file)
        page = file.pages.first
        height = page.imagelength
        width = page.imagewidth
        if _orientation(page) >= FIRST_SIDEWAYS:
            height, width = width, height
        if page.photometric in (PALETTE, CMYK):
            colours = 3
        else:
            colours = page.samplesperpixel - int(has_alpha(page))
        dtype = np.dtype(np.uint8 if page.photometric == PALETTE else page.dtype or np.uint8)
    check_picture(path, height, width, colours, dtype.itemsize)
    shape = (height, width, colours) if colours > 1 else (height, width)
    return shape, dtype


def read_tiff(path: Path) -> Picture:
    """Read the picture of a file that holds one."""
    with tiff_file(path) as file:
        _check_single(path, file)
        page = file.pages.first
        values = page.asarray()
        if page.planarconfig == SEPARATE_PLANES and values.ndim == 3:
            # c x h x w
            values = np.moveaxis(values, 0, -1)
        return _upright(plain(values, page), _orientation(page))


def as_samples(values: Array, dtype: npt.DTypeLike) -> Array:
    """Convert a picture (h, w[, c]) to a type that a TIFF has, or to the nearest one."""
    if np.dtype(dtype).kind == "b" and values.ndim == 3 and values.shape[2] > 1:
        # Colours of one bit would be packed across pixels, which few programs can read.
        return np.where(as_type(values, dtype), np.uint8(255), np.uint8(0))
    return as_portable(values, dtype)


def write_tiff_picture(path: Path, stored: Array, metadata: Metadata = NOTHING_KNOWN) -> None:
    """Write one picture (h, w) or (h, w, c)."""
    import tifffile

    is_rgb = stored.shape[2:] == (3,)
    options: dict[str, Any] = {"planarconfig": "contig"} if stored.ndim == 3 else {}
    options |= metadata.for_tiff
    tifffile.imwrite(path, stored, photometric="rgb" if is_rgb else "minisblack", **options)


def has_alpha(page: Any) -> bool:
    """Tell whether the last sample of a pixel is transparency."""
    return any(int(kind) in ALPHA for kind in page.extrasamples)


def plain(values: Array, page: Any) -> Picture:
    """Turn stored samples (h, w[, samples]) into grey or RGB that grows with brightness."""
    picture = Picture(values)
    if has_alpha(page) and values.ndim == 3:
        picture = Picture.with_alpha(values)
    return Picture(np.ascontiguousarray(_brightness(picture.values, page)), picture.mask)


def _brightness(values: Array, page: Any) -> Array:
    """Look up palettes, convert CMYK and invert where white is zero; (h, w[, samples])."""
    if page.photometric == PALETTE and page.colormap is not None and values.ndim == 2:
        # Palettes have 16 bits a colour; those of the pictures have 8.
        colours = (np.asarray(page.colormap) >> 8).astype(np.uint8).T  # 256 x 3
        return _by_rows(values, np.uint8, lambda rows: colours[rows])
    if page.photometric == CMYK and values.ndim == 3 and values.shape[2] == 4:
        return _by_rows(values, values.dtype, _without_ink)
    if page.photometric == WHITE_IS_ZERO and values.dtype.kind == "b":
        return np.asarray(~values)
    if page.photometric == WHITE_IS_ZERO and values.dtype.kind == "u":
        # Of the other types nobody knows what is black.
        black = (1 << int(page.bitspersample)) - 1
        return np.asarray(values.dtype.type(black) - values)
    return values


def _by_rows(values: Array, dtype: npt.DTypeLike, change: Callable[[Array], Array]) -> Array:
    """Change pixels to three colours, some rows at a time: in between, they take much memory."""
    changed = np.empty((*values.shape[:2], 3), dtype)
    for first in range(0, len(values), ROWS):
        changed[first : first + ROWS] = change(values[first : first + ROWS])
    return changed


def _without_ink(values: Array) -> Array:
    """Colours (h, w, 3) of four inks (h, w, 4)."""
    white = int(np.iinfo(values.dtype).max)
    # Each ink takes its share of the light away: cyan that of red, black that of all.
    past_ink = white - values.astype(np.uint64)
    # Rounded; two odd numbers have no quotient half way between two whole ones.
    return (past_ink[..., :3] * past_ink[..., 3:] + white // 2) // white


def _orientation(page: Any) -> int:
    """Read how the camera was held; 1 where the file does not say."""
    return int(getattr(page.tags.get(ORIENTATION), "value", 1))


def _upright(picture: Picture, orientation: int) -> Picture:
    """Turn a picture upright; orientations that do not exist leave it as it is."""
    if orientation not in TURNS:
        return picture
    quarters, is_mirrored = TURNS[orientation]

    def turn(array: Array) -> Array:
        unmirrored = array[:, ::-1] if is_mirrored else array
        return np.ascontiguousarray(np.rot90(unmirrored, quarters))

    mask = None if picture.mask is None else turn(picture.mask)
    return Picture(turn(picture.values), mask)


def _check_single(path: Path, file: Any) -> None:
    """Refuse a stack among single pictures; a stack is given alone."""
    series = file.series[0]
    sizes = zip(series.shape, series.axes, strict=True)
    # The product over no axes is one page.
    pages = int(np.prod([size for size, axis in sizes if axis not in PICTURE_AXES], dtype=int))
    if pages > 1:
        raise FormatError(
            f"{path} is a stack of {pages} pages; give it alone, or skip bad pictures"
        )
