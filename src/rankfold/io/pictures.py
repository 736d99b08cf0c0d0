"""One picture from one file, and back: 8 and 16 bits, floats, alpha as a mask, turned as the camera was held."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError, InputError
from rankfold.io.source import Array, Picture, as_type, reading
from rankfold.io.tiff import read_tiff, tiff_header, write_tiff_picture

R = TypeVar("R")

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm", ".pnm", ".tif", ".tiff", ".webp")
TIFF = (".tif", ".tiff")
MAX_PIXELS = (
    170_000_000  # a larger header is a mistake or an attack; Pillow has about the same limit
)
PNG_MAGIC = b"\x89PNG\r\n\x1a\n"


def read_picture(path: str | Path) -> Array:
    """Read the values of a picture as they are stored: (h, w) or (h, w, c), integers or floats, without alpha."""
    return load_picture(path).values


def load_picture(path: str | Path) -> Picture:
    """Read a picture and its mask."""
    path = Path(path)
    return _guarded(path, lambda: read_tiff(path) if path.suffix.lower() in TIFF else _read(path))


def picture_header(path: str | Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type that :func:`load_picture` will give, from the first bytes of the file."""
    path = Path(path)

    def look() -> tuple[tuple[int, ...], np.dtype[Any]]:
        if path.suffix.lower() in TIFF:
            return tiff_header(path)
        with _open(path) as image:
            width, height = image.size
            if image.getexif().get(0x0112, 1) >= 5:  # turned by a quarter
                width, height = height, width
            deep = _deep(path)
            kind = np.dtype(
                np.uint16
                if deep or image.mode.startswith("I")
                else np.float32
                if image.mode == "F"
                else "u1"
            )
            grey = image.mode in ("L", "LA", "La", "1", "I", "F") or image.mode.startswith("I;")
            colour = deep == 3 if deep else not grey
            return (height, width, 3) if colour else (height, width), kind

    return _guarded(path, look)


def write_picture(path: str | Path, values: Array, dtype: npt.DTypeLike = np.uint8) -> None:
    """Write a picture in the format that the ending of ``path`` names, as ``dtype``.

    NaN is missing: transparent in PNG and WebP, zero elsewhere; floats keep it (TIFF).
    """
    path = Path(path)
    ending = path.suffix.lower()
    seen = np.asarray(~np.isnan(values).reshape(*values.shape[:2], -1).any(axis=2))
    kind = np.dtype(dtype).newbyteorder("=")
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[..., 0]
    if ending in TIFF:
        write_tiff_picture(path, as_type(values, kind))
        return
    if values.ndim == 3 and values.shape[2] != 3:
        raise InputError(
            f"{path.name} would have {values.shape[2]} channels, which {ending} cannot hold; use --format tiff"
        )
    if kind not in (np.dtype(np.uint8), np.dtype(np.uint16)):
        top = 1.0 if not np.issubdtype(kind, np.integer) else float(np.iinfo(kind).max)
        values, kind = values * (255 / top), np.dtype(np.uint8)
    stored = as_type(values, kind)
    if ending == ".png" and kind == np.uint16:
        path.write_bytes(_png16(stored, seen))
    elif ending in (".pgm", ".ppm", ".pnm"):
        path.write_bytes(_pnm(stored))
    else:
        _write_8bit(
            path, stored if kind == np.uint8 else (stored >> 8).astype(np.uint8), seen, ending
        )


def _write_8bit(path: Path, stored: Array, seen: npt.NDArray[np.bool_], ending: str) -> None:
    """Let Pillow write it."""
    from PIL import Image

    if ending in (".png", ".webp") and not seen.all():
        stored = np.dstack([stored, np.where(seen, 255, 0).astype(np.uint8)])
    options = {".jpg": {"quality": 95}, ".jpeg": {"quality": 95}, ".webp": {"lossless": True}}.get(
        ending, {}
    )
    Image.fromarray(stored).save(path, **options)  # type: ignore[arg-type]


