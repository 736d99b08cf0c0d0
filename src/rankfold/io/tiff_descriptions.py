"""What the description of a TIFF says of its pictures, looked at before anybody believes it.

Microscopes, ImageJ and tifffile write into the first page how many pictures there are and how large
they are. Libraries make room for as many, whatever is in the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rankfold.io.budgets import check_count, check_picture

# ImageJ's words for how many pictures there are, in all and along each axis.
IMAGEJ = ("ImageJ", "SCIFIO")
IN_ALL = "images"
AXES = ("frames", "slices", "channels")

# What an OME description ends with, and where that is looked for: spaces may follow.
END_OF_OME = "OME>"
TAIL = 30
# The usual order of axes. The first two are those of a picture, the others count pictures.
USUAL_ORDER = "XYZCT"


def check_description(path: str | Path, text: str) -> None:
    """Refuse a description that speaks of more or larger pictures than can be."""
    if END_OF_OME in text[-TAIL:]:
        _check_ome(path, text)
    counts = imagej_counts(text)
    for count in (*counts.values(), math.prod(counts.get(axis, 1) for axis in AXES)):
        check_count(path, count)
    lengths = _shape(text)
    # The last three may be those of a picture in colour, and the first one counts if there are
    # three.
    check_count(path, math.prod(lengths[:-3]))
    if len(lengths) > 2:
        check_count(path, lengths[0])


def imagej_counts(text: str) -> dict[str, int]:
    """How many pictures ImageJ says there are, by its words; empty if it has not written this."""
    pairs = [line.partition("=") for line in text.splitlines()]
    found = {key.strip(): value.strip() for key, _, value in pairs}
    counts: dict[str, int] = {}
    if not any(name in found for name in IMAGEJ):
        return counts
    for name in (IN_ALL, *AXES):
        # What is no number counts nothing.
        with suppress(KeyError, ValueError, OverflowError):
            counts[name] = int(float(found[name]))
    return counts


def companions(path: Path, text: str) -> Iterator[Path]:
    """Other files in which pictures of an OME description are."""
    if END_OF_OME not in text[-TAIL:]:
        return
    for element in _elements(text):
        name = element.get("FileName")
        if name is not None and (path.parent / name).is_file():
            yield path.parent / name


def _check_ome(path: str | Path, text: str) -> None:
    """Refuse sizes and numbers of pictures in OME's XML."""
    # As many as there are by their axes, in the file, and by labels of folded axes.
    by_axes = 0
    by_places = 0
    by_labels = 0
    for element in _elements(text):
        tag = str(element.tag)
        if tag.endswith("Pixels"):
            order = element.get("DimensionOrder", USUAL_ORDER)
            sizes = [int(element.get(f"Size{axis}", 1)) for axis in order]
            check_picture(path, *sizes[1::-1])
            by_axes += math.prod(sizes[2:])
        elif tag.endswith("TiffData"):
            # A later version calls the same number by another name.
            by_places += max(int(element.get(name, 0)) for name in ("NumPlanes", "PlaneCount"))
        elif tag[:-1].endswith("Along"):
            by_labels += _labels(element)
        check_count(path, max(by_axes, by_places, by_labels))


def _labels(element: Any) -> int:
    """How many places an axis has that is folded into another one."""
    start, end, step = (float(element.get(name, 1)) for name in ("Start", "End", "Step"))
    return int((end - start) / step) if step else 0


def _elements(text: str) -> Iterator[Any]:
    """All elements of some XML; none if it is damaged, which libraries do not believe either."""
    try:
        root = ElementTree.fromstring(text.strip("\0"))
    except ElementTree.ParseError:
        return
    yield from root.iter()


def _shape(text: str) -> list[int]:
    """The shape that tifffile has noted; empty if it has not."""
    begin, _, numbers = text.strip("\0").partition("=")
    try:
        if begin == "shape":
            # As early versions wrote it: shape=(3, 8, 8)
            return [int(one) for one in numbers.strip("()").split(",") if one.strip()]
        return [int(one) for one in json.loads(text.strip("\0"))["shape"]]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return []
