"""Generated batches whose truth is known: low rank + sparse, with known warps, and lit heads. All seeded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import ndimage

from rankfold.datasets import head
from rankfold.families import Floats, get_family, inverse, map_points, shift
from rankfold.stack import Bools, Frame


@dataclass(frozen=True)
class LowRankTruth:
    """data = low_rank + sparse."""

    data: Floats
    low_rank: Floats
    sparse: Floats


@dataclass(frozen=True)
class Batch:
    """Pictures with everything that is true of them."""

    images: list[Floats]  # as photographed: misaligned, lit, hidden
    clean: list[Floats]  # the same without occlusion and noise
    hidden: list[Bools]  # where the two differ by occlusion
    frame: Frame
    start: Floats  # (n, 3, 3): where an aligner is to begin
    truth: Floats  # (n, 3, 3): frame to source
    points: Floats  # (k, 2): landmarks in the frame


def low_rank_plus_sparse(n: int, m: int, rank: int, corrupted: float, seed: int) -> LowRankTruth:
    """Product of Gaussian factors, with gross errors of 1 to 10 (either sign) on a share of the entries."""
    rng = np.random.default_rng(seed)
    low_rank = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m))
    errors = rng.choice([-1.0, 1.0], (n, m)) * rng.uniform(1, 10, (n, m))
    sparse = np.where(rng.random((n, m)) < corrupted, errors, 0.0)
    return LowRankTruth(low_rank + sparse, low_rank, sparse)


def warped_low_rank(
    n: int = 30,
    rank: int = 4,
    family: str = "similarity",
    frame: tuple[int, int] = (40, 40),
    misalignment: float = 2.0,
    corrupted: float = 0.0,
    seed: int = 0,
) -> Batch:
    """Smooth random textures that span ``rank`` dimensions, under known transforms.

    ``misalignment`` is how far (frame px, standard deviation) each corner is moved; ``corrupted`` the share of
    source pixels with gross errors.
    """
    rng = np.random.default_rng(seed)
    grid, kind = Frame(*frame), get_family(family)
    margin = 14
    shape = (frame[0] + 2 * margin, frame[1] + 2 * margin)
    textures = np.stack([_texture(shape, rng) for _ in range(rank)])
    weights = np.concatenate(
        [np.full((n, 1), 2.0), 0.5 * rng.standard_normal((n, rank - 1))], axis=1
    )
    scenes = 0.5 + 0.06 * np.tensordot(weights, textures, axes=1)
    moves = [
        kind.fit(grid.corners, grid.corners + misalignment * rng.standard_normal((4, 2)))
        for _ in range(n)
    ]
    start = np.tile(shift(np.full(2, margin)), (n, 1, 1))
    truth = start @ np.stack(moves)
    clean = [
        _photograph(s, shift(np.full(2, margin)), T, shape)
        for s, T in zip(scenes, truth, strict=True)
    ]
    hidden = [rng.random(shape) < corrupted for _ in clean]
    images = [np.where(h, rng.uniform(0, 1, shape), c) for c, h in zip(clean, hidden, strict=True)]
    return Batch(images, clean, hidden, grid, start, truth, grid.corners)


def rendered_heads(
    n: int = 30,
    frame: tuple[int, int] = (45, 42),
    rotation: float = 6.0,
    translation: float = 2.0,
    occluded: float = 0.0,
    noise: float = 0.0,
    overhang: float = 0.0,
    lights: float = 60.0,
    seed: int = 0,
) -> Batch:
    """One rendered head under ``n`` lamps, each picture turned and shifted by a known amount.

    Parameters
    ----------
    n : int
        Number of lamps, one picture each.
    frame : (height, width)
        Canonical grid; one of its pixels spans 1.75 source pixels.
    rotation, translation : float
        Largest turn (degrees) and shift along each axis (frame px); uniform.
    occluded : float
        Probability that a picture has a textured rectangle of an eighth of its area in front of it.
    noise : float
        Standard deviation of the pixel noise.
    overhang : float
        Share of the frame's height and width that lies outside the sources (half of it on either side).
    lights : float
        Largest azimuth in degrees; elevations reach 0.7 of it.
    seed : int
    """
    rng = np.random.default_rng(seed)
    grid, zoom = Frame(*frame), 1.75
    per_unit = 0.46 * frame[1] * zoom  # source px per head unit
    spare = 24 if overhang == 0 else 0
    shape = tuple(round(size * zoom * (1 - overhang)) + spare for size in frame)
    source = Frame(*shape)
    x, y = head.head_grid(shape[0] + 80, shape[1] + 80, per_unit)
    heights, reflectance = head.height_field(x, y), head.albedo(x, y, rng)
    to_scene = (
        shift((np.array(x.shape[::-1]) - 1) / 2) @ np.diag([zoom, zoom, 1.0]) @ shift(-grid.centre)
    )
    to_source = shift(source.centre) @ np.diag([zoom, zoom, 1.0]) @ shift(-grid.centre)
    truth = np.stack([to_source @ _turn(grid.centre, rotation, translation, rng) for _ in range(n)])
    clean, images, hidden = [], [], []
    for T in truth:
        lamp = head.light(rng.uniform(-lights, lights), 0.7 * rng.uniform(-lights, lights))
        scene = head.shade(heights, reflectance, lamp, per_unit, ambient=0.08)
        picture = np.clip(_photograph(scene, to_scene, T, shape), 0, 1)
        blocked, occluder = _occluder(shape, rng)
        mask = blocked if rng.random() < occluded else np.zeros_like(blocked)
        grain = noise * rng.standard_normal(shape)
        clean.append(picture)
        hidden.append(mask)
        images.append(np.clip(np.where(mask, occluder, picture + grain), 0, 1))
    pupils = map_points(inverse(to_scene), head.EYES * per_unit + (np.array(x.shape[::-1]) - 1) / 2)
    return Batch(images, clean, hidden, grid, np.tile(to_source, (n, 1, 1)), truth, pupils)


def _texture(shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Smooth noise of unit variance, two scales."""
    parts = [
        ndimage.gaussian_filter(rng.standard_normal(shape), s, mode="wrap") for s in (2.0, 5.0)
    ]
    return np.asarray(sum(part / part.std() for part in parts))


def _photograph(scene: Floats, to_scene: Floats, transform: Floats, shape: Any) -> Floats:
    """The scene as a source of the given shape shows it, when ``transform`` maps the frame to that source."""
    points = map_points(to_scene @ inverse(transform), Frame(*shape).grid)
    values = ndimage.map_coordinates(scene, points.T[::-1], order=3, mode="nearest")
    return np.asarray(values.reshape(shape))


def _turn(centre: Floats, rotation: float, translation: float, rng: np.random.Generator) -> Floats:
    """A random turn about ``centre`` and shift."""
    angle = np.radians(rng.uniform(-rotation, rotation))
    motion = get_family("euclidean").matrix(
        np.array([angle, *rng.uniform(-translation, translation, 2)])
    )
    return shift(centre) @ motion @ shift(-centre)


def _occluder(shape: Any, rng: np.random.Generator) -> tuple[Bools, Floats]:
    """A rectangle of 0.35 x 0.35 of the picture anywhere in it, and its texture."""
    h, w = (round(0.35 * size) for size in shape)
    top, left = rng.integers(shape[0] - h + 1), rng.integers(shape[1] - w + 1)
    mask = np.zeros(shape, dtype=bool)
    mask[top : top + h, left : left + w] = True
    return mask, 0.6 * rng.random() + 0.4 * rng.random(shape)
