"""Files opened with Pillow: only formats that are named, and nothing decoded that need not be."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path
from typing import Any

from rankfold.errors import FormatError
from rankfold.io.budgets import check_density, check_picture

# What a file may be, whatever its ending: Pillow has forty more formats that nobody needs here.
FORMATS = ("PNG", "JPEG", "BMP", "PPM", "WEBP")

# Pillow's names for kinds of pixels that are grey; all others have three colours or four.
GREY_MODES = ("L", "LA", "La", "1", "I", "F")

# The EXIF tag that says how the camera was held; values from 5 on swap height and width.
ORIENTATION = 0x0112
UPRIGHT = 1
FIRST_SIDEWAYS = 5

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
# The length and the name of a chunk, before its body.
CHUNK = struct.Struct(">I4s")
CHECKSUM = 4
# Of a JPEG: what a scan begins with. In coded pixels, the second byte is never behind the first.
START_OF_SCAN = b"\xff\xda"
# Every scan goes over all pixels: so many are decoded, in all scans together. That takes some
# seconds, and cameras write one scan, programs about ten.
MAX_SCANNED = 2**34
# Unit: bytes. Read at a time.
PIECE = 2**20
# A PNG with more chunks than this is not looked through.
MAX_PNG_CHUNKS = 100_000
# Unit: bytes. No camera notes more.
MAX_NOTES = 2**24


def open_image(path: Path) -> Any:
    """Open a file, its size checked before anything is decoded."""
    from PIL import Image

    with warnings.catch_warnings():
        # Our own budgets hold here.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        image = Image.open(path, formats=FORMATS)
    width, height = image.size
    try:
        # Pillow keeps colours in four bytes.
        is_grey = image.mode in GREY_MODES
        check_picture(path, height, width, 1 if is_grey else 4)
        check_density(path, path.stat().st_size, height * width * (1 if is_grey else 3))
    except BaseException:
        image.close()
        raise
    return image


def exif_of(image: Any, path: Path) -> Any:
    """Return what a camera noted, of an image that Pillow has opened and not yet decoded."""
    from PIL import Image

    if image.format == "PNG" and "exif" not in image.info:
        # To find it behind the pixels, Pillow would decode all of them.
        late = _late_exif(path)
        if late is not None:
            image.info["exif"] = b"Exif\0\0" + late
    # Not the method of the PNG's own class, for the same reason.
    return Image.Image.getexif(image)


def _late_exif(path: Path) -> bytes | None:
    """Return the EXIF chunk of a PNG, wherever it is; None without one."""
    with path.open("rb") as file:
        if file.read(len(PNG_MAGIC)) != PNG_MAGIC:
            return None
        for _ in range(MAX_PNG_CHUNKS):
            head = file.read(CHUNK.size)
            if len(head) < CHUNK.size:
                return None
            length, name = CHUNK.unpack(head)
            if name == b"eXIf":
                return file.read(min(length, MAX_NOTES))
            if name == b"IEND":
                return None
            file.seek(length + CHECKSUM, 1)
    return None


def check_scans(path: Path, image: Any) -> None:
    """Refuse a JPEG whose pixels would be gone over for minutes."""
    if image.format not in ("JPEG", "MPO"):
        return
    scans = 0
    last = b""
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            scans += (last + piece).count(START_OF_SCAN)
            # A mark may lie across two pieces.
            last = piece[-1:]
    width, height = image.size
    if scans * width * height > MAX_SCANNED:
        raise FormatError(
            f"{path} has {scans:,} scans of {width} x {height} pixels, which would take minutes to "
            "decode; write it again, or skip bad pictures"
        )
