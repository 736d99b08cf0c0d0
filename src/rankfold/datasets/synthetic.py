"""Generated batches whose truth is known: low rank + sparse, with known transforms, lit heads.

The same seed gives the same bits, so the order of the random draws is part of each function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import ndimage

from rankfold.datasets import head
from rankfold.errors import InputError
from rankfold.families import Floats, get_family, inverse, map_points, shift
from rankfold.stack import Bools, Frame

# Unit: px. What a texture has beyond the frame on every side, so that the frame can move.
TEXTURE_MARGIN = 14

# Source px that one px of the frame spans in the pictures of heads.
HEAD_ZOOM = 1.75

# A head unit, as a share of the frame's width.
HEAD_WIDTH = 0.46

# Unit: px. What a picture of a head has beyond the frame, if the frame does not hang over.
HEAD_MARGIN = 24

# Unit: px. How much larger than the picture the head is rendered, so that it can turn.
SCENE_MARGIN = 80

# Light that reaches every point of a head, whatever the lamp.
AMBIENT = 0.08

# Sides of an occluder, as shares of the picture's: an eighth of its area.
OCCLUDER = 0.35


@dataclass(frozen=True)
class LowRankTruth:
    """A matrix with its true parts: data = low_rank + sparse, all (n, m)."""

    data: Floats
    low_rank: Floats
    sparse: Floats


@dataclass(frozen=True)
class Batch:
    """Pictures with everything that is true of them.

    Parameters
    ----------
    images : list of (h, w) arrays
        As photographed: misaligned, lit, partly hidden.
    clean : list of (h, w) arrays
        The same without occlusion and noise.
    hidden : list of (h, w) arrays
        True where something is in front.
    frame : Frame
        The grid to align on.
    start, truth : (n, 3, 3) arrays
        Transforms from the frame to the pictures: where an aligner begins, and the true ones.
    points : (k, 2) array
        Landmarks in the frame.
    """

    images: list[Floats]
    clean: list[Floats]
    hidden: list[Bools]
    frame: Frame
    start: Floats
    truth: Floats
    points: Floats


def low_rank_plus_sparse(n: int, m: int, rank: int, corrupted: float, seed: int) -> LowRankTruth:
    """Return a matrix (n, m) of Gaussian factors with gross errors on some of its entries.

    Parameters
    ----------
    n, m, rank : int
    corrupted : float
        Share of the entries with errors of size 1 to 10, of either sign.
    seed : int
    """
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
    """Return smooth random textures that span ``rank`` dimensions, under known transforms.

    Parameters
    ----------
    n : int
        Number of pictures.
    rank : int
        Rank of the aligned pictures.
    family : str
        Which transforms.
    frame : (height, width)
    misalignment : float
        How far each corner of the frame is moved, in px of the frame (standard deviation).
    corrupted : float
        Share of the pixels with gross errors.
    seed : int
    """
    rng = np.random.default_rng(seed)
    grid = Frame(*frame)
    kind = get_family(family)
    shape = (frame[0] + 2 * TEXTURE_MARGIN, frame[1] + 2 * TEXTURE_MARGIN)
    textures = np.stack([_texture(shape, rng) for _ in range(rank)])
    # The first texture is in all pictures with the same weight, the others differ. n x rank
    varying = 0.5 * rng.standard_normal((n, rank - 1))
    weights = np.concatenate([np.full((n, 1), 2.0), varying], axis=1)
    scenes = 0.5 + 0.06 * np.tensordot(weights, textures, axes=1)
    moves = [_random_member(kind, grid, misalignment, rng) for _ in range(n)]
    to_scene = shift(np.full(2, TEXTURE_MARGIN))
    start = np.tile(to_scene, (n, 1, 1))
    truth = start @ np.stack(moves)
    clean = [photograph(scene, to_scene, T, shape) for scene, T in zip(scenes, truth, strict=True)]
    hidden = [rng.random(shape) < corrupted for _ in clean]
    images = [
        np.where(mask, rng.uniform(0, 1, shape), picture)
        for picture, mask in zip(clean, hidden, strict=True)
    ]
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
    worn: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Batch:
    """Return pictures of one rendered head under ``n`` lamps, turned and shifted by known amounts.

    The landmarks are the pupils.

    Parameters
    ----------
    n : int
        Number of lamps, one picture each.
    frame : (height, width)
        The grid to align on; one of its pixels spans 1.75 source pixels.
    rotation, translation : float
        Largest turn (degrees) and shift along each axis (px of the frame); uniform.
    occluded : float
        Probability that a picture has a textured rectangle of an eighth of its area in front of it.
    noise : float
        Standard deviation of the pixel noise.
    overhang : float
        Share of the frame's height and width that lies outside the pictures, half on either side.
    lights : float
        Largest azimuth in degrees; elevations reach 0.7 of it.
    worn : mapping, optional
        Share of the pictures on which the head wears something: ``{"glasses": 0.25, "scarf":
        0.4}``, each on pictures of its own.
    seed : int
    """
    rng = np.random.default_rng(seed)
    grid = Frame(*frame)
    # Source px per head unit.
    per_unit = HEAD_WIDTH * frame[1] * HEAD_ZOOM
    spare = HEAD_MARGIN if overhang == 0 else 0
    shape = tuple(round(size * HEAD_ZOOM * (1 - overhang)) + spare for size in frame)
    x, y = head.head_grid(shape[0] + SCENE_MARGIN, shape[1] + SCENE_MARGIN, per_unit)
    heights = head.height_field(x, y)
    reflectance = head.albedo(x, y, rng)
    # The middle of the frame is the middle of the head, and of the picture at the start.
    scene_centre = (np.array(x.shape[::-1]) - 1) / 2
    zoomed = np.diag([HEAD_ZOOM, HEAD_ZOOM, 1.0])
    to_scene = shift(scene_centre) @ zoomed @ shift(-grid.centre)
    to_source = shift(Frame(*shape).centre) @ zoomed @ shift(-grid.centre)
    truth = np.stack([to_source @ _turn(grid.centre, rotation, translation, rng) for _ in range(n)])
    clean = []
    images = []
    hidden = []
    for T in truth:
        azimuth = rng.uniform(-lights, lights)
        elevation = 0.7 * rng.uniform(-lights, lights)
        lamp = head.light(azimuth, elevation)
        scene = head.shade(heights, reflectance, lamp, per_unit, AMBIENT)
        picture = np.clip(photograph(scene, to_scene, T, shape), 0, 1)
        # Drawn for every picture, so that the probability does not change the lamps.
        blocked, occluder = _occluder(shape, rng)
        mask = blocked if rng.random() < occluded else np.zeros_like(blocked)
        grain = noise * rng.standard_normal(shape)
        clean.append(picture)
        hidden.append(mask)
        images.append(np.clip(np.where(mask, occluder, picture + grain), 0, 1))
    for k, what in _dressed(worn or {}, n, seed):
        # Every pixel of the picture in head units.
        places = map_points(inverse(truth[k]), Frame(*shape).grid) - grid.centre
        u, v = np.moveaxis(places.reshape(*shape, 2) / (HEAD_WIDTH * frame[1]), -1, 0)
        mask, cloth = head.WORN[what](u, v)
        images[k] = np.where(mask, cloth, images[k])
        hidden[k] = hidden[k] | mask
    pupils = map_points(inverse(to_scene), head.EYES * per_unit + scene_centre)
    start = np.tile(to_source, (n, 1, 1))
    return Batch(images, clean, hidden, grid, start, truth, pupils)


def photograph(scene: Floats, to_scene: Floats, transform: Floats, shape: Any) -> Floats:
    """Return what a picture of ``shape`` (height, width) shows of a scene (h, w).

    ``to_scene`` (3, 3) maps the frame to the scene, ``transform`` (3, 3) the frame to the picture.
    """
    points = map_points(to_scene @ inverse(transform), Frame(*shape).grid)
    values = ndimage.map_coordinates(scene, points.T[::-1], order=3, mode="nearest")
    return np.asarray(values.reshape(shape))


def _texture(shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Smooth noise (h, w) of two scales, each of unit variance."""
    parts = []
    for sigma in (2.0, 5.0):
        parts.append(ndimage.gaussian_filter(rng.standard_normal(shape), sigma, mode="wrap"))
    return np.asarray(sum(part / part.std() for part in parts))


