"""The directories of a TIFF: a chain of tables of tags that point to places in the file."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rankfold.errors import FormatError

# Bytes of a value of each type.
SIZES = {
    1: 1,
    2: 1,
    3: 2,
    4: 4,
    5: 8,
    6: 1,
    7: 1,
    8: 2,
    9: 4,
    10: 8,
    11: 4,
    12: 8,
    13: 4,
    16: 8,
    17: 8,
    18: 8,
}
# How single numbers of a type are written.
NUMBERS = {
    1: "B",
    3: "H",
    4: "I",
    6: "b",
    8: "h",
    9: "i",
    13: "I",
    16: "Q",
    17: "q",
    18: "Q",
}
# Of a tag with several numbers, as bits a sample are, so many are read: all are alike.
SEVERAL = 16

# A directory with more tags than this is none; the largest have a hundred.
MAX_TAGS = 4096
# Unit: bytes. The descriptions of the largest plates have about half as many.
MAX_TEXT = 2**25


@dataclass(frozen=True)
class Layout:
    """How a file writes its numbers: classic TIFF, or BigTIFF with longer ones."""

    order: str
    is_big: bool

    @property
    def entry(self) -> struct.Struct:
        """A tag: its number, type, how many values, and the value or where it is."""
        return struct.Struct(self.order + ("HHQ8s" if self.is_big else "HHI4s"))

    @property
    def count(self) -> struct.Struct:
        """How many tags a directory has."""
        return struct.Struct(self.order + ("Q" if self.is_big else "H"))

    @property
    def offset(self) -> struct.Struct:
        """A place in the file."""
        return struct.Struct(self.order + ("Q" if self.is_big else "I"))


@dataclass(frozen=True)
class Entry:
    """A tag of a directory: its number, type, how many values, and these or where they are."""

    number: int
    kind: int
    count: int
    value: bytes

    @property
    def size(self) -> int:
        """Bytes of all values."""
        return SIZES.get(self.kind, 1) * self.count

    @property
    def is_here(self) -> bool:
        """Whether the values are in the directory itself."""
        return self.size <= len(self.value)


Tags = dict[int, Entry]
"""The tags of a directory by their numbers."""


@dataclass(frozen=True)
class Reader:
    """A file that is looked at."""

    path: str | Path
    file: IO[bytes]
    layout: Layout
    # Unit: bytes.
    size: int

    def place(self, entry: Entry) -> int:
        """Where the values of a tag are that are not in the directory."""
        return int(self.layout.offset.unpack(entry.value)[0])

    def bytes_of(self, entry: Entry, most: int) -> bytes:
        """The values of a tag, or the first of them."""
        if entry.is_here:
            return entry.value[: min(entry.size, most)]
        self.file.seek(self.place(entry))
        return self.file.read(min(entry.size, most))

    def numbers(self, tags: Tags, tag: int, most: int = SEVERAL) -> list[int]:
        """The first numbers of a tag; none if it is not there, or has no whole numbers."""
        entry = tags.get(tag)
        if entry is None or entry.kind not in NUMBERS:
            return []
        values = self.bytes_of(entry, SIZES[entry.kind] * most)
        letter = self.layout.order + NUMBERS[entry.kind]
        return [number for (number,) in struct.iter_unpack(letter, values)]

    def number(self, tags: Tags, tag: int, otherwise: int) -> int:
        """The first number of a tag, or another one without it."""
        return next(iter(self.numbers(tags, tag, 1)), otherwise)

    def text(self, entry: Entry) -> str:
        """A description."""
        if entry.size > MAX_TEXT:
            raise FormatError(
                f"{self.path} has a description of {entry.size:,} bytes, more than the "
                f"{MAX_TEXT:,} that are read; write it again without"
            )
        return self.bytes_of(entry, MAX_TEXT).decode(errors="replace")


def layout_of(start: bytes) -> Layout | None:
    """Read how a file writes its numbers; None of what is no TIFF."""
    order = {b"II": "<", b"MM": ">"}.get(start[:2])
    if order is None or len(start) < 16:
        return None
    (version,) = struct.unpack_from(order + "H", start, 2)
    return Layout(order, version == 43) if version in (42, 43) else None


def directories(reader: Reader, offset: int) -> Iterator[list[Entry]]:
    """Follow the chain of directories."""
    path = reader.path
    layout = reader.layout
    seen = set()
    while offset:
        if offset in seen:
            raise FormatError(f"the pages of {path} go round in a circle; write the stack again")
        seen.add(offset)
        reader.file.seek(offset)
        count_bytes = reader.file.read(layout.count.size)
        if len(count_bytes) < layout.count.size:
            raise _cut_off(path, len(seen) - 1)
        (count,) = layout.count.unpack(count_bytes)
        if count > MAX_TAGS:
            raise FormatError(
                f"page {len(seen) - 1} of {path} has {count:,} tags, so that it is damaged; "
                "write the stack again"
            )
        table = reader.file.read(count * layout.entry.size + layout.offset.size)
        if len(table) < count * layout.entry.size + layout.offset.size:
            raise _cut_off(path, len(seen) - 1)
        entries = [Entry(*one) for one in layout.entry.iter_unpack(table[: -layout.offset.size])]
        for entry in entries:
            if not entry.is_here and reader.place(entry) + entry.size > reader.size:
                raise _cut_off(path, len(seen) - 1)
        yield entries
        (offset,) = layout.offset.unpack(table[-layout.offset.size :])


def _cut_off(path: str | Path, page: int) -> FormatError:
    """Say that something lies behind the end of the file."""
    return FormatError(
        f"{path} is cut off or damaged: page {page} lies outside of the file; restore it from a "
        "copy or write the stack again"
    )
