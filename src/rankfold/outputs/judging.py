"""What does not belong in one picture, in its own pixels: the error against what it should show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rankfold.families import Floats, inverse
from rankfold.io import Picture
from rankfold.outputs.cut import labelled
from rankfold.outputs.light import fitted, terms_of
from rankfold.outputs.originals import BEYOND
from rankfold.outputs.scene import Scene
from rankfold.outputs.settings import OutputSettings
from rankfold.outputs.shadows import shadow_cost
from rankfold.outputs.warping import Warper
from rankfold.stack import Bools, Frame

Array = npt.NDArray[Any]
Floats32 = npt.NDArray[np.float32]

# Pixels of a picture to which its light is fitted, about.
FITTED = 40_000

# A gain and an offset, as cameras change them by themselves; more would explain a large object.
DEGREE = 0

# Unit: bytes. Values of more are computed with in double precision.
SINGLE = 4

# Unit: px. Around what does not belong in the first pass, pixels say nothing of the noise.
ASIDE = 1


@dataclass(frozen=True)
class Expected:
    """What a picture should show, in its own pixels and light.

    Attributes
    ----------
    clean : (c, h, w) array
        Zero where nothing is known.
    variance : (h, w) array
    known : (h, w) array of bool
        Where enough other pictures show it.
    """

    clean: Floats32
    variance: Floats32
    known: Bools


@dataclass(frozen=True)
class Judged:
    """What was found in one picture.

    Attributes
    ----------
    mask : (h, w) array of bool
        What does not belong.
    judged : (h, w) array of bool
        Elsewhere nothing is known.
    expected : Expected
        What it should show.
    error : (c, h, w) array
        The picture less that; zero where nothing is known.
    """

    mask: Bools
    judged: Bools
    expected: Expected
    error: Floats32


class Predictor(Protocol):
    """Says what every picture should show."""

    @property
    def scene(self) -> Scene:
        """What it is predicted from."""

    def expected(
        self, index: int, picture: Picture, matrix: Floats, hidden: Bools | None = None
    ) -> Expected:
        """Say what picture ``index`` should show.

        ``matrix`` is from the grid of the scene to it; ``hidden`` pixels have no say.
        """

    def with_variance(self, variance: Floats32) -> Predictor:
        """Return the same with another variance (h, w) on the grid of the scene."""


class Background:
    """A scene that all pictures show, each with its own gain and offset.

    Parameters
    ----------
    scene : Scene
    settings : OutputSettings
    variance : (h, w) array, optional
        On the grid of the scene; by its noise if left out.
    """

    def __init__(
        self, scene: Scene, settings: OutputSettings, variance: Floats32 | None = None
    ) -> None:
        self.scene = scene
        self._settings = settings
        spread = scene.noise.variance(scene.clean) if variance is None else variance
        # c + 1 x h x w: colours and variance together, so that they are prepared once.
        layers = np.concatenate([np.nan_to_num(scene.clean), spread[None]])
        known = enough_seen(scene, settings)
        self._warper = Warper(np.moveaxis(layers, 0, -1), known, blur=0.0)

    def expected(
        self, index: int, picture: Picture, matrix: Floats, hidden: Bools | None = None
    ) -> Expected:
        """Say what a picture should show."""
        del index  # the same for all but for the light
        frame = Frame(*picture.values.shape[:2])
        layers, known = self._warper.whole(inverse(matrix), frame)
        common = layers[:-1]
        variance = np.maximum(layers[-1], self.scene.noise.floor**2)
        values = planes_of(picture, self.scene.unit)
        usable = known if picture.mask is None else known & picture.mask
        if hidden is not None:
            usable = usable & ~hidden
        lit = in_its_light(values, common, usable)
        return Expected(np.where(known, lit, 0).astype(np.float32), variance, known)

    def with_variance(self, variance: Floats32) -> Background:
        """Return the same with another variance."""
        return Background(self.scene, self._settings, variance)


def enough_seen(scene: Scene, settings: OutputSettings) -> Bools:
    """Where (h, w) enough donors show a scene to compare others with it."""
    least = max(settings.cut.seen * len(scene.donors), min(2, len(scene.donors)))
    # Trust is a little below one everywhere.
    return np.asarray(scene.seen & (scene.total >= 0.75 * least))


def learned_variance(
    predictor: Predictor,
    pictures: Iterable[tuple[int, Picture, Floats]],
    width: float,
    settings: OutputSettings,
    watch: Callable[[], object],
) -> tuple[Floats32, Floats32]:
    """Learn how much pictures differ from what they should show, where nothing is in front.

    Parameters
    ----------
    predictor : Predictor
    pictures : iterable of (index, picture, matrix)
    width : float
        Standard deviations at which an error costs as much as not to belong.
    settings : OutputSettings
    watch : callable
        Called after every picture.

    Returns
    -------
    variance, often : (h, w) arrays
        On the grid of the scene: the variance, and in which share of the pictures something is in
        front.
    """
    scene = predictor.scene
    total = np.zeros(scene.grid.shape, np.float32)
    count = np.zeros(scene.grid.shape, np.float32)
    in_front = np.zeros(scene.grid.shape, np.float32)
    looked = np.zeros(scene.grid.shape, np.float32)
    for index, picture, matrix in pictures:
        expected = predictor.expected(index, picture, matrix)
        found = judge(picture, expected, scene.unit, width, settings)
        aside = ndimage.binary_dilation(found.mask, iterations=ASIDE)
        squared = np.dstack([(found.error**2).mean(axis=0), found.mask])
        for part in Warper(squared, found.judged).through(matrix, scene.grid):
            looked[part.rows] += part.valid
            in_front[part.rows] += part.valid & (part.values[1] > 0.5)
        for part in Warper(squared[..., 0], found.judged & ~aside).through(matrix, scene.grid):
            count[part.rows] += part.valid
            total[part.rows] += np.where(part.valid, np.maximum(part.values[0], 0), 0)
        watch()
    first = scene.noise.variance(scene.clean)
    variance = np.asarray(np.maximum(first, total / np.maximum(count, 1)), np.float32)
    often = np.asarray(in_front / np.maximum(looked, 1), np.float32)
    return variance, often


def in_its_light(values: Array, common: Array, usable: Bools) -> Floats32:
    """Bring what a picture should show (c, h, w) into its light: a gain and an offset."""
    height, width = usable.shape
    step = max(int(np.sqrt(height * width / FITTED)), 1)
    some = np.s_[..., ::step, ::step]
    weight = usable[some].astype(np.float64)
    terms = terms_of(Frame(max(weight.shape[0], 4), max(weight.shape[1], 4)), DEGREE)
    terms = terms[:, : weight.shape[0], : weight.shape[1]]
    gains, offsets = fitted(values[some], common[some], weight, terms)
    lit = common * gains[:, 0, None, None] + offsets[:, None, None]
    return np.asarray(lit, np.float32)


def judge(
    picture: Picture,
    expected: Expected,
    unit: float,
    width: float,
    settings: OutputSettings,
    drop_shadows: bool = False,
) -> Judged:
    """Say what does not belong in a picture.

    Parameters
    ----------
    picture : Picture
    expected : Expected
    unit : float
        What 1.0 is in the picture.
    width : float
        Standard deviations at which an error costs as much as not to belong.
    settings : OutputSettings
    drop_shadows : bool
        Whether what looks like a shadow belongs.
    """
    judged = expected.known if picture.mask is None else expected.known & picture.mask
    values = planes_of(picture, unit)
    error = np.where(judged, values - expected.clean, 0)
    cost = (error**2).mean(axis=0) / (width**2 * expected.variance)
    if drop_shadows:
        shadow = shadow_cost(values, expected.clean, expected.variance, settings)
        cost = np.minimum(cost, shadow)
    mask = labelled(cost, judged, settings.cut.smoothness)
    return Judged(mask, judged, expected, error.astype(np.float32))


def planes_of(picture: Picture, unit: float) -> Floats32:
    """Return the values of a picture as planes (c, h, w), in the unit; NaN becomes zero."""
    given = np.asarray(picture.values)
    # In double precision where it came so: single precision ends at 1e38.
    precision: Any = np.float64 if given.dtype.itemsize > SINGLE else np.float32
    with np.errstate(over="ignore"):
        values = np.nan_to_num(given.astype(precision, copy=False) / precision(unit))
    if precision is np.float64:
        # What is beyond all measure is masked; here it only has to have room.
        values = np.clip(values, -BEYOND, BEYOND).astype(np.float32)
    return np.moveaxis(values if values.ndim == 3 else values[..., None], 2, 0)