def _random_member(kind: Any, grid: Frame, spread: float, rng: np.random.Generator) -> Floats:
    """The transform (3, 3) of a family that fits corners moved by ``spread`` px best."""
    moved = grid.corners + spread * rng.standard_normal((4, 2))
    return np.asarray(kind.fit(grid.corners, moved))


def _turn(centre: Floats, rotation: float, translation: float, rng: np.random.Generator) -> Floats:
    """A random turn (3, 3) about ``centre`` (2,) by up to ``rotation`` degrees, and a shift."""
    angle = np.radians(rng.uniform(-rotation, rotation))
    offset = rng.uniform(-translation, translation, 2)
    motion = get_family("euclidean").matrix(np.array([angle, *offset]))
    return shift(centre) @ motion @ shift(-centre)


def _dressed(worn: Mapping[str, float], n: int, seed: int) -> list[tuple[int, str]]:
    """Who wears what: pictures with what they wear, in a random order of their own."""
    unknown = [what for what in worn if what not in head.WORN]
    if unknown:
        names = ", ".join(head.WORN)
        raise InputError(f"a head cannot wear {unknown[0]!r}; choose from {names}")
    if min(worn.values(), default=0.0) < 0 or sum(worn.values()) > 1:
        raise InputError("the shares of what heads wear must be positive and at most 1 together")
    # Its own draws: what is worn changes neither lamps nor turns.
    order = np.random.default_rng([seed, len(head.WORN)]).permutation(n)
    found: list[tuple[int, str]] = []
    for what, share in worn.items():
        first = len(found)
        found += [(int(k), what) for k in order[first : first + round(share * n)]]
    return found


def _occluder(shape: Any, rng: np.random.Generator) -> tuple[Bools, Floats]:
    """Where a rectangle somewhere in a picture (h, w) is, and its texture (h, w)."""
    h = round(OCCLUDER * shape[0])
    w = round(OCCLUDER * shape[1])
    top = rng.integers(shape[0] - h + 1)
    left = rng.integers(shape[1] - w + 1)
    mask = np.zeros(shape, dtype=bool)
    mask[top : top + h, left : left + w] = True
    return mask, 0.6 * rng.random() + 0.4 * rng.random(shape)
