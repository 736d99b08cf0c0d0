"""Read one picture from one file: 8 and 16 bits, floats, alpha as a mask, turned upright."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import FormatError
from rankfold.io.budgets import MAX_PIXELS
from rankfold.io.encoding import TIFF
from rankfold.io.ffmpeg import PICTURES, opened
from rankfold.io.guard import reading
from rankfold.io.pillow import (
    FIRST_SIDEWAYS,
    FORMATS,
    GREY_MODES,
    ORIENTATION,
    PNG_MAGIC,
    check_scans,
    exif_of,
    open_image,
)
from rankfold.io.source import Array, Picture, as_type
from rankfold.io.tiff import read_tiff, tiff_header

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm", ".pnm", ".tif", ".tiff", ".webp")

# Unit: bytes. Enough for the header of a PNG, and for one of a PPM with short comments.
HEADER = 512
# Where a PNG says how many bits a sample has: behind its magic, the length and name of IHDR (16
# bytes in all), width and height (8 more).
PNG_BITS = 24
# What Pillow multiplies grey values of so few bits by.
SCALES = {1: 255, 2: 85, 4: 17}

# Pillow's names for kinds of pixels.
CONVERTED_MODES = ("P", "PA", "CMYK", "YCbCr", "LAB", "HSV", "RGBX", "RGBa", "La")
TRANSPARENT_MODES = ("PA", "RGBa", "La")


def read_picture(path: str | Path) -> Array:
    """Read the values of a picture as they are stored, without alpha.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    (h, w) or (h, w, c) array of integers or floats
    """
    return load_picture(path).values


def load_picture(path: str | Path) -> Picture:
    """Read a picture and its mask."""
    path = Path(path)
    with _guarded(path):
        if path.suffix.lower() in TIFF:
            return read_tiff(path)
        return _read(path)


def picture_header(path: str | Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Tell the shape and type that :func:`load_picture` will give, from the start of the file."""
    path = Path(path)
    with _guarded(path):
        if path.suffix.lower() in TIFF:
            return tiff_header(path)
        return _header(path)


def _header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Tell shape and type of any picture but a TIFF."""
    with open_image(path) as image:
        width, height = image.size
        mode = image.mode
        if exif_of(image, path).get(ORIENTATION, 1) >= FIRST_SIDEWAYS:
            width, height = height, width
    deep_colours = _deep_colours(path)
    if deep_colours:
        is_colour = deep_colours == 3
    else:
        is_colour = mode not in GREY_MODES and not mode.startswith("I;")
    shape = (height, width, 3) if is_colour else (height, width)
    if deep_colours or mode.startswith("I"):
        return shape, np.dtype(np.uint16)
    return shape, np.dtype(np.float32 if mode == "F" else np.uint8)


def _read(path: Path) -> Picture:
    """Read any picture but a TIFF."""
    from PIL import ImageOps

    deep_colours = _deep_colours(path)
    if deep_colours:
        return _read_deep(path, deep_colours)
    with open_image(path) as opened:
        check_scans(path, opened)
        clear = _clear_grey(opened, path)
        image = _plain(ImageOps.exif_transpose(opened))
        values = np.array(image)
    if image.mode == "I":
        # Pillow has 16 bits of grey in 32.
        values = as_type(values, np.uint16)
    if image.mode in ("LA", "RGBA"):
        return Picture.with_alpha(values)
    if clear is None:
        return Picture(values)
    valid = np.asarray(values != clear)
    return Picture(values, None if valid.all() else valid)


def _clear_grey(image: Any, path: Path) -> int | None:
    """Return the grey value that is transparent wherever it is, as PNG can say; None without."""
    clear = image.info.get("transparency")
    if image.mode not in GREY_MODES and not image.mode.startswith("I;"):
        return None
    if not isinstance(clear, int):
        return None
    with path.open("rb") as file:
        start = file.read(HEADER)
    # Pillow scales grey values of less than eight bits, but not this one.
    bits = start[PNG_BITS] if start.startswith(PNG_MAGIC) else 8
    return clear * SCALES.get(bits, 1)


def _plain(image: Any) -> Any:
    """Convert one of Pillow's images to grey or RGB, with alpha where it is transparent."""
    mode = image.mode
    has_transparency = "transparency" in image.info
    if mode in CONVERTED_MODES:
        is_transparent = has_transparency or mode in TRANSPARENT_MODES
        return image.convert("RGBA" if is_transparent else "RGB")
    if mode == "RGB" and has_transparency:
        return image.convert("RGBA")
    if mode == "1":
        return image.convert("L")
    return image


def _deep_colours(path: Path) -> int:
    """Count the colours (1 or 3) of a 16-bit picture that Pillow would cut to eight bits, else 0.

    These are PNG with colours or with alpha, and PPM. Pillow reads 16 bits of grey alone.
    """
    with path.open("rb") as file:
        start = file.read(HEADER)
    if start.startswith(PNG_MAGIC) and len(start) >= 26:
        bits = start[PNG_BITS]
        kind = start[25]
        # Kinds of PNG: 2 is RGB, 4 is grey with alpha, 6 is RGB with alpha.
        return {2: 3, 4: 1, 6: 3}.get(kind, 0) if bits == 16 else 0
    # The header of a PPM is "P6 width height maximum", with comments up to the end of a line.
    words = re.sub(rb"#[^\n]*\n", b"\n", start).split()
    if words[:1] != [b"P6"] or len(words) <= 3:
        return 0
    maximum = words[3]
    return 3 if maximum.isdigit() and int(maximum) > 255 else 0


def _read_deep(path: Path, colours: int) -> Picture:
    """Read 16 bits a colour with the video library's decoders; ``colours`` is 1 or 3."""
    with opened(path, PICTURES, values=4, itemsize=2) as container:
        frame = next(container.decode(video=0))
        values = np.asarray(frame.to_ndarray(format="rgba64le"))  # h x w x 4
    # Pictures without alpha are decoded as opaque.
    return Picture.with_alpha(values if colours == 3 else values[..., [0, 3]])


@contextmanager
def _guarded(path: Path) -> Iterator[None]:
    """Turn what libraries raise on a bad file into one sentence that names it."""
    from PIL import Image, UnidentifiedImageError

    with reading(path, "read as a picture", "replace it, or skip bad pictures"):
        try:
            yield
        except Image.DecompressionBombError as error:
            raise FormatError(
                f"{path} says it has more than {MAX_PIXELS:,} pixels; cut or shrink it, "
                "or skip bad pictures"
            ) from error
        except UnidentifiedImageError as error:
            raise FormatError(
                f"{path} is not a picture ({', '.join(FORMATS)}); remove it, or skip bad pictures"
            ) from error
