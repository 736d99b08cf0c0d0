"""What each picture of a run should show: its explanation on the frame, and the detail of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats, inverse
from rankfold.io import Picture
from rankfold.outputs.enlarging import enlarged
from rankfold.outputs.grid import Grid
from rankfold.outputs.judging import Expected
from rankfold.outputs.light import Light
from rankfold.outputs.model import Explained, Model, on_frame, without
from rankfold.outputs.originals import Aligned, Originals
from rankfold.outputs.scene import Original, Scene, scene_of
from rankfold.outputs.settings import OutputSettings
from rankfold.outputs.spool import Tile
from rankfold.outputs.trust import Doubts
from rankfold.outputs.warping import Warper, bands
from rankfold.scale import Executor
from rankfold.stack import Bools, Frame

Floats32 = npt.NDArray[np.float32]

# Pixels of the frame that are trusted less than this have no say in what belongs to a picture.
LEAST_TRUST = 0.5

# Where pixels of a picture are hidden, (h, w); None where none is known to be.
Hidden = Callable[[int], Bools | None]


class Modelled:
    """What each picture of a run should show, from the model on the frame and the detail of all.

    Parameters
    ----------
    model : Model
    scene : Scene
        What is left of the pictures when their explanations are taken off.
    grid : Grid
    frame : Frame
        Of the run.
    doubts : Doubts
    limits : (low, high)
        Of the values that pictures have.
    variance : (h, w) array, optional
        On the grid; by the noise of the scene if left out.
    """

    def __init__(
        self,
        model: Model,
        scene: Scene,
        grid: Grid,
        frame: Frame,
        doubts: Doubts,
        limits: tuple[float, float],
        variance: Floats32 | None = None,
    ) -> None:
        self.scene = scene
        self._model = model
        self._grid = grid
        self._frame = frame
        self._doubts = doubts
        self._limits = limits
        self._variance = scene.noise.variance(scene.clean) if variance is None else variance

    def with_variance(self, variance: Floats32) -> Modelled:
        """Return the same with another variance."""
        return Modelled(
            self._model,
            self.scene,
            self._grid,
            self._frame,
            self._doubts,
            self._limits,
            variance,
        )

    def expected(
        self, index: int, picture: Picture, matrix: Floats, hidden: Bools | None = None
    ) -> Expected:
        """Say what picture ``index`` should show; ``hidden`` pixels have no say."""
        explained = self.explained(index, picture, matrix @ inverse(self._grid.to_frame), hidden)
        light = self._model.light_of([explained], self._grid.frame)
        channels = len(explained.picture)
        grid = self._grid.frame
        layers = np.empty((*grid.shape, channels + 1), np.float32)
        known = np.empty(grid.shape, bool)
        for rows in bands(grid):
            part = Tile(rows, slice(0, grid.width))
            clean, there = self._on_grid(explained, light, part)
            layers[rows, :, :channels] = np.moveaxis(clean, 0, -1)
            layers[rows, :, channels] = self._variance[rows]
            known[rows] = there
        frame = Frame(*picture.values.shape[:2])
        found, seen = Warper(layers, known, blur=0.0).whole(inverse(matrix), frame)
        variance = np.maximum(found[-1], self.scene.noise.floor**2)
        return Expected(np.where(seen, found[:-1], 0).astype(np.float32), variance, seen)

    def explained(
        self, index: int, picture: Picture, matrix: Floats, hidden: Bools | None
    ) -> Explained:
        """Explain a picture on the frame; ``matrix`` is from the frame to it."""
        values, usable = on_frame(picture, hidden, matrix, self._frame, self.scene.unit)
        usable = usable & (self._doubts.on_frame(index) > LEAST_TRUST)
        return self._model.explain(values, usable)

    def _on_grid(self, explained: Explained, light: Light, part: Tile) -> tuple[Floats32, Bools]:
        """What a picture should show on some rows of the grid (c, h, w), and where it is known."""
        base = enlarged(explained.picture, self._grid, part.rows)
        detail = self.scene.clean[:, part.rows]
        # What no picture shows has no detail, but may be known to the model.
        lit = np.nan_to_num(detail) * light.gain(0, part)
        clean = base + lit
        known = np.isfinite(clean).all(axis=0)
        # Nothing is darker or brighter than what the pictures show.
        return np.where(known, np.clip(clean, *self._limits), 0).astype(np.float32), known


def modelled(
    aligned: Aligned,
    originals: Originals,
    model: Model,
    grid: Grid,
    donors: Sequence[int],
    settings: OutputSettings,
    executor: Executor,
    hidden: Hidden,
    watch: Callable[[], object],
) -> Modelled:
    """Learn what each picture of a run should show.

    Parameters
    ----------
    aligned : Aligned
    originals : Originals
    model : Model
    grid : Grid
    donors : k int
        The pictures that are asked.
    settings : OutputSettings
    executor : Executor
    hidden : callable
        What is known to be hidden in each picture.
    watch : callable
        Called after every picture, twice, and after every tile.
    """
    doubts = Doubts(aligned, originals, grid, settings.votes.doubt)
    frame = aligned.frame
    explained: dict[int, Explained] = {}
    low = np.inf
    high = -np.inf
    for index, picture in zip(donors, originals.read(donors), strict=True):
        values, usable = on_frame(
            picture, hidden(index), originals.transforms[index], frame, originals.unit
        )
        usable = usable & (doubts.on_frame(index) > LEAST_TRUST)
        explained[index] = model.explain(values, usable)
        if usable.any():
            low = min(low, float(values[:, usable].min()))
            high = max(high, float(values[:, usable].max()))
        watch()
    scene = scene_of(
        (
            Original(picture.values, without(picture, hidden(index)))
            for index, picture in zip(donors, originals.read(donors), strict=True)
        ),
        donors,
        (originals.transforms @ grid.to_frame)[list(donors)],
        grid.frame,
        originals.unit,
        settings,
        executor,
        trust=doubts,
        base=lambda index, rows: enlarged(explained[index].picture, grid, rows),
        light=model.light_of([explained[index] for index in donors], grid.frame),
        watch=watch,
    )
    return Modelled(model, scene, grid, frame, doubts, (low, high))
