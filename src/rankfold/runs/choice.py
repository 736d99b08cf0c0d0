"""Frame, start and reduction of a run, as the caller or the pictures determine them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfold.align.decomposition import check_one_size
from rankfold.align.given import check_transforms
from rankfold.align.reduction import (
    batch_reduction,
    default_reduction,
    lossless_reduction,
    reduction_for_frame,
)
from rankfold.arguments import whole
from rankfold.errors import InputError
from rankfold.families import Floats, get_family, shift
from rankfold.io import Source
from rankfold.result import Alignment
from rankfold.runs.folder import load_alignment
from rankfold.runs.points import read_points_csv
from rankfold.stack import Frame

NAMED_STARTS = ("centred", "identity")


@dataclass(frozen=True)
class Choice:
    """What is settled before the pictures are read.

    Attributes
    ----------
    frame : Frame
        The canonical grid.
    reduction : int
        The pictures are read so many times coarser than they are.
    init : "centred", "identity" or array (n, 3, 3)
        Where to begin. Transforms map frame coordinates to those of the pictures as they are on
        disk, whatever the reduction.
    """

    frame: Frame
    reduction: int
    init: str | Floats


def choose(
    source: Source,
    frame: tuple[int, int] | None = None,
    init: str = "centred",
    reduction: int | None = None,
    family: str = "similarity",
    sample: Source | None = None,
) -> Choice:
    """Settle how pictures are aligned: frame, start, and how far they can be reduced.

    Parameters
    ----------
    source : Source
        The pictures; only their sizes and names are looked at.
    frame : (height, width), optional
        The canonical grid. By default it has the median size of the pictures, reduced where that
        would be very large, or the size of the earlier run that ``init`` names.
    init : str
        "centred", "identity", the name of a .csv file of points, or the folder of an earlier run
        over pictures of the same names.
    reduction : int, optional
        By default the largest that loses nothing the frame could show.
    family : str
        A row of FAMILIES: points determine a transform no richer than this.
    sample : Source, optional
        The pictures that are aligned together, where that is a sample: by default, pictures are
        reduced so that this many have a sensible number of values.

    Returns
    -------
    Choice
    """
    # A frame that is none is refused before anything else is looked at.
    grid = None if frame is None else Frame.of(frame)
    if reduction is not None:
        whole("reduction", reduction, least=1)
    if init in NAMED_STARTS:
        return _choose_by_size(sample or source, grid, init, reduction)
    if init.lower().endswith(".csv"):
        grid = grid or Frame(*_median_size(source))
        points = read_points_csv(init, source.names)
        # n x 3 x 3; align checks given transforms again, but only after everything is read.
        start = check_transforms(points.transforms(get_family(family)), source.names)
    else:
        earlier = load_alignment(init)
        grid = grid or earlier.frame
        start = transforms_of(earlier, source, grid, init)
    return Choice(grid, reduction or lossless_reduction(start, grid), start)


def choose_as_they_lie(source: Source, reduction: int | None = None) -> Choice:
    """Settle how pictures are decomposed that are aligned already.

    Parameters
    ----------
    source : Source
        At least two pictures of one size.
    reduction : int, optional
        By default such that the batch has a sensible number of values.

    Returns
    -------
    Choice
        Its frame is the size of the reduced pictures, its start the identity.
    """
    check_one_size(source)
    # All pictures have one size, so that the first stands for all.
    k = reduction or batch_reduction(len(source), source.shapes[0])
    height, width = source.shapes[0][:2]
    return Choice(Frame(height // k, width // k), k, "identity")


def transforms_of(earlier: Alignment, source: Source, frame: Frame, path: str) -> Floats:
    """Look up the transforms of an earlier run by name, for a frame of any resolution.

    Parameters
    ----------
    earlier : Alignment
    source : Source
        Pictures that all have a name the earlier run knows.
    frame : Frame
        The new frame. It has the same middle as the earlier one and covers about the same area.
    path : str
        Where the earlier run lies, for messages.

    Returns
    -------
    array (n, 3, 3)
    """
    known = dict(zip(earlier.names, earlier.transforms, strict=True))
    missing = [name for name in source.names if name not in known]
    if missing:
        raise InputError(
            f"{path} has no transform for {missing[0]}; use a run over the same pictures, by name"
        )
    # One scale for both axes, so that a similarity stays one if the frames differ in shape.
    scale = float(np.sqrt(np.prod(earlier.frame.shape) / np.prod(frame.shape)))
    # From the new frame to its middle, to the scale of the earlier one, and to its middle.
    to_middle = shift(-frame.centre)
    from_middle = shift(earlier.frame.centre)
    to_earlier_frame = from_middle @ np.diag([scale, scale, 1.0]) @ to_middle
    return np.stack([known[name] @ to_earlier_frame for name in source.names])


def _choose_by_size(
    source: Source, frame: Frame | None, init: str, reduction: int | None
) -> Choice:
    """Settle a run that starts with the frame over the middle or the corner of each picture."""
    height, width = _median_size(source)
    if frame is None:
        k = reduction or default_reduction(len(source), height, width, source.channels)
        return Choice(Frame(height // k, width // k), k, init)
    k = reduction or reduction_for_frame(source.shapes, source.channels, frame)
    return Choice(frame, k, init)


def _median(source: Source, axis: int) -> float:
    """Find the median size of the pictures along an axis, which may lie between two pixels."""
    return float(np.median([shape[axis] for shape in source.shapes]))


def _median_size(source: Source) -> tuple[int, int]:
    """Find the median (height, width) of the pictures, in whole pixels."""
    return round(_median(source, 0)), round(_median(source, 1))
