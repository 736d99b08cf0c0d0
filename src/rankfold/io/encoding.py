"""Write one picture to one file, in the format that its ending names."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError, RankfoldError
from rankfold.io.metadata import NOTHING_KNOWN, Metadata
from rankfold.io.pillow import PNG_MAGIC
from rankfold.io.source import Array, as_type, unit_of
from rankfold.io.tiff import as_samples, write_tiff_picture
from rankfold.stack import Bools

TIFF = (".tif", ".tiff")
JPEG = (".jpg", ".jpeg")
PNM = (".pgm", ".ppm", ".pnm")
WRITTEN = (*TIFF, *PNM, *JPEG, ".png", ".webp", ".bmp")

# Unit: pixels, of what these formats can say.
LONGEST_SIDES = {".webp": 16_383, ".jpg": 65_500, ".jpeg": 65_500}
# Unit: bytes. What a camera says has to fit into one segment of a JPEG.
MOST_EXIF = 65_527
# Unit: px an inch, in 16 bits.
MOST_JPEG_INCH = 65_535

# What Pillow is told for some of the endings.
OPTIONS: dict[str, dict[str, Any]] = {
    ".jpg": {"quality": 95},
    ".jpeg": {"quality": 95},
    ".webp": {"lossless": True},
}


def write_picture(
    path: str | Path,
    values: Array,
    dtype: npt.DTypeLike = np.uint8,
    metadata: Metadata = NOTHING_KNOWN,
) -> None:
    """Write a picture in the format that the ending of ``path`` names.

    Parameters
    ----------
    path : str or Path
    values : (h, w) or (h, w, c) array
        NaN is missing: transparent in PNG and WebP, zero elsewhere. Floats keep it, in TIFF.
    dtype : type
        In whose units the values are. TIFF stores every type, PNG and PNM 8 and 16 bits, the
        others 8 bits; what a format does not store is scaled to 8 bits.
    metadata : Metadata
        Colour profile, camera and resolution, as far as the format has room for them.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in WRITTEN:
        raise InputError(
            f"cannot tell a format from {path.name!r}; end it in one of {', '.join(WRITTEN)}"
        )
    missing = np.isnan(values).reshape(*values.shape[:2], -1)  # h x w x channels
    valid = np.asarray(~missing.any(axis=2))
    # The encoders below expect the byte order of this machine.
    kind = np.dtype(dtype).newbyteorder("=")
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[..., 0]
    if ending in TIFF:
        with _encoding(path):
            write_tiff_picture(path, as_samples(values, kind), metadata)
        return
    if values.ndim == 3 and values.shape[2] != 3:
        raise InputError(
            f"{path.name} would have {values.shape[2]} channels, which {ending} cannot hold; "
            "use the format tiff"
        )
    if kind not in (np.dtype(np.uint8), np.dtype(np.uint16)):
        # Neither Pillow nor the encoders below store this type.
        values = values * (255 / unit_of(kind))
        kind = np.dtype(np.uint8)
    _check_sides(path, values.shape)
    with _encoding(path):
        _write_stored(path, ending, as_type(values, kind), valid, metadata)


def _check_sides(path: Path, shape: tuple[int, ...]) -> None:
    """Refuse a picture that is longer than its format can say."""
    most = LONGEST_SIDES.get(path.suffix.lower(), max(shape))
    if max(shape) > most:
        raise InputError(
            f"{path.name} would have {shape[0]} x {shape[1]} pixels, and {path.suffix} holds at "
            f"most {most:,} a side; use the format tiff"
        )


@contextmanager
def _encoding(path: Path) -> Iterator[None]:
    """Turn what an encoder says of a picture that it cannot write into a sentence."""
    try:
        yield
    except RankfoldError:
        raise
    except (ValueError, OverflowError, struct.error) as error:
        raise InputError(f"{path.name} cannot be written ({error}); use another format") from error


def _write_stored(path: Path, ending: str, stored: Array, valid: Bools, metadata: Metadata) -> None:
    """Write uint8 or uint16 (h, w[, 3]) to anything but a TIFF."""
    is_deep = stored.dtype == np.uint16
    if ending == ".png" and is_deep:
        path.write_bytes(_png16(stored, valid, metadata))
    elif ending in PNM:
        path.write_bytes(_pnm(stored))
    else:
        # The upper eight of sixteen bits.
        eight_bits = (stored >> 8).astype(np.uint8) if is_deep else stored
        _write_8bit(path, eight_bits, valid, ending, metadata)


def _write_8bit(path: Path, stored: Array, valid: Bools, ending: str, metadata: Metadata) -> None:
    """Let Pillow write uint8 (h, w[, 3])."""
    from PIL import Image

    if ending in (".png", ".webp") and not valid.all():
        alpha = np.where(valid, 255, 0).astype(np.uint8)
        stored = np.dstack([stored, alpha])
    if ending in JPEG:
        metadata = _fitting_jpeg(metadata)
    Image.fromarray(stored).save(path, **OPTIONS.get(ending, {}), **metadata.for_pillow)


def _fitting_jpeg(metadata: Metadata) -> Metadata:
    """Leave out what a JPEG has no room for."""
    if len(metadata.exif or b"") > MOST_EXIF:
        metadata = replace(metadata, exif=None)
    if max(metadata.resolution or (0, 0)) > MOST_JPEG_INCH:
        metadata = replace(metadata, resolution=None)
    return metadata


def _png16(stored: Array, valid: Bools, metadata: Metadata) -> bytes:
    """Encode uint16 (h, w[, 3]) as a PNG, transparent where nothing is valid."""
    planes = stored.reshape(*stored.shape[:2], -1)
    if not valid.all():
        alpha = np.where(valid, 65535, 0).astype(np.uint16)
        planes = np.dstack([planes, alpha])
    height, width, channels = planes.shape
    # Kinds of PNG: 0 is grey, 4 grey with alpha, 2 RGB, 6 RGB with alpha.
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)
    # PNG has the high byte first.
    rows = planes.astype(">u2").reshape(height, -1).view(np.uint8)
    # Every row begins with the number of its filter; 0 is none.
    raw = np.column_stack([np.zeros(height, np.uint8), rows]).tobytes()
    return b"".join(
        [
            PNG_MAGIC,
            _chunk(b"IHDR", header),
            *(_chunk(name, body) for name, body in metadata.png_chunks()),
            _chunk(b"IDAT", zlib.compress(raw, 6)),
            _chunk(b"IEND", b""),
        ]
    )


def _chunk(name: bytes, body: bytes) -> bytes:
    """Encode a chunk of a PNG: its length, name, body and checksum."""
    length = struct.pack(">I", len(body))
    checksum = struct.pack(">I", zlib.crc32(name + body))
    return length + name + body + checksum


def _pnm(stored: Array) -> bytes:
    """Encode uint8 or uint16 (h, w[, 3]) as a binary PGM or PPM."""
    is_colour = stored.ndim == 3 and stored.shape[2] == 3
    magic = "P6" if is_colour else "P5"
    height, width = stored.shape[:2]
    top = np.iinfo(stored.dtype).max
    head = f"{magic}\n{width} {height}\n{top}\n".encode()
    return head + stored.astype(">u2" if top > 255 else np.uint8).tobytes()
