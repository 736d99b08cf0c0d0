"""The pictures at their own size, and where each of them lies by an earlier alignment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.families import Floats
from rankfold.io import Picture, Source, open_pictures
from rankfold.io.memory import in_memory
from rankfold.io.source import unit_of
from rankfold.outputs.grid import Grid, grid_for
from rankfold.outputs.warping import whole
from rankfold.stack import Bools, Frame, has_white, largest_of, power_of_two, rescaling
from rankfold.stack.checks import given_pictures

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int_]
Images = npt.NDArray[Any] | Sequence[npt.ArrayLike] | str | Path | Source
Masks = Sequence[npt.ArrayLike] | npt.NDArray[Any] | None

# The sides of a picture may differ from those that were aligned by so much, as a share, besides
# their common factor: a reduced copy is cut to whole pixels.
SAME_SHAPE = 0.02

# Pictures whose names the run does not know must look like those it aligned: the median correlation
# with their low-rank versions.
LOOKS_ALIKE = 0.5

# As many pictures are compared at most.
COMPARED = 8

# In units of the pictures. A larger value is a mistake of the file; one would make the noise of all
# pictures, which is a mean of squares, larger than anything that could be seen.
BEYOND = 2.0**40

# Unit: bytes, of a value in double precision.
DOUBLE = 8


class Aligned(Protocol):
    """What is asked of an alignment: :class:`rankfold.Alignment` has it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of its n pictures."""

    @property
    def transforms(self) -> Floats:
        """(n, 3, 3) array, from the frame to the pictures that were aligned."""

    @property
    def source_shapes(self) -> Ints:
        """(n, 2) array, height and width of these pictures."""

    @property
    def frame(self) -> Frame:
        """The canonical grid."""

    @property
    def low_rank(self) -> Array:
        """(n, h, w[, c]) array."""

    @property
    def sparse(self) -> Array:
        """(n, h, w[, c]) array."""

    @property
    def valid(self) -> Bools:
        """(n, h, w) array."""

    @property
    def failed(self) -> Bools:
        """(n,) array: which pictures did not find their place."""


@dataclass(frozen=True)
class Originals:
    """Pictures at their own size, and where they lie.

    Attributes
    ----------
    source : Source
    order : tuple of n int
        For every picture its index in the run.
    transforms : (n, 3, 3) array
        From the frame of the run to each of them, in their order.
    placed : (n,) array of bool
        Which of them found their place.
    unit : float
        What 1.0 is in them: the top of an integer type, a power of two for floats.
    """

    source: Source
    order: tuple[int, ...]
    transforms: Floats
    placed: Bools
    unit: float

    def __len__(self) -> int:
        """Count the pictures."""
        return len(self.order)

    @property
    def shapes(self) -> Ints:
        """Height and width (n, 2)."""
        return np.array([shape[:2] for shape in self.source.shapes])

    def read(self, indices: Sequence[int]) -> Iterator[Picture]:
        """Read some pictures, in ascending order; NaN is masked."""
        for picture in self.source.some(indices).pictures():
            yield with_missing(picture, self.unit)

    def spread(self, most: int, also: int | None = None) -> list[int]:
        """Choose placed pictures, spread over the batch, at most so many and one besides."""
        usable = np.flatnonzero(self.placed)
        if len(usable) > most:
            usable = usable[np.linspace(0, len(usable) - 1, most).round().astype(int)]
        chosen = set(usable.tolist())
        return sorted(chosen if also is None else chosen | {also})


def widest_grid(originals: Originals, frame: Frame) -> Grid:
    """Return a grid over all that the placed pictures show, as fine as they are.

    Where one of them reaches too far, it is the frame of the run.
    """
    transforms = originals.transforms[originals.placed]
    shapes = originals.shapes[originals.placed]
    try:
        return grid_for(transforms, shapes, frame, "union", None)
    except InputError:
        return grid_for(transforms, shapes, frame, "frame", None)


def originals_of(aligned: Aligned, images: Images, masks: Masks = None) -> Originals:
    """Open pictures and find where each lies.

    Parameters
    ----------
    aligned : Aligned
        An alignment of them, perhaps at another resolution.
    images : list of arrays, one array, a path or a Source
        As many as were aligned, or more if the names of the alignment are among theirs. They are
        matched by name where the names are those of the alignment, and by order where all names
        are others.
    masks : sequence of (h, w) arrays, optional
        True where a pixel may be used.
    """
    source = source_of(images, masks)
    if isinstance(images, str | os.PathLike | Source):
        # Pictures in memory have no names of their own, by which some could be chosen.
        source = source.named(aligned.names)
    if len(source) != len(aligned.names):
        raise InputError(
            f"{source.path} has {len(source)} pictures, the run {len(aligned.names)} transforms; "
            "they must agree"
        )
    order = match_names(source.names, aligned.names, "the run")
    source.check_one_kind()
    transforms = np.stack(
        [
            _to_original(aligned, index, shape, name)
            for index, shape, name in zip(order, source.shapes, source.names, strict=True)
        ]
    )
    if aligned.failed.all():
        raise InputError(
            "no picture of the run found its place, so nothing can be put together; align again"
        )
    found = Originals(
        source=source,
        order=tuple(order),
        transforms=transforms,
        placed=~np.asarray(aligned.failed)[order],
        unit=unit_for(source),
    )
    if set(source.names) != set(aligned.names):
        _check_alike(found, aligned)
    return found


def source_of(images: Images, masks: Masks = None) -> Source:
    """Return pictures of any kind as a source; masks go with pictures in memory."""
    if isinstance(images, str | os.PathLike):
        images = open_pictures(str(images))
    if not isinstance(images, Source):
        arrays, masks, names = given_pictures(images, masks)
        return in_memory(arrays, masks, names)
    if masks is not None:
        raise InputError(
            "masks go with pictures in memory; of pictures on disk the masks are their transparency"
        )
    return images


def match_names(names: tuple[str, ...], known: tuple[str, ...], run: str) -> list[int]:
    """Say which transform belongs to which picture.

    Parameters
    ----------
    names : tuple of n str
        The pictures at hand.
    known : tuple of n str
        The pictures of the run.
    run : str
        The run, for messages.

    Returns
    -------
    list of int
        For every picture its index in the run: by name where the names are the same, by order
        where none of them is. A mixture is refused, because neither can be right.
    """
    if set(names) == set(known):
        return [known.index(name) for name in names]
    strangers = [name for name in names if name not in known]
    if len(strangers) < len(names):
        raise InputError(
            f"{strangers[0]} is not among the pictures of {run}, though others are; "
            "give the same ones"
        )
    return list(range(len(names)))


def with_missing(picture: Picture, unit: float = np.inf) -> Picture:
    """Return a picture whose mask leaves out its NaN, and what is no light in its ``unit``."""
    if picture.values.dtype.kind != "f":
        return picture
    values = picture.values.reshape(*picture.values.shape[:2], -1)
    if values.dtype.itemsize > DOUBLE:
        with np.errstate(over="ignore"):
            # It may hold more than is computed with.
            values = values.astype(np.float64)
    limit = min(BEYOND * unit, float(np.finfo(values.dtype).max))
    finite = np.asarray((np.abs(values) <= limit).all(axis=2))
    if finite.all():
        return picture
    mask = finite if picture.mask is None else picture.mask & finite
    return Picture(picture.values, mask)


def unit_for(source: Source) -> float:
    """Say what 1.0 is in pictures: the top of a short integer type, a power of two for others."""
    types = set(source.dtypes)
    if len(types) > 1 and not all(kind.kind == "f" for kind in types):
        found = ", ".join(sorted(str(kind) for kind in types))
        raise InputError(
            f"{source.path} has pictures of different types ({found}), whose white is not the "
            "same; convert them to one type"
        )
    if source.dtype.kind == "b" or has_white(source.dtype):
        return unit_of(source.dtype)
    # A few pictures tell the order of magnitude; one of them may be blank, or have a huge value.
    looked_at = np.linspace(0, len(source) - 1, min(len(source), COMPARED)).astype(int).tolist()
    units = []
    for picture in source.some(looked_at).pictures():
        values = np.asarray(picture.values)
        if largest_of(values) > 0:
            units.append(power_of_two(values))
    return sorted(units)[len(units) // 2] if units else 1.0


def in_units(values: Array, unit: float, dtype: npt.DTypeLike) -> Array:
    """Return values in the unit of pictures of a type, in a precision in which that has room."""
    return values.astype(np.result_type(dtype, np.float32)) * unit


def _to_original(aligned: Aligned, index: int, shape: tuple[int, ...], name: str) -> Floats:
    """The transform (3, 3) from the frame to an original that may have another resolution."""
    factors = (np.array(shape[:2]) / aligned.source_shapes[index])[::-1]
    if abs(factors[0] / factors[1] - 1) > SAME_SHAPE:
        height, width = aligned.source_shapes[index]
        raise InputError(
            f"{name} is {shape[0]}x{shape[1]}, but the picture that was aligned in its place is "
            f"{height}x{width}; give the pictures of the run"
        )
    return np.asarray(rescaling(factors) @ aligned.transforms[index])


def _check_alike(originals: Originals, aligned: Aligned) -> None:
    """Refuse pictures that do not look like those that were aligned."""
    chosen = originals.spread(COMPARED)
    found = []
    for k, picture in zip(chosen, originals.read(chosen), strict=True):
        values, valid = whole(
            picture.values, picture.mask, originals.transforms[k], aligned.frame, originals.unit
        )
        clean = np.asarray(aligned.low_rank[originals.order[k]], np.float64)
        planes = clean if clean.ndim == 2 else clean.mean(axis=2)
        found.append(_correlation(values.mean(axis=0), planes, valid & np.isfinite(planes)))
    if np.median(found) < LOOKS_ALIKE:
        raise InputError(
            f"{originals.source.path} does not look like the pictures that were aligned; "
            "give the pictures of the run"
        )


def _correlation(one: Array, two: Array, where: Bools) -> float:
    """Correlation of two pictures (h, w); zero where one of them is flat."""
    if where.sum() <= 1:
        return 0.0
    a = one[where] - one[where].mean()
    b = two[where] - two[where].mean()
    scale = np.sqrt((a**2).sum() * (b**2).sum())
    return float((a * b).sum() / scale) if scale > 0 else 0.0
