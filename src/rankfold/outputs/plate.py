"""One clean picture at the size of the originals, from what most of them show."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.arguments import shown, whole
from rankfold.errors import InputError
from rankfold.families import Floats
from rankfold.io.encoding import write_picture
from rankfold.io.metadata import NOTHING_KNOWN, Metadata
from rankfold.io.source import as_type, nothing
from rankfold.outputs.grid import grid_for
from rankfold.outputs.means import Means
from rankfold.outputs.originals import Aligned, Images, Masks, Originals, in_units, originals_of
from rankfold.outputs.refining import refined
from rankfold.outputs.scene import Original, Scene, count_of_tiles, scene_of
from rankfold.outputs.spool import Tile
from rankfold.outputs.trust import Doubts
from rankfold.outputs.warping import bands
from rankfold.stack import Bools
from rankfold.storage import check_free, whole_file

Array = npt.NDArray[Any]


@dataclass(frozen=True, repr=False)
class Plate:
    """One clean picture.

    Attributes
    ----------
    picture : (h, w) or (h, w, c) array
        In the type and the units of the originals. What no picture shows is NaN in floats and zero
        in integers; ``valid`` says where.
    valid : (h, w) array of bool
        What some picture shows.
    agreeing : (h, w) array of float32
        How many of the pictures that were asked show it so, by the trust in them.
    asked : (h, w) array of float32
        How many were asked there.
    two_faced : (h, w) array of bool
        Where many pictures agree on something else, so that either may be in front.
    transforms : (n, 3, 3) array
        From the plate to each original.
    light : str
        The picture whose light it has; empty for the usual light of all.
    names : n strings
    """

    picture: Array
    valid: Bools
    agreeing: npt.NDArray[np.float32]
    asked: npt.NDArray[np.float32]
    two_faced: Bools
    transforms: Floats
    light: str
    names: tuple[str, ...]

    @property
    def confidence(self) -> npt.NDArray[np.float32]:
        """Share (h, w) of the pictures asked that agree; zero where there is none."""
        return np.where(self.asked > 0, self.agreeing / np.maximum(self.asked, 1e-6), 0)

    @property
    def sentence(self) -> str:
        """How sure it is, for a person."""
        height, width = self.valid.shape
        lonely = float((self.valid & (self.agreeing < ALONE)).mean())
        parts = [f"A plate of {height} x {width} from {len(self.names)} pictures."]
        if lonely >= SAID:
            parts.append(f"On {lonely:.1%} of it only one picture shows what is there.")
        doubted = float(self.two_faced.mean())
        if doubted >= SAID:
            parts.append(
                f"On {doubted:.1%} of it many pictures agree on something else: it may be a thing "
                "that stood still."
            )
        unknown = 1 - float(self.valid.mean())
        if unknown >= SAID:
            parts.append(f"{unknown:.1%} of it is empty, because no picture shows it.")
        return " ".join(parts)

    def __repr__(self) -> str:
        """One line for a person."""
        return f"<Plate: {self.sentence}>"

    def save(
        self,
        path: str | Path,
        confidence: str | Path | None = None,
        overwrite: bool = False,
        metadata: Metadata = NOTHING_KNOWN,
    ) -> None:
        """Write the picture in the format that the ending of ``path`` names.

        Parameters
        ----------
        path : str or Path
            TIFF and PNG keep 16 bits.
        confidence : str or Path, optional
            Also write the confidence there, white where all pictures agree.
        overwrite : bool
            Replace files that are there.
        metadata : Metadata
            What the file says besides the pixels, see :func:`rankfold.io.read_metadata`.
        """
        check_two_files(path, confidence)
        if confidence is not None:
            check_free(confidence, overwrite)
        values = self.picture.astype(np.float64)
        values[~self.valid] = np.nan
        with whole_file(path, overwrite) as draft:
            write_picture(draft, values, self.picture.dtype, metadata)
        if confidence is not None:
            with whole_file(confidence, overwrite) as draft:
                write_picture(draft, 255.0 * self.confidence, np.uint8)


def check_two_files(path: str | Path, confidence: str | Path | None) -> None:
    """Refuse to write the confidence over the plate."""
    if confidence is not None and os.path.realpath(confidence) == os.path.realpath(path):
        raise InputError(f"{path} cannot be both the plate and its confidence; name another file")


# Less than so many agreeing pictures are called one.
ALONE = 1.5
# Shares of the plate below this are not spoken of.
SAID = 0.001


def plate_of(
    aligned: Aligned,
    images: Images,
    means: Means,
    *,
    masks: Masks = None,
    light: int | str | None = None,
    area: str = "frame",
    scale: float | None = None,
) -> Plate:
    """Put one clean picture together from originals; :meth:`rankfold.Alignment.plate` calls it.

    Parameters
    ----------
    aligned : Aligned
    images : list of arrays, one array, a path or a Source
        The originals, read one at a time.
    means : Means
    masks, light, area, scale
        As in :meth:`rankfold.Alignment.plate`.
    """
    numbers = means.numbers
    originals = originals_of(aligned, images, masks)
    chosen = _index_of(light, originals)
    placed = originals.placed
    grid = grid_for(
        originals.transforms[placed], originals.shapes[placed], aligned.frame, area, scale
    )
    donors = originals.spread(numbers.votes.donors, also=chosen)
    watch = means.counting(len(donors) + count_of_tiles(grid.frame))
    with means.executor(grid.frame, len(donors), originals.source.channels) as executor:
        originals = refined(aligned, originals, grid, numbers, executor, nothing)
        matrices = originals.transforms @ grid.to_frame
        scene = scene_of(
            (Original(one.values, one.mask) for one in originals.read(donors)),
            donors,
            matrices[donors],
            grid.frame,
            originals.unit,
            numbers,
            executor,
            trust=Doubts(aligned, originals, grid, numbers.votes.doubt),
            watch=watch,
        )
    place = None if chosen is None else donors.index(chosen)
    return Plate(
        picture=_as_they_came(scene, place, originals),
        valid=scene.seen,
        agreeing=scene.support,
        asked=scene.total,
        two_faced=scene.two_faced,
        transforms=matrices,
        light="" if chosen is None else originals.source.names[chosen],
        names=originals.source.names,
    )


def _index_of(light: int | str | None, originals: Originals) -> int | None:
    """The picture whose light is wanted, by its name or number; None for the light of all."""
    if light is None:
        return None
    names = originals.source.names
    if isinstance(light, str) and light in names:
        index = names.index(light)
    elif not isinstance(light, str) and 0 <= whole("light", light) < len(names):
        index = int(light)
    else:
        raise InputError(
            f"light={shown(light)} is none of the pictures; give a name, or a number from 0 to "
            f"{len(names) - 1}"
        )
    if not originals.placed[index]:
        raise InputError(f"{names[index]} did not find its place; take the light of another")
    return index


def _as_they_came(scene: Scene, light: int | None, originals: Originals) -> Array:
    """The plate (h, w[, c]) in the type of the originals and the light of a donor."""
    dtype = originals.source.dtype
    channels = len(scene.clean)
    picture = np.empty((*scene.grid.shape, channels), dtype)
    for rows in bands(scene.grid):
        values = scene.clean[:, rows]
        if light is not None:
            values = scene.light.relit(light, values, Tile(rows, slice(0, scene.grid.width)))
        picture[rows] = as_type(np.moveaxis(in_units(values, originals.unit, dtype), 0, -1), dtype)
    is_colour = len(originals.source.shapes[0]) == 3
    return picture if is_colour else picture[..., 0]
