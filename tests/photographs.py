"""Photographs of flat walls from several places, whose maps to the wall are known."""

from functools import cache

import numpy as np
from scipy import ndimage

from rankfold.families import FAMILIES, map_points, shift

SHAPE = (180, 240)


@cache
def scene(seed=0, shape=(420, 560)):
    """A flat scene with something to see everywhere: rectangles of all sizes, in any grey."""
    rng = np.random.default_rng(seed)
    values = np.full(shape, 0.5)
    for _ in range(700):
        height, width = rng.integers(4, 40, 2)
        top = rng.integers(-10, shape[0])
        left = rng.integers(-10, shape[1])
        values[max(top, 0) : top + height, max(left, 0) : left + width] = rng.random()
    return ndimage.gaussian_filter(values, 0.8)


@cache
def windows(unique, seed=0):
    """Six by nine identical windows; only a faint stain (``unique``) tells them apart."""
    tile = np.full((80, 66), 0.6)
    tile[14:62, 14:52] = 0.95
    tile[18:58, 18:48] = 0.2
    tile[18:58, 31:34] = 0.9
    tile[36:39, 18:48] = 0.9
    tile[62:67, 8:58] = 0.8
    stain = np.random.default_rng(seed).standard_normal((480, 594))
    stain = ndimage.gaussian_filter(stain, 2)
    return ndimage.gaussian_filter(np.tile(tile, (6, 9)), 0.7) + unique * stain / stain.std()


def photograph(wall, T, shape=SHAPE):
    """What a camera sees of a wall: T (3, 3) maps a pixel of the picture to the wall."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    there = map_points(T, np.stack([x.ravel(), y.ravel()], 1).astype(float))
    return ndimage.map_coordinates(wall, there.T[::-1], order=1, mode="reflect").reshape(shape)


def tilted(rng, wall, tilt=10.0):
    """A homography from a picture to somewhere on a wall, its corners moved by ``tilt`` px."""
    height, width = SHAPE
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], float)
    room = np.array([wall.shape[1] - width, wall.shape[0] - height])
    offset = room * rng.uniform(0.3, 0.7, 2)
    return FAMILIES["homography"].fit(corners, corners + offset + rng.normal(0, tilt, (4, 2)))


def turned(angle, scale=1.0, offset=(280.0, 210.0)):
    """A similarity from a picture to a wall, by degrees about the middle of the picture."""
    parameters = np.array([scale, np.radians(angle), *offset])
    middle = np.array([[1, 0, -(SHAPE[1] - 1) / 2], [0, 1, -(SHAPE[0] - 1) / 2], [0, 0, 1]])
    return FAMILIES["similarity"].matrix(parameters) @ middle


@cache
def views(count=5, seed=0):
    """Pictures of one scene from several places, and the maps to the wall."""
    rng = np.random.default_rng(seed + 100)
    truth = np.stack([tilted(rng, scene(seed)) for _ in range(count)])
    pictures = []
    for T in truth:
        exact = photograph(scene(seed), T)
        pictures.append(np.clip(exact + rng.normal(0, 0.01, SHAPE), 0, 1))
    return pictures, truth


@cache
def near_views(count=6, shape=(160, 200), noise=0.01, seed=0):
    """Pictures of one scene a little turned and moved, and the maps to the wall.

    Their middles lie within a few pixels of each other, so that they align from there.
    """
    rng = np.random.default_rng(seed)
    middle = (np.array(shape[::-1]) - 1) / 2
    pictures = []
    truth = []
    for _ in range(count):
        turn = FAMILIES["euclidean"].matrix(
            np.array([np.radians(rng.normal(0, 0.2)), *rng.normal(0, 0.7, 2)])
        )
        truth.append(shift(middle + 100) @ turn @ shift(-middle))
        exact = photograph(scene(), truth[-1], shape)
        pictures.append(exact + rng.normal(0, noise, shape))
    return pictures, np.stack(truth)
