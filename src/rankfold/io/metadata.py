"""What a file says of its picture besides the pixels: colour profile, camera, resolution."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rankfold.io.guard import reading
from rankfold.io.pillow import ORIENTATION, UPRIGHT, exif_of, open_image
from rankfold.io.tiff_headers import check_headers

TIFF = (".tif", ".tiff")

# Tags of a TIFF that are text about where a picture came from, by their numbers.
TEXTS = {270: "description", 271: "make", 272: "model", 306: "date", 315: "artist", 33432: "rights"}
PROFILE = 34675

# Unit: px an inch. Of an inch to a metre, in which PNG counts.
INCHES_A_METRE = 39.3701
# Unit: px an inch. More than any microscope has.
MOST_INCH = 1e6
# What TIFF calls inches and centimetres.
INCH = 2
CENTIMETRE = 3
INCHES_A_CENTIMETRE = 0.393701


@dataclass(frozen=True)
class Metadata:
    """What a file says of its picture.

    Attributes
    ----------
    profile : bytes, optional
        The ICC profile of its colours.
    exif : bytes, optional
        As it stands in JPEG and PNG, turned upright.
    resolution : (x, y), optional
        Pixels an inch.
    texts : dict
        Of a TIFF, by the numbers of their tags.
    """

    profile: bytes | None = None
    exif: bytes | None = None
    resolution: tuple[float, float] | None = None
    texts: dict[int, str] = field(default_factory=dict)

    @property
    def for_pillow(self) -> dict[str, Any]:
        """Give the arguments with which Pillow writes it."""
        given = {"icc_profile": self.profile, "exif": self.exif, "dpi": self.resolution}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def for_tiff(self) -> dict[str, Any]:
        """Give the arguments with which tifffile writes it."""
        options: dict[str, Any] = {}
        if self.profile is not None:
            options["iccprofile"] = self.profile
        if self.resolution is not None:
            options |= {"resolution": self.resolution, "resolutionunit": INCH}
        texts = dict(self.texts)
        description = texts.pop(270, None)
        if description is not None:
            options["description"] = description
        if texts:
            options["extratags"] = [(tag, 2, None, text, True) for tag, text in texts.items()]
        return options

    def png_chunks(self) -> list[tuple[bytes, bytes]]:
        """Give the chunks of a PNG, names and bodies, that stand before its pixels."""
        chunks = []
        if self.profile is not None:
            chunks.append((b"iCCP", b"ICC profile\0\0" + zlib.compress(self.profile)))
        if self.resolution is not None:
            x, y = (round(value * INCHES_A_METRE) for value in self.resolution)
            chunks.append((b"pHYs", struct.pack(">IIB", x, y, 1)))
        if self.exif is not None:
            chunks.append((b"eXIf", self.exif.removeprefix(b"Exif\0\0")))
        return chunks


NOTHING_KNOWN = Metadata()


def read_metadata(path: str | Path) -> Metadata:
    """Read what a file says of its picture; nothing of files that say nothing that is known."""
    path = Path(path)
    if not path.is_file():
        return NOTHING_KNOWN
    with reading(path, "read as a picture", "replace it, or skip bad pictures"):
        return _of_tiff(path) if path.suffix.lower() in TIFF else _of_picture(path)


def _of_picture(path: Path) -> Metadata:
    """Of anything that Pillow opens."""
    from PIL import UnidentifiedImageError

    try:
        with open_image(path) as image:
            info = dict(image.info)
            exif = exif_of(image, path)
    except UnidentifiedImageError:
        return NOTHING_KNOWN
    # Pictures are turned upright when they are read.
    if ORIENTATION in exif:
        exif[ORIENTATION] = UPRIGHT
    return Metadata(
        profile=info.get("icc_profile") or None,
        exif=exif.tobytes() if len(exif) else None,
        resolution=_plausible(*map(float, info.get("dpi", (0, 0)))),
    )


def _of_tiff(path: Path) -> Metadata:
    """Of the first page of a TIFF."""
    import tifffile

    check_headers(path)
    with tifffile.TiffFile(path) as file:
        tags = file.pages.first.tags
        profile = bytes(tags[PROFILE].value) if PROFILE in tags else None
        texts = {tag: str(tags[tag].value) for tag in TEXTS if tag in tags}
        resolution = _resolution(tags)
    # What tifffile writes there by itself says nothing of the picture.
    if texts.get(270, "").startswith('{"shape"'):
        del texts[270]
    return Metadata(
        profile=profile,
        resolution=resolution,
        texts={tag: text for tag, text in texts.items() if text.isascii() and text},
    )


def _resolution(tags: Any) -> tuple[float, float] | None:
    """Pixels an inch; None where a TIFF does not say, or only how they are shaped."""
    names = ("XResolution", "YResolution", "ResolutionUnit")
    if any(name not in tags for name in names):
        return None
    unit = int(tags["ResolutionUnit"].value)
    if unit not in (INCH, CENTIMETRE):
        return None
    factor = 1.0 if unit == INCH else 1 / INCHES_A_CENTIMETRE
    values = []
    for name in names[:2]:
        above, below = tags[name].value
        if not below or not above:
            return None
        values.append(factor * above / below)
    return _plausible(*values)


def _plausible(x: float, y: float) -> tuple[float, float] | None:
    """Pixels an inch; None for numbers that no file that is written could hold."""
    if not all(0 < value <= MOST_INCH for value in (x, y)):
        return None
    return x, y
