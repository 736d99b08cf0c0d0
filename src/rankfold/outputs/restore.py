"""Every picture without what was in front of it, in its own geometry, size and type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rankfold.arguments import shown
from rankfold.errors import InputError
from rankfold.io import Picture
from rankfold.io.source import as_type, nothing
from rankfold.outputs.grid import Grid
from rankfold.outputs.judging import Expected, Judged, judge, learned_variance, planes_of
from rankfold.outputs.means import Means
from rankfold.outputs.model import model_of
from rankfold.outputs.modelled import Modelled, modelled
from rankfold.outputs.originals import (
    Aligned,
    Images,
    Masks,
    Originals,
    in_units,
    originals_of,
    widest_grid,
)
from rankfold.outputs.refining import refined
from rankfold.outputs.scene import count_of_tiles
from rankfold.outputs.seam import carried_inwards
from rankfold.outputs.settings import OutputSettings
from rankfold.stack import Bools
from rankfold.stack.checks import checked_mask

Array = npt.NDArray[Any]

# Unit: px. The rim around a hole is at least so wide.
LEAST_SEAM = 2

# Painted masks: one for each picture, in the order of the pictures.
HiddenMasks = Sequence[npt.ArrayLike | None] | npt.NDArray[Any] | Callable[[int], Bools | None]


@dataclass(frozen=True)
class Restored:
    """One picture.

    Attributes
    ----------
    name : str
    picture : (h, w) or (h, w, c) array
        In the type of the original, and equal to it to the last bit where nothing was replaced.
    replaced : (h, w) array of bool
        What was replaced.
    left : (h, w) array of bool
        What should have been replaced, but nobody knows what is behind.
    missing : (h, w) array of bool
        What of it was missing in the original, so that there is nothing at all.
    doubted : bool
        Whether so much seemed to be in front that nothing was replaced but what was painted or
        missing.
    """

    name: str
    picture: Array
    replaced: Bools
    left: Bools
    missing: Bools
    doubted: bool = False


class Restoration:
    """Pictures that are restored one by one when they are asked for.

    Iterating reads every original once, in order, and gives a :class:`Restored` each.

    Attributes
    ----------
    names : n strings
    """

    def __init__(
        self,
        originals: Originals,
        predictor: Modelled,
        grid: Grid,
        hidden: Callable[[int], Bools | None],
        automatic: bool,
        settings: OutputSettings,
    ) -> None:
        self.names = originals.source.names
        self._originals = originals
        self._predictor = predictor
        self._matrices = originals.transforms @ grid.to_frame
        self._hidden = hidden
        self._automatic = automatic
        self._settings = settings

    def __len__(self) -> int:
        """Count the pictures."""
        return len(self.names)

    def __iter__(self) -> Iterator[Restored]:
        """Give one picture after the other."""
        for index, picture in enumerate(self._originals.read(range(len(self)))):
            yield self._restored(index, picture)

    def __getitem__(self, index: int) -> Restored:
        """Return one picture by its number."""
        (picture,) = self._originals.read([index])
        return self._restored(index, picture)

    def __repr__(self) -> str:
        """A line for a person."""
        return f"<Restoration of {len(self)} pictures>"

    def _restored(self, index: int, picture: Picture) -> Restored:
        """Restore one picture."""
        shape = picture.values.shape[:2]
        missing = np.zeros(shape, bool) if picture.mask is None else ~picture.mask
        hole = missing
        painted = self._hidden(index)
        if painted is not None:
            hole = hole | painted
        if not self._originals.placed[index]:
            # Nobody knows where it lies, so nobody knows what is behind.
            nothing = np.zeros(shape, bool)
            return Restored(self.names[index], picture.values, nothing, hole, missing)
        matrix = self._matrices[index]
        expected = self._predictor.expected(index, picture, matrix, hole)
        doubted = False
        if self._automatic:
            found = self._in_front(picture, expected, hole)
            # What is left of the picture would say too little of its light.
            doubted = found is None
            if found is not None:
                hole = hole | found
                # Once more, without what was found.
                expected = self._predictor.expected(index, picture, matrix, hole)
        replaced = hole & expected.known
        filled = self._filled(picture, expected, hole, replaced)
        left = hole & ~expected.known
        return Restored(self.names[index], filled, replaced, left, missing & left, doubted)

    def _in_front(self, picture: Picture, expected: Expected, hole: Bools) -> Bools | None:
        """What does not belong (h, w), and a rim around it; None if it is too much to be true."""
        seen = Picture(picture.values, ~hole)
        unit = self._originals.unit
        found = judge(seen, expected, unit, self._settings.cut.second, self._settings)
        if _share_of_contrast(expected, found) > self._settings.fill.most:
            return None
        grow = self._settings.fill.grow
        if grow == 0 or not found.mask.any():
            return found.mask
        return np.asarray(ndimage.binary_dilation(found.mask, iterations=grow))

    def _filled(self, picture: Picture, expected: Expected, hole: Bools, replaced: Bools) -> Array:
        """The picture with its hole filled in, as far as is known."""
        if not replaced.any():
            return picture.values
        unit = self._originals.unit
        seam = max(round(self._settings.fill.seam * max(replaced.shape)), LEAST_SEAM)
        # Only around the hole: it may be small, and the picture large.
        box = _around(replaced, 2 * seam)
        planes = (slice(None), *box)
        difference = planes_of(Picture(picture.values[box]), unit) - expected.clean[planes]
        light = carried_inwards(
            difference, expected.variance[box], hole[box], expected.known[box], seam
        )
        clean = in_units(expected.clean[planes] + light, unit, picture.values.dtype)
        clean = np.moveaxis(clean, 0, -1)
        stored = as_type(clean, picture.values.dtype)
        if picture.values.ndim == 2:
            stored = stored[..., 0]
        result = np.array(picture.values)
        result[box][replaced[box]] = stored[replaced[box]]
        return result


def restoration_of(
    aligned: Aligned,
    images: Images,
    means: Means,
    *,
    hidden: HiddenMasks | None = None,
    automatic: bool | None = None,
    masks: Masks = None,
) -> Restoration:
    """Learn what pictures should show; :meth:`rankfold.Alignment.restore` calls it.

    Parameters
    ----------
    aligned : Aligned
    images : list of arrays, one array, a path or a Source
    means : Means
    hidden, automatic, masks
        As in :meth:`rankfold.Alignment.restore`.
    """
    numbers = means.numbers
    originals = originals_of(aligned, images, masks)
    painted = _painted(hidden, originals)
    by_itself = hidden is None if automatic is None else automatic
    grid = widest_grid(originals, aligned.frame)
    donors = originals.spread(numbers.votes.donors)
    rounds = 3 if by_itself else 2
    watch = means.counting(rounds * len(donors) + count_of_tiles(grid.frame))
    with means.executor(grid.frame, len(donors), originals.source.channels) as executor:
        originals = refined(aligned, originals, grid, numbers, executor, nothing)
        model = model_of(aligned, originals, numbers)
        predictor = modelled(
            aligned, originals, model, grid, donors, numbers, executor, painted, watch
        )
    if by_itself:
        matrices = originals.transforms @ grid.to_frame
        variance, _ = learned_variance(
            predictor,
            (
                (index, picture, matrices[index])
                for index, picture in zip(donors, originals.read(donors), strict=True)
            ),
            numbers.cut.first,
            numbers,
            watch,
        )
        predictor = predictor.with_variance(variance)
    return Restoration(originals, predictor, grid, painted, by_itself, numbers)


def _painted(hidden: HiddenMasks | None, originals: Originals) -> Callable[[int], Bools | None]:
    """What the caller says is hidden in each picture, checked when it is asked for."""
    if hidden is None:
        return lambda _: None
    names = originals.source.names
    if not callable(hidden) and not isinstance(hidden, Sequence | np.ndarray):
        raise InputError(
            f"hidden={shown(hidden)} is a {type(hidden).__name__}; pass a list of masks "
            "(height, width), None where nothing is hidden"
        )
    if not callable(hidden) and len(hidden) != len(names):
        raise InputError(
            f"{len(hidden)} masks for {len(names)} pictures; give one a picture, None where "
            "nothing is hidden"
        )

    def painted(index: int) -> Bools | None:
        mask = hidden(index) if callable(hidden) else hidden[index]
        if mask is None:
            return None
        shape = originals.source.shapes[index][:2]
        if np.shape(mask) != tuple(shape):
            raise InputError(
                f"the mask of {names[index]} is {' x '.join(map(str, np.shape(mask)))}, but the "
                f"picture is {shape[0]} x {shape[1]}; paint it in the size of the picture"
            )
        checked = checked_mask(mask, tuple(shape), names[index])
        if checked.all():
            raise InputError(
                f"the mask of {names[index]} hides all of it; leave the picture out, or paint only "
                "what is in front"
            )
        return checked

    return painted


def _share_of_contrast(expected: Expected, found: Judged) -> float:
    """How much of what tells one light from another is where something seems to be in front."""
    judged = expected.clean[:, found.judged]  # c x pixels
    middle = np.median(judged, axis=1, keepdims=True) if judged.size else 0.0
    contrast = ((judged - middle) ** 2).sum(axis=0)
    hidden = found.mask[found.judged]
    total = contrast.sum()
    return float(contrast[hidden].sum() / total) if total > 0 else 0.0


def _around(where: Bools, margin: int) -> tuple[slice, slice]:
    """The smallest box (rows, columns) around what is True, and a margin."""
    rows = np.flatnonzero(where.any(axis=1))
    columns = np.flatnonzero(where.any(axis=0))
    return (
        slice(max(rows[0] - margin, 0), rows[-1] + 1 + margin),
        slice(max(columns[0] - margin, 0), columns[-1] + 1 + margin),
    )
