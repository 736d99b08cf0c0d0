"""Find what several pictures share and does not belong: candidates, evidence, and the choice."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rankfold.align.occluders.candidates import Sizes, candidates, overlap
from rankfold.align.occluders.evidence import Evidence, Pictures, contradictions, examine
from rankfold.align.occluders.grid import Grid, grown
from rankfold.align.occluders.prediction import Array, Bools, Coordinates, Floats
from rankfold.align.settings import AlignSettings, OccluderSettings
from rankfold.manifold.vote import window_for
from rankfold.scale import streamed


@dataclass(frozen=True)
class Decomposed:
    """Decomposed pictures as rows of c h w values."""

    data: Array  # D, n x m; zero where missing
    low_rank: Array  # A, n x m
    valid: Bools  # n x m
    units: Floats  # (n,): the range of a pixel in row i
    shape: tuple[int, int, int]  # (channels, height, width)


@dataclass(frozen=True)
class Find:
    """An occluder in the pixels of the frame."""

    region: Bools  # h x w
    members: Bools  # (n,)
    masks: Bools  # k x h x w, one for each member
    confidence: float


def find_occluders(rows: Decomposed, shared: float, settings: AlignSettings) -> list[Find]:
    """What at most a share of the pictures has in front of it in the same place, surest first."""
    numbers = settings.occluders
    n = len(rows.data)
    _, height, width = rows.shape
    if n < numbers.least_pictures or min(height, width) < numbers.cells:
        return []
    sample = np.unique(np.linspace(0, n - 1, min(n, numbers.sample)).round().astype(np.intp))
    every = reduced(rows, sample, settings)
    pictures = every if len(sample) == n else every.only(sample)
    sizes = Sizes.of(len(sample), shared, numbers)
    # What several pictures share has a dimension of its own beside the thing.
    if sizes.most < sizes.least or len(every.coordinates.basis) < 2:
        return []
    rectangles = every.grid.rectangles(numbers.least_cells, numbers.most_cells)
    points = pictures.coordinates.points
    promising = candidates(points, every.shown, rectangles, sizes, numbers)
    found = [examine(pictures, one, sizes, numbers) for one in promising]
    # Of few pictures some are different by chance.
    least = numbers.strength * max(1.0, numbers.few / len(sample))
    sure = [one for one in found if one is not None and one.strength >= least]
    chosen = distinct(sorted(sure, key=lambda one: -one.confidence), numbers)
    return [in_frame(one, every, sample, (height, width), numbers) for one in chosen]


def distinct(found: list[Evidence], numbers: OccluderSettings) -> list[Evidence]:
    """Of finds, surest first, those on other pictures or in another place than the ones before.

    A find on the pictures of one before may show more of it, and is added to it.
    """
    kept: list[Evidence] = []
    for one in found:
        same = [overlap(one.members, other.members) >= numbers.alike for other in kept]
        if any(same):
            index = same.index(True)
            kept[index] = joined(kept[index], one)
        elif not any(meets(one, other) for other in kept):
            kept.append(one)
    return kept


def joined(one: Evidence, two: Evidence) -> Evidence:
    """A find with what another one on the same pictures shows of it."""
    return replace(
        one,
        cells=one.cells | two.cells,
        footprint=one.footprint | two.footprint,
        contradicted=one.contradicted | two.contradicted,
    )


def meets(one: Evidence, two: Evidence) -> bool:
    """Whether a find has pixels and pictures of another one, or most of its pixels.

    Where pictures with and without an occluder are about as many, the others seem to have one too.
    """
    common = one.footprint & two.footprint
    pictures = (one.members & two.members).any()
    return bool((pictures and common.any()) or common.sum() > one.footprint.sum() / 2)


def in_frame(
    found: Evidence,
    every: Pictures,
    sample: npt.NDArray[np.intp],
    shape: tuple[int, int],
    numbers: OccluderSettings,
) -> Find:
    """A find in the sample as one in all pictures, and in the pixels of the frame."""
    contradicted = found.contradicted
    members = found.members
    if len(sample) < len(every.data):
        donors = np.zeros(len(every.data), dtype=bool)
        donors[sample[~members]] = True
        contradicted = contradictions(every, grown(found.cells), donors, numbers)
        members = contradicted[:, found.footprint].mean(axis=1) >= 0.5
    # Where it is as bright as what is behind it, it is there nonetheless.
    masks = contradicted[members] | found.footprint
    return Find(enlarged(found.footprint, shape), members, enlarged(masks, shape), found.confidence)


def reduced(rows: Decomposed, sample: npt.NDArray[np.intp], settings: AlignSettings) -> Pictures:
    """Pictures of at most so many pixels on their short side, with coordinates from a sample."""
    numbers = settings.occluders
    channels, height, width = rows.shape
    factor = max(min(height, width) / numbers.side, 1.0)
    shape = (round(height / factor), round(width / factor))
    valid = shrunk(rows.valid, rows.shape, shape)
    # A mean over the valid pixels; the others are zero.
    data = shrunk(rows.data, rows.shape, shape) / np.maximum(valid, 1e-6)
    low_rank = shrunk(rows.low_rank, rows.shape, shape)
    n = len(data)
    whole = low_rank.reshape(n, -1)
    coordinates = Coordinates.of(whole[sample])
    if len(sample) < n:
        coordinates = Coordinates(whole @ coordinates.basis.T, coordinates.basis)
    grid = Grid(numbers.cells, shape)
    return Pictures(
        data=data,
        valid=valid.min(axis=1) > 0.5,
        limits=numbers.contrast * rows.units,
        coordinates=coordinates,
        grid=grid,
        shown=grid.shown(coordinates.basis.reshape(-1, channels, *shape)),
        window=window_for(settings.manifold.window, (channels, *shape)),
    )


def shrunk(rows: Array, shape: tuple[int, int, int], small: tuple[int, int]) -> Floats:
    """Rows of pictures (c, h, w) as means over the pixels of a smaller grid, (n, c, h', w')."""
    pictures = rows.reshape(-1, *shape)
    if shape[1:] == small:
        return pictures.astype(np.float64)
    edges = [Grid.edges_of(size, count) for size, count in zip(shape[1:], small, strict=True)]
    heights, widths = (np.diff(edge) for edge in edges)
    areas = np.outer(heights, widths)
    out = np.empty((len(pictures), shape[0], *small))
    # One after the other: a large batch is not copied as a whole.
    for picture, target in zip(streamed(pictures), out, strict=True):
        tall = np.add.reduceat(picture, edges[0][:-1], axis=1, dtype=np.float64)
        target[:] = np.add.reduceat(tall, edges[1][:-1], axis=2) / areas
    return out


def enlarged(pixels: Bools, shape: tuple[int, int]) -> Bools:
    """Pixels (..., h', w') of a smaller grid in those of a larger one."""
    heights, widths = (
        np.diff(Grid.edges_of(size, count))
        for size, count in zip(shape, pixels.shape[-2:], strict=True)
    )
    tall = np.repeat(pixels, heights, axis=-2)
    return np.asarray(np.repeat(tall, widths, axis=-1))
