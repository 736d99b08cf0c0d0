"""Whether a video is as long as its container says: one that was cut off plays as a shorter one.

Every container is a row of pieces that say how long they are. FFmpeg reads as far as it gets and
says nothing where the last piece reaches beyond the end of the file; here that is looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

# More pieces than this are not looked through.
MAX_PIECES = 100_000

# MP4 and MOV: a length and a name; 1 stands for a longer length behind them, 0 for the rest.
BOX = struct.Struct(">I4s")
LONG_BOX = struct.Struct(">Q")
# What may lie in a row there; cameras write other things behind the last.
BOXES = frozenset(
    {b"ftyp", b"styp", b"sidx", b"moov", b"moof", b"mdat", b"mfra", b"free", b"skip", b"wide"}
    | {b"meta", b"udta", b"uuid", b"pnot", b"PICT"}
)
# AVI: a name, and the length of what follows.
RIFF = struct.Struct("<4sI")
# ASF: 16 bytes of a name, and the length of all. The header comes first, then the pictures.
OBJECT = struct.Struct("<16sQ")
OBJECTS = (
    bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c"),
    bytes.fromhex("3626b2758e66cf11a6d900aa0062ce6c"),
)
# Unit: bytes. As much is read of every piece; the longest of these has 24.
HEAD = 32

# Matroska: the names of the header and of what holds everything else.
EBML = 0x1A45DFA3
SEGMENT = 0x18538067
# Unit: bytes. The longest name and length together.
EBML_HEAD = 12

# MPEG program streams: what packs begin with, how long their head is, and what follows them.
PACK = b"\x00\x00\x01\xba"
START = b"\x00\x00\x01"
FIRST_PACKET = 0xBB
MPEG2_PACK = 14
MPEG1_PACK = 12
# Unit: bytes. The last pack is looked for in so many at the end; a pack has about 2,000.
END = 2**18


def is_cut_off(path: str | Path, kind: str) -> bool:
    """Say whether the last piece of a container reaches beyond the end of the file.

    Parameters
    ----------
    path : str or Path
    kind : str
        FFmpeg's names of the container. Of others than those of ENDS, nothing is known.
    """
    size = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        for name, ends in ENDS.items():
            if name in kind.split(","):
                return any(end > size for end in ends(file))
    return False


def _in_a_row(length_of: Callable[[bytes], int]) -> Callable[[IO[bytes]], Iterator[int]]:
    """Walk over pieces that lie one behind the other, to where each of them ends.

    ``length_of`` reads the head of a piece. It returns 0 where that does not say how long it is.
    """

    def ends(file: IO[bytes]) -> Iterator[int]:
        place = 0
        for _ in range(MAX_PIECES):
            file.seek(place)
            length = length_of(file.read(HEAD))
            if length <= 0:
                return
            place += length
            yield place

    return ends


def _box(head: bytes) -> int:
    """The length of a box of MP4 or MOV."""
    if len(head) < BOX.size:
        return 0
    (length, name) = BOX.unpack_from(head)
    if name not in BOXES:
        return 0
    if length == 1 and len(head) >= BOX.size + LONG_BOX.size:
        (length,) = LONG_BOX.unpack_from(head, BOX.size)
    return int(length) if length >= BOX.size else 0


def _riff(head: bytes) -> int:
    """The length of one of the parts of an AVI."""
    if len(head) < RIFF.size or not head.startswith(b"RIFF"):
        return 0
    (_, length) = RIFF.unpack_from(head)
    # These two stand where the writer could not go back.
    return 0 if length in (0, 2**32 - 1) else RIFF.size + int(length)


def _object(head: bytes) -> int:
    """The length of an object of ASF."""
    if len(head) < OBJECT.size:
        return 0
    (name, length) = OBJECT.unpack_from(head)
    return int(length) if name in OBJECTS and length >= OBJECT.size else 0


def _element(head: bytes) -> int:
    """The length of the header or the segment of a Matroska file."""
    if len(head) < EBML_HEAD or int.from_bytes(head[:4], "big") not in (EBML, SEGMENT):
        return 0
    # The first bit that is set says how many bytes the length has.
    count = 9 - head[4].bit_length()
    longest = 2 ** (7 * count) - 1
    length = int.from_bytes(head[4 : 4 + count], "big") & longest
    # The largest number stands for a length that nobody knew, as in a stream.
    return 0 if count > 8 or length == longest else 4 + count + length


def _packets(file: IO[bytes]) -> Iterator[int]:
    """Where each packet behind the last pack of an MPEG program stream ends."""
    begin = max(file.seek(0, 2) - END, 0)
    file.seek(begin)
    data = file.read(END)
    place = data.rfind(PACK)
    if place < 0 or len(data) < place + MPEG2_PACK:
        return
    # The first bits tell the second version, whose packs may be filled up.
    if data[place + 4] >> 6 == 1:
        place += MPEG2_PACK + (data[place + 13] & 7)
    else:
        place += MPEG1_PACK
    while data[place : place + 3] == START and len(data) >= place + 6:
        if data[place + 3] < FIRST_PACKET:
            # The end that programs may write.
            return
        place += 6 + int.from_bytes(data[place + 4 : place + 6], "big")
        yield begin + place


ENDS: dict[str, Callable[[IO[bytes]], Iterator[int]]] = {
    "mov": _in_a_row(_box),
    "avi": _in_a_row(_riff),
    "asf": _in_a_row(_object),
    "matroska": _in_a_row(_element),
    "mpeg": _packets,
}
"""How the ends of the pieces of a container are found, by FFmpeg's name of it."""
