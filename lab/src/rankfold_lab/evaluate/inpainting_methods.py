"""Ways to fill in what is hidden in a picture: ours from the other pictures, others from around it.

What a way knows nothing of is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rankfold.families import Floats, inverse
from rankfold.io.source import as_type, unit_of
from rankfold.outputs.grid import grid_for
from rankfold.outputs.kernels import medians
from rankfold.outputs.model import on_frame
from rankfold.outputs.originals import originals_of
from rankfold.outputs.warping import whole
from rankfold.result import Alignment
from rankfold.stack import Bools, Frame

Array = npt.NDArray[Any]

# Unit: px. How far cv2.inpaint looks around.
RADIUS = 5
# Unit: px. Larger pictures are reduced for the biharmonic equation, which takes minutes else; what
# it fills in is smooth, so that little is lost.
LARGEST = 400


@dataclass(frozen=True)
class Trial:
    """Pictures with hidden parts, what is behind these, and where the pictures lie.

    Attributes
    ----------
    images : list of (h, w) arrays
        NaN is missing.
    hidden : list of (h, w) arrays of bool
    clean : list of (h, w) arrays
        The truth, NaN where that is missing.
    result : Alignment
        Of the images.
    """

    images: list[Array]
    hidden: list[Bools]
    clean: list[Array]
    result: Alignment

    @property
    def unit(self) -> float:
        """What white is in the pictures."""
        return unit_of(self.images[0].dtype)

    def holes(self) -> Iterator[tuple[Array, Bools]]:
        """Give every picture, and what (h, w) of it is hidden or missing."""
        for picture, hidden in zip(self.images, self.hidden, strict=True):
            yield picture, hidden | ~np.isfinite(picture)


@dataclass(frozen=True)
class Filled:
    """A picture whose hidden parts were filled in.

    Attributes
    ----------
    picture : (h, w) array
        In the type of the original.
    replaced : (h, w) array of bool
        What was replaced; everything else should be equal to the original to the last bit.
    """

    picture: Array
    replaced: Bools


def restored(trial: Trial, automatic: bool) -> Iterator[Filled]:
    """Fill in from the other pictures: what is said to be hidden, or what is found to be."""
    hidden = None if automatic else trial.hidden
    made = trial.result.restore(trial.images, hidden=hidden, automatic=automatic, n_jobs=1)
    for one in made:
        yield Filled(one.picture, one.replaced)


def diffused(trial: Trial, flag: str) -> Iterator[Filled]:
    """Fill in from around, by ``cv2.inpaint`` on 8 bits."""
    cv2: Any = import_module("cv2")
    for picture, hole in trial.holes():
        levels = as_type(255 * (picture / trial.unit), np.uint8)
        found = cv2.inpaint(levels, hole.astype(np.uint8), RADIUS, getattr(cv2, flag))
        yield _pasted(picture, hole, found * (trial.unit / 255))


def biharmonic(trial: Trial) -> Iterator[Filled]:
    """Fill in from around, by the biharmonic equation on a copy that is not too large."""
    solve = import_module("skimage.restoration").inpaint_biharmonic
    for picture, hole in trial.holes():
        factor = -(-max(picture.shape) // LARGEST)
        small, unknown = _reduced(picture, hole, factor)
        filled = solve(small / trial.unit, unknown, split_into_regions=True)
        yield _pasted(picture, hole, trial.unit * _enlarged(filled, factor, picture.shape))


def median(trial: Trial) -> Iterator[Filled]:
    """Fill in the median of what the other pictures show there, at the size of the originals."""
    behind = medians_behind(trial.result, trial.images, trial.hidden)
    for (picture, hole), (values, known) in zip(trial.holes(), behind, strict=True):
        yield _pasted(picture, hole & known, values)


def medians_behind(
    result: Alignment, images: list[Array], hidden: list[Bools]
) -> Iterator[tuple[Floats, Bools]]:
    """Give for every picture the median of all of them, without what is hidden, and its validity.

    Parameters
    ----------
    result : Alignment
    images : list of (h, w) arrays
        The pictures that were aligned, of any size.
    hidden : list of (h, w) arrays of bool
    """
    originals = originals_of(result, images)
    placed = originals.placed
    grid = grid_for(
        originals.transforms[placed], originals.shapes[placed], result.frame, "union", None
    )
    matrices = originals.transforms @ grid.to_frame
    chosen = np.flatnonzero(placed).tolist()
    brought = [
        on_frame(picture, hidden[k], matrices[k], grid.frame, 1.0)
        for k, picture in zip(chosen, originals.read(chosen), strict=True)
    ]
    values = np.stack([one for one, _ in brought])  # n x 1 x h x w
    trust = np.stack([usable for _, usable in brought]).astype(np.float32)
    middle = medians(values, trust)[0]
    for k, matrix in enumerate(matrices):
        own = Frame(*originals.shapes[k])
        back, known = whole(middle, np.isfinite(middle), inverse(matrix), own)
        yield back[0].astype(np.float64), known & placed[k]


def _pasted(picture: Array, where: Bools, values: Array) -> Filled:
    """A picture with other values in some of its pixels."""
    result = picture.copy()
    result[where] = as_type(values, picture.dtype)[where]
    return Filled(result, where)


def _reduced(picture: Array, hole: Bools, factor: int) -> tuple[Floats, Bools]:
    """The mean of what is known in squares of pixels, and the squares of which a part is not."""
    height, width = picture.shape
    pad = ((0, -height % factor), (0, -width % factor))
    known = np.pad(~hole, pad, mode="edge")
    values = np.pad(np.where(hole, 0.0, picture), pad, mode="edge")
    rows, columns = (side // factor for side in known.shape)
    squares = (rows, factor, columns, factor)
    count = known.reshape(squares).sum(axis=(1, 3))
    total = np.where(known, values, 0).reshape(squares).sum(axis=(1, 3))
    return total / np.maximum(count, 1), np.asarray(count < factor**2)


def _enlarged(small: Floats, factor: int, shape: tuple[int, ...]) -> Floats:
    """A reduced picture at the size that it had, linearly interpolated."""
    # Squares have their values in their middle.
    rows, columns = ((np.arange(side) + 0.5) / factor - 0.5 for side in shape)
    at = np.meshgrid(rows, columns, indexing="ij")
    return np.asarray(ndimage.map_coordinates(small, at, order=1, mode="nearest"))


METHODS: dict[str, Callable[[Trial], Iterator[Filled]]] = {
    "restore": partial(restored, automatic=False),
    "restore, automatic": partial(restored, automatic=True),
    "TELEA": partial(diffused, flag="INPAINT_TELEA"),
    "Navier-Stokes": partial(diffused, flag="INPAINT_NS"),
    "biharmonic": biharmonic,
    "per-pixel median": median,
}
"""The ways by name; the first two are ours."""
