"""What moves in front of a scene, frame by frame, whether the camera stands still or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rankfold.arguments import number, whole, word
from rankfold.errors import InputError
from rankfold.families import Floats
from rankfold.io import Picture, Source
from rankfold.io.source import as_type
from rankfold.outputs.judging import Background, Judged, Predictor, judge, learned_variance
from rankfold.outputs.means import Means
from rankfold.outputs.originals import in_units, with_missing
from rankfold.outputs.scene import Original, count_of_tiles, scene_of
from rankfold.outputs.settings import OutputSettings
from rankfold.stack import Bools, Frame

Array = npt.NDArray[Any]
Floats32 = npt.NDArray[np.float32]

# Share of the canvas below which that is not spoken of.
SAID = 0.001

# Share of the frames in which something is in front, above which that is spoken of.
OFTEN = 0.6


@dataclass(frozen=True)
class FrameMask:
    """One frame.

    Attributes
    ----------
    name : str
    mask : (h, w) array of bool
        What does not belong, in the frame's own pixels.
    judged : (h, w) array of bool
        Elsewhere nothing is known: nothing, or too little, was seen there by other frames.
    background : (h, w) or (h, w, c) array
        What is behind, in the type and the light of the frame; the frame itself where nothing is
        known.
    """

    name: str
    mask: Bools
    judged: Bools
    background: Array


@dataclass(frozen=True)
class Asked:
    """What the caller asked of the masks.

    Attributes
    ----------
    sensitivity : float
        Above one, smaller errors count.
    min_area : int
        Smaller pieces are left out, px.
    shadows : "keep" or "drop"
    """

    sensitivity: float = 1.0
    min_area: int = 0
    shadows: str = "keep"

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        sensitivity = number("sensitivity", self.sensitivity, "give a positive one; 1 is usual")
        if not 0 < sensitivity < np.inf:
            raise InputError(f"sensitivity={self.sensitivity} must be positive; 1 is the usual one")
        whole("min_area", self.min_area, least=0)
        word("shadows", self.shadows, ("keep", "drop"))


class Foreground:
    """Masks of what does not belong, computed frame by frame when they are asked for.

    Iterating reads every frame once, in order, and gives a :class:`FrameMask` each.

    Attributes
    ----------
    names : n strings
    transforms : (n, 3, 3) array
        From the canvas to each frame; NaN for frames that were not placed.
    canvas : (h, w) or (h, w, c) array
        The background on the union of all frames, in their type; ``seen`` says where it is known.
    noise : (h, w) array
        Standard deviation of what is no foreground, in the units of the frames.
    often : (h, w) array of float32
        In which share of the frames asked something is in front.
    sentence : str
        What to know of it, for a person.
    """

    def __init__(
        self,
        source: Source,
        transforms: Floats,
        predictor: Predictor,
        variance: Floats32,
        often: Floats32,
        asked: Asked,
        settings: OutputSettings,
        remarks: Sequence[str] = (),
    ) -> None:
        self.names = source.names
        self.transforms = transforms
        self._source = source
        self._scene = predictor.scene
        self._predictor = predictor.with_variance(variance)
        self._asked = asked
        self._settings = settings
        self.often = often
        self.noise: Array = in_units(np.sqrt(variance), self._scene.unit, source.dtype)
        self._remarks = tuple(remarks)

    def __len__(self) -> int:
        """Count the frames."""
        return len(self.names)

    def __iter__(self) -> Iterator[FrameMask]:
        """Give one frame after the other."""
        pictures = self._source.pictures()
        for index, picture in enumerate(pictures):
            yield self._frame(index, with_missing(picture, self._scene.unit))

    def __repr__(self) -> str:
        """A line for a person."""
        return f"<Foreground of {len(self)} frames: {self.sentence}>"

    @property
    def masks(self) -> Bools:
        """All masks (n, h, w); the frames must have one size."""
        return np.stack([one.mask for one in self])

    @property
    def seen(self) -> Bools:
        """What (h, w) of the canvas is known."""
        return self._scene.seen

    @property
    def two_faced(self) -> Bools:
        """Where (h, w) two things are seen for long, of which either may be in front."""
        return self._scene.two_faced

    @property
    def canvas(self) -> Array:
        """The background on the union of all frames, in their type; zero where unknown."""
        values = np.nan_to_num(np.moveaxis(self._scene.clean, 0, -1))
        values = in_units(values, self._scene.unit, self._source.dtype)
        picture = as_type(values, self._source.dtype)
        return picture if len(self._source.shapes[0]) == 3 else picture[..., 0]

    @property
    def sentence(self) -> str:
        """What to know of the masks, for a person."""
        lost = [n for n, T in zip(self.names, self.transforms, strict=True) if np.isnan(T).any()]
        parts = [f"Masks of {len(self)} frames."]
        if lost:
            parts.append(f"{len(lost)} of them could not be placed and are not judged.")
        unsure = float(self.two_faced.mean())
        if unsure > SAID:
            parts.append(
                f"On {unsure:.1%} of the canvas two things are seen for long: what is called "
                "background there may be a thing that stood still, and the other way round."
            )
        restless = float((self.seen & (self.often > OFTEN)).mean())
        if restless > SAID:
            parts.append(
                f"On {restless:.1%} of the canvas something is in front in most of the frames: it "
                "may be a background that moves by itself, as leaves or water."
            )
        return " ".join([*parts, *self._remarks])

    def _frame(self, index: int, picture: Picture) -> FrameMask:
        """Judge one frame."""
        name = self.names[index]
        matrix = self.transforms[index]
        shape = picture.values.shape[:2]
        if np.isnan(matrix).any():
            nothing = np.zeros(shape, bool)
            return FrameMask(name, nothing, nothing, picture.values)
        found = self._judged(index, picture)
        mask = large_enough(found.mask, self._asked.min_area)
        return FrameMask(name, mask, found.judged, _behind(picture, found, self._scene.unit))

    def _judged(self, index: int, picture: Picture) -> Judged:
        """Compare one frame with what it should show."""
        expected = self._predictor.expected(index, picture, self.transforms[index])
        width = self._settings.cut.second / self._asked.sensitivity
        drop = self._asked.shadows == "drop"
        return judge(picture, expected, self._scene.unit, width, self._settings, drop)


def foreground_of(
    source: Source,
    transforms: Floats,
    canvas: Frame,
    unit: float,
    asked: Asked,
    means: Means,
    remarks: Sequence[str] = (),
) -> Foreground:
    """Find the scene behind frames that are placed, and how much they differ from it.

    Parameters
    ----------
    source : Source
    transforms : (n, 3, 3) array
        From the canvas to each frame; NaN for those that were not placed.
    canvas : Frame
    unit : float
        What 1.0 is in the frames.
    asked : Asked
    means : Means
    remarks : sequence of str
        Further sentences.
    """
    numbers = means.numbers
    placed = np.flatnonzero(np.isfinite(transforms).all(axis=(1, 2)))
    if len(placed) < 2:
        raise InputError(
            f"{source.path}: fewer than two frames could be placed, so there is nothing to compare"
        )
    most = numbers.votes.donors
    if len(placed) > most:
        placed = placed[np.linspace(0, len(placed) - 1, most).round().astype(int)]
    donors = placed.tolist()
    watch = means.counting(2 * len(donors) + count_of_tiles(canvas))
    some = source.some(donors)
    with means.executor(canvas, len(donors), source.channels) as executor:
        pictures = (with_missing(one, unit) for one in some.pictures())
        scene = scene_of(
            (Original(one.values, one.mask) for one in pictures),
            donors,
            transforms[donors],
            canvas,
            unit,
            numbers,
            executor,
            watch=watch,
        )
    predictor = Background(scene, numbers)
    again = zip(donors, some.pictures(), strict=True)
    variance, often = learned_variance(
        predictor,
        ((index, with_missing(one, unit), transforms[index]) for index, one in again),
        numbers.cut.first / asked.sensitivity,
        numbers,
        watch,
    )
    return Foreground(source, transforms, predictor, variance, often, asked, numbers, remarks)


def large_enough(mask: Bools, area: int) -> Bools:
    """Leave out pieces of a mask (h, w) of fewer pixels than ``area``."""
    if area <= 1 or not mask.any():
        return mask
    labels, count = ndimage.label(mask)
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    sizes[0] = 0
    return np.asarray(sizes[labels] >= area)


def _behind(picture: Picture, found: Judged, unit: float) -> Array:
    """What is behind a frame, in its type: what it should show, or itself where that is unknown."""
    dtype = picture.values.dtype
    clean = as_type(np.moveaxis(in_units(found.expected.clean, unit, dtype), 0, -1), dtype)
    if picture.values.ndim == 2:
        return np.where(found.expected.known, clean[..., 0], picture.values)
    return np.where(found.expected.known[..., None], clean, picture.values)
