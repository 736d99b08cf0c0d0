"""How much a file may say it holds, whatever its format: pixels, samples, pictures and chunks.

A header of a few bytes can ask for any amount of memory and time. What is above these limits is a
mistake in the header or an attack, and is refused before anything of it is decoded.
"""

from __future__ import annotations

from pathlib import Path

from rankfold.errors import FormatError

# Of one picture. The largest sensors have about as many; Pillow has about the same limit.
MAX_PIXELS = 170_000_000
# Unit: bytes. One picture, or one chunk or archive member that is read whole, once it is decoded.
MAX_BYTES = 2**30
# Pictures in one file.
MAX_PICTURES = 1_000_000
# Separately stored parts of one picture: strips, tiles or chunks.
MAX_CHUNKS = 100_000
# So many chunks, each in a file of its own, may be as small as they like; others have at least so
# many bytes, since to look for a file takes as long as to read that much.
MANY_CHUNKS = 1000
SMALL_CHUNK = 4096

# A large picture of less than one byte in its file for so many when decoded is a bomb or cut off:
# the best coders need one for about 200 where there is any noise, and nothing else can be aligned.
MAX_RATIO = 400
# Unit: bytes, decoded. Smaller pictures may be as dense as they like.
LARGE = 2**25

# The same for all pictures of a file together: films of what hardly moves are dense, but not so.
MAX_TOTAL_RATIO = 50_000
LARGE_TOTAL = 2**32


def check_picture(
    path: str | Path, height: int, width: int, values: int = 1, itemsize: int = 1
) -> None:
    """Refuse a picture whose header would fill the memory.

    Parameters
    ----------
    path : str or Path
        Its file.
    height, width : int
    values : int
        A pixel.
    itemsize : int
        Bytes a value, decoded.
    """
    pixels = height * width
    if min(height, width, values) < 1:
        raise FormatError(
            f"{path} says it is {width} x {height} pixels of {values} values, which is no picture; "
            "replace it, or skip bad pictures"
        )
    if pixels > MAX_PIXELS or pixels * values * itemsize > MAX_BYTES:
        raise FormatError(
            f"{path} says it is {width} x {height} pixels of {values * itemsize} bytes, more than "
            f"the {MAX_PIXELS:,} pixels or {MAX_BYTES / 2**30:.0f} GiB that are read; cut or "
            "shrink it, or skip bad pictures"
        )


def check_density(path: str | Path, size: int, decoded: int) -> None:
    """Refuse a large picture of ``decoded`` bytes whose file of ``size`` bytes cannot hold it."""
    if decoded > LARGE and decoded > MAX_RATIO * size:
        raise FormatError(
            f"{path} has {size:,} bytes for a picture of {decoded:,}: it is cut off, or says that "
            "it is larger than it is; replace it, or skip bad pictures"
        )


def check_total(path: str | Path, size: int, decoded: int) -> None:
    """Refuse a small file of ``size`` bytes that would be decoded for minutes."""
    if decoded > LARGE_TOTAL and decoded > MAX_TOTAL_RATIO * size:
        raise FormatError(
            f"{path} has {size:,} bytes for pictures of {decoded:,} together, which can show "
            "hardly anything; cut it, or write it with smaller pictures"
        )


def check_count(path: str | Path, count: int) -> None:
    """Refuse a file that says it has more pictures than anybody has."""
    if count > MAX_PICTURES:
        raise FormatError(
            f"{path} says it has {count:,} pictures, more than the {MAX_PICTURES:,} that are read; "
            "cut it into several files"
        )


def check_chunks(path: str | Path, count: int, size: int, least: int = 0) -> None:
    """Refuse a picture in very many parts, or in parts of very many bytes once decoded.

    Parameters
    ----------
    path : str or Path
        Its file.
    count : int
        Parts of the picture.
    size : int
        Bytes of a part.
    least : int
        Bytes that a part must have where there are many.
    """
    if count > MANY_CHUNKS and size < least:
        raise FormatError(
            f"{path} stores a picture in {count:,} parts of only {size:,} bytes; write it again "
            "with larger chunks"
        )
    if count > MAX_CHUNKS or size > MAX_BYTES:
        raise FormatError(
            f"{path} stores a picture in {count:,} parts of {size:,} bytes; more than "
            f"{MAX_CHUNKS:,} parts, or parts of more than {MAX_BYTES / 2**30:.0f} GiB, are not "
            "read; write it again with other chunks"
        )
