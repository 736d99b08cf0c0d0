"""The headers of a TIFF, looked at before anybody believes them.

One that is cut off, that points outside of the file or back to itself, or that asks for more than
anybody has, is refused here: libraries go as far as they get, without a word.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rankfold.errors import FormatError
from rankfold.io.budgets import (
    MAX_CHUNKS,
    check_chunks,
    check_count,
    check_density,
    check_picture,
    check_total,
)
from rankfold.io.tiff_descriptions import AXES, check_description, companions, imagej_counts
from rankfold.io.tiff_directories import Reader, Tags, directories, layout_of

# Tags by their numbers.
WIDTH = 256
HEIGHT = 257
BITS = 258
COMPRESSION = 259
DESCRIPTION = 270
OFFSETS = 273
SAMPLES = 277
ROWS = 278
TILE_WIDTH = 322
TILE_HEIGHT = 323
TILES = 324
DEPTH = 32997

# How parts of a page may be compressed, by the numbers of the TIFF specification: methods that
# decode to as much as the page says and no more, and JPEG, whose own header is looked at. Others,
# as JPEG 2000 and PNG, would be read whatever they hold.
JPEG = "jpeg"
UNCOMPRESSED = "none"
METHODS = {
    1: UNCOMPRESSED,
    2: "fax",
    3: "fax",
    4: "fax",
    5: "lzw",
    7: JPEG,
    8: "deflate",
    32773: "packbits",
    32946: "deflate",
    34925: "lzma",
    50000: "zstd",
}
JPEG_MAGIC = b"\xff\xd8"
# Of a JPEG: how a segment begins, the last one before the pixels, and those that have the size.
SEGMENT = struct.Struct(">BBH")
START_OF_SCAN = 0xDA
START_OF_FRAME = (*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0))
MAX_SEGMENTS = 100

# Unit: bytes. As many may lie behind the pixels of a file that is whole.
PADDING = 16


def check_headers(path: str | Path) -> None:
    """Raise a FormatError if the directories of a TIFF cannot be as they say.

    A file that does not begin as a TIFF does passes: who reads it says so.
    """
    for text in _check_file(path):
        check_description(path, text)
        # Who reads the file opens these as well.
        for companion in companions(Path(path), text):
            _check_file(companion)


def _check_file(path: str | Path) -> list[str]:
    """Look at all pages of a file; returns the descriptions of the first."""
    size = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        start = file.read(16)
        layout = layout_of(start)
        if layout is None:
            return []
        (begin,) = layout.offset.unpack_from(start, 8 if layout.is_big else 4)
        reader = Reader(path, file, layout, size)
        texts: list[str] = []
        decoded = 0
        count = 0
        for entries in directories(reader, begin):
            # Of a tag that is there twice, libraries read the first.
            tags = {entry.number: entry for entry in reversed(entries)}
            if count == 0:
                texts = [reader.text(one) for one in entries if one.number == DESCRIPTION]
            count += 1
            check_count(path, count)
            parts = _check_page(reader, tags)
            if parts is None:
                continue
            decoded += parts.decoded
            check_density(path, size, parts.decoded)
            check_total(path, size, decoded)
            if parts.method == JPEG:
                _check_inside(reader, tags, parts)
        if count == 1 and parts is not None:
            _check_behind(reader, begin, tags, parts, texts)
    return texts


@dataclass(frozen=True)
class _Parts:
    """The parts in which a page is stored: strips or tiles."""

    height: int
    width: int
    # How they are compressed.
    method: str
    # Unit: bytes. The whole page, once it is decoded.
    decoded: int


def _check_page(reader: Reader, tags: Tags) -> _Parts | None:
    """Refuse a page of a size that cannot be; return its parts, or None if it is no page."""
    if WIDTH not in tags or HEIGHT not in tags:
        # A directory of something else; who reads the file says so.
        return None
    path = reader.path
    height = reader.number(tags, HEIGHT, 1)
    width = reader.number(tags, WIDTH, 1)
    samples = reader.number(tags, SAMPLES, 1) * reader.number(tags, DEPTH, 1)
    bits = max(reader.numbers(tags, BITS), default=1)
    itemsize = max(bits // 8, 1)
    check_picture(path, height, width, samples, itemsize)
    if TILES in tags:
        across = max(reader.number(tags, TILE_WIDTH, width), 1)
        down = max(reader.number(tags, TILE_HEIGHT, height), 1)
    else:
        across = width
        down = min(max(reader.number(tags, ROWS, height), 1), height)
    parts = math.ceil(width / across) * math.ceil(height / down)
    check_chunks(path, parts, across * down * samples * itemsize)
    method = reader.number(tags, COMPRESSION, 1)
    if method not in METHODS:
        raise FormatError(
            f"{path} is compressed by method {method} of TIFF, which is not read; write it again "
            f"with one of {', '.join(dict.fromkeys(METHODS.values()))}"
        )
    return _Parts(down, across, METHODS[method], height * width * samples * itemsize)


def _check_behind(
    reader: Reader, directory: int, tags: Tags, parts: _Parts, texts: list[str]
) -> None:
    """Refuse a stack of ImageJ whose only page has a header, and whose others are not all there.

    Libraries would take it for one picture. It is one if nothing lies behind its pixels: programs
    that cut a stack into pictures leave the description as it was.
    """
    offsets = reader.numbers(tags, OFFSETS, 2)
    if parts.method != UNCOMPRESSED or len(offsets) != 1 or directory > offsets[0]:
        return
    counts = next(filter(None, map(imagej_counts, texts)), {})
    samples = reader.number(tags, SAMPLES, 1)
    # The colours of a pixel may be called channels.
    alone = {"channels"} if counts.get("channels") == samples else set()
    pictures = math.prod(counts.get(axis, 1) for axis in AXES if axis not in alone)
    behind = reader.size - offsets[0]
    if parts.decoded + PADDING < behind < pictures * parts.decoded:
        raise FormatError(
            f"{reader.path} is cut off: it says that it has {pictures} pages, and they are not all "
            "there; restore it from a copy"
        )


def _check_inside(reader: Reader, tags: Tags, parts: _Parts) -> None:
    """Refuse a page whose parts are JPEG pictures that say they are larger than the parts."""
    offsets = reader.numbers(tags, OFFSETS if OFFSETS in tags else TILES, MAX_CHUNKS)
    for place in offsets:
        inside = _jpeg_size(reader.file, place)
        if inside is not None and (inside[0] > parts.height or inside[1] > parts.width):
            raise FormatError(
                f"{reader.path} holds a larger picture than its header says ({inside[1]} x "
                f"{inside[0]} pixels in a part of {parts.width} x {parts.height}); write it again"
            )


def _jpeg_size(file: IO[bytes], place: int) -> tuple[int, int] | None:
    """Height and width of a JPEG picture somewhere in a file; None if it does not say."""
    file.seek(place + len(JPEG_MAGIC))
    for _ in range(MAX_SEGMENTS):
        head = file.read(SEGMENT.size)
        if len(head) < SEGMENT.size:
            return None
        mark, name, length = SEGMENT.unpack(head)
        if mark != 0xFF or name == START_OF_SCAN:
            return None
        if name in START_OF_FRAME:
            size = file.read(5)
            return None if len(size) < 5 else struct.unpack(">xHH", size)
        file.seek(length - 2, 1)
    return None
