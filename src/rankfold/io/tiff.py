"""One picture from one TIFF file, and back: colours, transparency and orientation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import FormatError
from rankfold.io.metadata import NOTHING_KNOWN, Metadata
from rankfold.io.source import Array, Picture, as_type, check_size, unit_of
from rankfold.io.tiff_axes import PICTURE_AXES

# Numbers that the TIFF specification gives to ways of storing colours.
WHITE_IS_ZERO = 0
PALETTE = 3
CMYK = 5
# Extra samples that are transparency; other extra samples are channels.
ALPHA = (1, 2)
SEPARATE_PLANES = 2

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


def tiff_header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Tell the shape and type that :func:`read_tiff` will give."""
    import tifffile

    with tifffile.TiffFile(path) as file:
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
    shape = (height, width, colours) if colours > 1 else (height, width)
    return shape, dtype


def read_tiff(path: Path) -> Picture:
    """Read the picture of a file that holds one."""
    import tifffile

    with tifffile.TiffFile(path) as file:
        _check_single(path, file)
        page = file.pages.first
        values = page.asarray()
        if page.planarconfig == SEPARATE_PLANES and values.ndim == 3:
            # c x h x w
            values = np.moveaxis(values, 0, -1)
        return _upright(plain(values, page), _orientation(page))


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
    mask = None
    if has_alpha(page) and values.ndim == 3:
        transparency = values[..., -1]
        # At least half opaque.
        valid = transparency >= unit_of(transparency.dtype) / 2
        mask = None if valid.all() else valid
        values = values[..., :-1]
        if values.shape[2] == 1:
            values = values[..., 0]
    return Picture(np.ascontiguousarray(_brightness(values, page)), mask)


def _brightness(values: Array, page: Any) -> Array:
    """Look up palettes, convert CMYK and invert where white is zero; (h, w[, samples])."""
    if page.photometric == PALETTE and page.colormap is not None and values.ndim == 2:
        colours = np.asarray(page.colormap)[:, values]  # 3 x h x w, 16 bits
        # Palettes have 16 bits a colour; those of the pictures have 8.
        return (colours >> 8).astype(np.uint8).transpose(1, 2, 0)
    if page.photometric == CMYK and values.ndim == 3 and values.shape[2] == 4:
        white = float(np.iinfo(values.dtype).max)
        # Each ink takes its share of the light away: cyan that of red, black that of all.
        past_colours = white - values[..., :3]
        past_black = (white - values[..., 3:]) / white
        return as_type(past_colours * past_black, values.dtype)
    if page.photometric == WHITE_IS_ZERO and np.issubdtype(values.dtype, np.unsignedinteger):
        return np.asarray(np.iinfo(values.dtype).max - values)
    return values


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
    page = file.pages.first
    check_size(path, page.imagewidth, page.imagelength)
    series = file.series[0]
    sizes = zip(series.shape, series.axes, strict=True)
    # The product over no axes is one page.
    pages = int(np.prod([size for size, axis in sizes if axis not in PICTURE_AXES], dtype=int))
    if pages > 1:
        raise FormatError(
            f"{path} is a stack of {pages} pages; give it alone, or skip bad pictures"
        )
