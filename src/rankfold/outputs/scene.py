"""What most pictures show: the clean scene on one grid, its noise, and the light of each picture.

The plate, the restored pictures and the masks are all made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats
from rankfold.io.source import nothing
from rankfold.outputs.light import Light, common_light
from rankfold.outputs.noise import Noise, Sample, noise_of
from rankfold.outputs.settings import OutputSettings
from rankfold.outputs.spool import RADIUS, Spool, Tile, coarse, spread_tiles, tiles
from rankfold.outputs.warping import Warper
from rankfold.scale import Executor, store_of
from rankfold.stack import Bools, Frame

Array = npt.NDArray[Any]
Floats32 = npt.NDArray[np.float32]

# Unit: px. Side of the tiles in which the noise of large pictures is looked at.
SIDE = 64

# Share of the pictures that must agree on something else for the scene to be in doubt.
TWO_FACED = 0.3

# A single picture that shows something else has something in front of it.
SEVERAL = 1.5

# Percentiles of the values between which the range of pictures lies that are not of 8 bits.
RANGE = (0.5, 99.5)


@dataclass(frozen=True)
class Original:
    """A picture as it came.

    Attributes
    ----------
    values : (h, w) or (h, w, c) array
        In the type of the file.
    mask : (h, w) array of bool, optional
        True where a pixel may be used.
    """

    values: Array
    mask: Bools | None = None


# How far each pixel of a picture can be trusted: its index and rows of the grid to (h, w), to 1.
Trust = Callable[[int, slice], Array]


# What is taken off picture ``index`` in some rows of the grid (c, h, w) before it is compared.
Base = Callable[[int, slice], Array]


def full_trust(index: int, rows: slice) -> Array:  # noqa: ARG001 (everywhere the same)
    """Trust every pixel."""
    return np.ones((1, 1), np.float32)


@dataclass(frozen=True)
class Scene:
    """What most pictures show, or what they show besides what was taken off each of them.

    Values are in units of ``unit``.

    Attributes
    ----------
    grid : Frame
    clean : (c, h, w) array
        The scene in the common light; NaN where no picture shows it.
    support, rival, total : (h, w) arrays
        How many pictures show it so, how many agree on something else, and how many there are; by
        the trust in them.
    noise : Noise
    light : Light
        Of the donors.
    donors : tuple of int
        Which pictures were asked.
    unit : float
        What 1.0 is in the originals.
    span : float
        The range of the values, in that unit.
    """

    grid: Frame
    clean: Floats32
    support: Floats32
    rival: Floats32
    total: Floats32
    noise: Noise
    light: Light
    donors: tuple[int, ...]
    unit: float
    span: float

    @property
    def seen(self) -> Bools:
        """Which pixels (h, w) some picture shows."""
        return np.asarray(np.isfinite(self.clean[0]))

    @property
    def two_faced(self) -> Bools:
        """Where (h, w) so many pictures agree on something else that either may be in front."""
        return np.asarray(self.seen & (self.rival > np.maximum(TWO_FACED * self.total, SEVERAL)))


def scene_of(
    originals: Iterable[Original],
    donors: Sequence[int],
    matrices: Floats,
    grid: Frame,
    unit: float,
    settings: OutputSettings,
    executor: Executor,
    trust: Trust = full_trust,
    base: Base | None = None,
    light: Light | None = None,
    watch: Callable[[], object] = nothing,
) -> Scene:
    """Find what most pictures show.

    Parameters
    ----------
    originals : iterable of k Original
        The donors, read one at a time.
    donors : k int
        Their indices in the batch.
    matrices : (k, 3, 3) array
        From the grid to each of them.
    grid : Frame
    unit : float
        Values are divided by it.
    settings : OutputSettings
    executor : Executor
        Its store says where pictures are kept.
    trust : callable
        See :data:`Trust`.
    base : callable, optional
        See :data:`Base`. The scene is then what is left of the pictures.
    light : Light, optional
        Of the donors, where it is known; found here otherwise.
    watch : callable
        Called after every picture, and after every tile.
    """
    spool = _gathered(originals, donors, matrices, grid, unit, executor, trust, base, watch)
    factor = max(-(-max(grid.shape) // settings.light.side), 1)
    small, small_trust = coarse(spool, factor)
    span = range_of(small, small_trust, unit)
    if light is None:
        light = common_light(small, small_trust, grid, settings.light)
    del small, small_trust
    chosen = spread_tiles(grid, settings.noise.tiles, SIDE)
    noise = noise_of(_against_median(spool, light, chosen), span, settings.noise)
    clean, support, rival, total = _agreed(spool, light, noise, settings, executor, watch)
    # The clean picture has less in front of it than the median, so its noise is known better.
    noise = noise_of(_against(spool, light, clean, chosen), span, settings.noise)
    spool.rest()
    return Scene(grid, clean, support, rival, total, noise, light, tuple(donors), unit, span)


def range_of(values: Array, trust: Array, unit: float) -> float:
    """Return the range of values (k, c, h, w): one for bytes, else what most of them span."""
    if unit == np.iinfo(np.uint8).max:
        return 1.0
    seen = np.moveaxis(values, 1, -1)[trust > 0]
    if not seen.size:
        return 1.0
    low, high = np.percentile(seen, RANGE)
    # Pictures of one single value have no range that anything could be compared with.
    return float(high - low) or 1.0


def _gathered(
    originals: Iterable[Original],
    donors: Sequence[int],
    matrices: Floats,
    grid: Frame,
    unit: float,
    executor: Executor,
    trust: Trust,
    base: Base | None,
    watch: Callable[[], object],
) -> Spool:
    """Bring the donors to the grid, one after the other."""
    spool: Spool | None = None
    for k, (index, original) in enumerate(zip(donors, originals, strict=True)):
        values = original.values
        if spool is None:
            channels = values.shape[2] if values.ndim == 3 else 1
            spool = Spool(store_of(executor), len(donors), channels, grid)
        for part in Warper(values, original.mask, unit).through(matrices[k], grid):
            left = part.values
            known = part.valid
            if base is not None:
                left = left - base(index, part.rows)
                known = known & np.isfinite(left).all(axis=0)
                left = np.where(known, left, 0)
            spool.put(k, part.rows, left, known, trust(index, part.rows))
        spool.done_with(k)
        watch()
    assert spool is not None
    return spool


def _against_median(spool: Spool, light: Light, chosen: Sequence[Tile]) -> Iterator[Sample]:
    """What is left of the pictures on some tiles when their median is taken off."""
    from rankfold.outputs.kernels import medians

    for tile in chosen:
        values, trust = in_common(spool, light, tile)
        middle = medians(values, trust)
        yield values - np.nan_to_num(middle), trust, middle


def _against(
    spool: Spool, light: Light, clean: Floats32, chosen: Sequence[Tile]
) -> Iterator[Sample]:
    """What is left of the pictures on some tiles when the clean one is taken off."""
    for tile in chosen:
        values, trust = in_common(spool, light, tile)
        here = clean[(slice(None), *tile.box)]
        yield values - np.nan_to_num(here), trust, here


def in_common(spool: Spool, light: Light, tile: Tile, margin: int = 0) -> tuple[Floats32, Floats32]:
    """Return values (k, c, h, w) of a tile in the common light, and trust (k, h, w)."""
    values, trust = spool.read(tile, margin)
    wide = Tile(
        slice(tile.rows.start - margin, tile.rows.stop + margin),
        slice(tile.columns.start - margin, tile.columns.stop + margin),
    )
    brightness = light.brightness
    for k in range(len(spool)):
        values[k] = light.matched(k, values[k], wide)
        # The noise of a dark picture is made as much brighter as the picture.
        trust[k] *= min(brightness[k], 1.0) ** 2
    return values, trust


def _agreed(
    spool: Spool,
    light: Light,
    noise: Noise,
    settings: OutputSettings,
    executor: Executor,
    watch: Callable[[], object],
) -> tuple[Floats32, Floats32, Floats32, Floats32]:
    """Return what most pictures agree on (c, h, w), its support, rival and the total (h, w)."""
    from rankfold.outputs.kernels import medians, most_agreed

    store = store_of(executor)
    grid = spool.grid
    clean: Floats32 = store.zeros((spool.values.shape[1], *grid.shape), np.float32)
    support: Floats32 = store.zeros(grid.shape, np.float32)
    rival: Floats32 = store.zeros(grid.shape, np.float32)
    total: Floats32 = store.zeros(grid.shape, np.float32)

    def vote(tile: Tile) -> None:
        values, trust = in_common(spool, light, tile, RADIUS)
        middle = medians(values, trust)
        variance = noise.variance(middle)
        inner = np.s_[RADIUS:-RADIUS, RADIUS:-RADIUS]
        limit = np.ascontiguousarray(settings.votes.limit * variance[inner])
        shape = (values.shape[1], *tile.shape)
        agreed = np.empty(shape, np.float32)
        some = np.empty(tile.shape, np.float32)
        others = np.empty(tile.shape, np.float32)
        every = np.empty(tile.shape, np.float32)
        most_agreed(values, trust, limit, agreed, some, others, every)
        clean[(slice(None), *tile.box)] = agreed
        support[tile.box] = some
        rival[tile.box] = others
        total[tile.box] = every
        watch()

    row: list[Tile] = []
    for tile in tiles(grid):
        row.append(tile)
        if tile.columns.stop == grid.width:
            # What is on disk is read a row of tiles at a time, and let go.
            executor.run(vote, row)
            spool.rest()
            row = []
    return clean, support, rival, total


def count_of_tiles(grid: Frame) -> int:
    """Say how many tiles a grid has."""
    return sum(1 for _ in tiles(grid))