def _read(path: Path) -> Picture:
    """Everything but TIFF."""
    from PIL import ImageOps

    if colours := _deep(path):
        return _read_deep(path, colours)
    with _open(path) as opened:
        image = ImageOps.exif_transpose(opened)
        mode = image.mode
        if mode in ("P", "PA", "CMYK", "YCbCr", "LAB", "HSV", "RGBX", "RGBa", "La"):
            transparent = "transparency" in image.info or mode in ("PA", "RGBa", "La")
            image = image.convert("RGBA" if transparent else "RGB")
        elif mode in ("L", "RGB") and "transparency" in image.info:
            image = image.convert(mode + "A")
        elif mode == "1":
            image = image.convert("L")
        values = np.array(image)
    if mode == "I":
        values = as_type(values, np.uint16)
    if image.mode in ("LA", "RGBA"):
        mask = values[..., -1] >= 128
        values = values[..., 0] if image.mode == "LA" else values[..., :3]
        return Picture(np.ascontiguousarray(values), None if mask.all() else mask)
    return Picture(values)


def _deep(path: Path) -> int:
    """Colours of a PNG or PPM that has 16 bits of several, or grey and alpha, which Pillow would cut to eight; or 0."""
    with path.open("rb") as file:
        start = file.read(512)
    if start.startswith(PNG_MAGIC) and len(start) >= 26:
        return {2: 3, 4: 1, 6: 3}.get(start[25], 0) if start[24] == 16 else 0
    head = re.sub(rb"#[^\n]*\n", b"\n", start).split()  # a header may have comments
    return (
        3
        if head[:1] == [b"P6"] and len(head) > 3 and head[3].isdigit() and int(head[3]) > 255
        else 0
    )


def _read_deep(path: Path, colours: int) -> Picture:
    """16 bits a colour, by the video library's picture decoders."""
    import imageio.v3 as iio

    with iio.imopen(path, "r", plugin="pyav") as file:
        values = np.asarray(file.read(index=0, format="rgba64le"))
    mask, seen = values[..., 3] >= 2**15, values[..., :3] if colours == 3 else values[..., 0]
    return Picture(np.ascontiguousarray(seen), None if mask.all() else mask)


def _open(path: Path) -> Any:
    """Pillow's view of a file, its size checked before anything is decoded."""
    import warnings

    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit is below
        image = Image.open(path)
    check_size(path, *image.size)
    return image


def check_size(path: Path, width: int, height: int) -> None:
    """Refuse a header that would fill the memory."""
    if width * height > MAX_PIXELS:
        raise FormatError(
            f"{path} says it is {width} x {height} pixels, more than the {MAX_PIXELS:,} that are read; "
            "cut or shrink it, or leave it out with --skip-bad"
        )


def _guarded(path: Path, read: Callable[[], R]) -> R:
    """Turn what libraries raise on a bad file into one sentence that names it."""
    from PIL import Image, UnidentifiedImageError

    with reading(path, "read as a picture", "replace it or leave it out with --skip-bad"):
        try:
            return read()
        except Image.DecompressionBombError as error:
            raise FormatError(
                f"{path} says it has more than {MAX_PIXELS:,} pixels; cut or shrink it, or leave it out with --skip-bad"
            ) from error
        except UnidentifiedImageError as error:
            raise FormatError(
                f"{path} is not a picture; remove it or leave it out with --skip-bad"
            ) from error


def _png16(stored: Array, seen: npt.NDArray[np.bool_]) -> bytes:
    """A 16-bit PNG, grey or colour, transparent where nothing was seen."""
    planes = stored.reshape(*stored.shape[:2], -1)
    if not seen.all():
        planes = np.dstack([planes, np.where(seen, 65535, 0).astype(np.uint16)])
    height, width, channels = planes.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = planes.astype(">u2").reshape(height, -1).view(np.uint8)
    raw = np.column_stack([np.zeros(height, np.uint8), rows]).tobytes()  # filter 0 before every row
    header = struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(raw, 6)), (b"IEND", b""))
    return PNG_MAGIC + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )


def _pnm(stored: Array) -> bytes:
    """A binary PGM or PPM of 8 or 16 bits."""
    magic = b"P6" if stored.ndim == 3 and stored.shape[2] == 3 else b"P5"
    top = np.iinfo(stored.dtype).max
    head = magic + f"\n{stored.shape[1]} {stored.shape[0]}\n{top}\n".encode()
    return head + stored.astype(">u2" if top > 255 else np.uint8).tobytes()
