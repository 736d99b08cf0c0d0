"""What a decoding child and its parent say to each other: two lengths, a JSON text, and bytes.

The child has read a file that may be an attack, so that nothing it says is believed: there are no
pickles, every number is looked at, and no more is read than a picture may have.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rankfold.io.budgets import check_picture
from rankfold.io.metadata import Metadata
from rankfold.io.source import Picture

# Bytes of the text and of what follows it.
LENGTHS = struct.Struct(">QQ")
# Unit: bytes. The names and sizes of a million pictures.
MAX_TEXT = 2**28


def packed(value: Mapping[str, Any], body: bytes = b"") -> bytes:
    """Write one message."""
    text = json.dumps(value).encode("ascii")
    return LENGTHS.pack(len(text), len(body)) + text + body


def unpacked(take: Callable[[int], bytes]) -> tuple[dict[str, Any], int]:
    """Read the text of a message, and how many bytes follow it.

    Parameters
    ----------
    take : function
        Gives the next so many bytes.
    """
    length, following = LENGTHS.unpack(take(LENGTHS.size))
    if length > MAX_TEXT:
        raise ValueError("that is too long for a message")
    value = json.loads(take(length))
    if not isinstance(value, dict):
        raise TypeError("that is no message")
    return value, following


def message_of(picture: Picture) -> bytes:
    """Write the message that is a picture."""
    values = np.ascontiguousarray(picture.values)
    body = values.tobytes()
    if picture.mask is not None:
        body += np.ascontiguousarray(picture.mask).tobytes()
    has_mask = picture.mask is not None
    return packed({"shape": values.shape, "dtype": values.dtype.str, "mask": has_mask}, body)


def kind_of(shape: Any, dtype: Any, path: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read shape and type of a picture; refuse what is none."""
    size = tuple(int(side) for side in shape)
    kind = np.dtype(str(dtype))
    if len(size) not in (2, 3) or kind.kind not in "biuf":
        raise ValueError("that is no picture")
    check_picture(path, size[0], size[1], math.prod(size[2:]), kind.itemsize)
    return size, kind


def picture_of(
    head: Mapping[str, Any], following: int, take: Callable[[int], bytes], path: str
) -> Picture:
    """Read the picture that follows its text."""
    shape, kind = kind_of(head["shape"], head["dtype"], path)
    size = math.prod(shape) * kind.itemsize
    masked = math.prod(shape[:2]) if head["mask"] else 0
    if following != size + masked:
        raise ValueError("that is not as long as a picture is")
    values = np.frombuffer(take(size), kind).reshape(shape)
    mask = np.frombuffer(take(masked), np.uint8).reshape(shape[:2]) != 0 if masked else None
    return Picture(values, mask)


def notes_of(metadata: Metadata) -> dict[str, Any]:
    """What a file says of its picture, as JSON knows it."""
    return {
        "profile": _as_text(metadata.profile),
        "exif": _as_text(metadata.exif),
        "resolution": metadata.resolution,
        "texts": {str(tag): text for tag, text in metadata.texts.items()},
    }


def metadata_of(notes: Mapping[str, Any]) -> Metadata:
    """Read what a file says of its picture."""
    resolution = notes["resolution"]
    return Metadata(
        profile=_as_bytes(notes["profile"]),
        exif=_as_bytes(notes["exif"]),
        resolution=None if resolution is None else (float(resolution[0]), float(resolution[1])),
        texts={int(tag): str(text) for tag, text in notes["texts"].items()},
    )


def _as_text(value: bytes | None) -> str | None:
    """Bytes as text."""
    return None if value is None else base64.b64encode(value).decode("ascii")


def _as_bytes(text: str | None) -> bytes | None:
    """Text as the bytes that it was."""
    return None if text is None else base64.b64decode(text)
