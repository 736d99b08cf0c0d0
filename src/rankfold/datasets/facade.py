"""A flat facade photographed from several places through branches: homographies with known truth."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from rankfold.datasets.synthetic import Batch, _photograph
from rankfold.families import FAMILIES, Floats, shift
from rankfold.stack import Bools, Frame


def facade(
    n: int = 12, frame: tuple[int, int] = (80, 80), tilt: float = 2.0, seed: int = 0
) -> Batch:
    """One window of a brick facade, each picture under its own homography, light and branches.

    ``tilt`` is how far (frame px, standard deviation) each corner is moved. Sources are 1.5 times as fine as the frame.
    """
    rng = np.random.default_rng(seed)
    grid, zoom, margin = Frame(*frame), 1.5, 40
    shape = tuple(round(size * zoom) + 2 * margin for size in frame)
    wall = _wall(shape, margin, rng)
    to_source = (
        shift((np.array(shape[::-1]) - 1) / 2) @ np.diag([zoom, zoom, 1.0]) @ shift(-grid.centre)
    )
    corners = grid.corners
    moves = [
        FAMILIES["homography"].fit(corners, corners + tilt * rng.standard_normal((4, 2)))
        for _ in range(n)
    ]
    truth = to_source @ np.stack(moves)
    truth /= truth[:, 2:, 2:]
    clean, images, hidden = [], [], []
    for T in truth:
        light = rng.uniform(0.6, 1.0) * (
            1 + rng.uniform(-0.25, 0.25) * np.linspace(-1, 1, shape[1])
        )
        picture = np.clip(_photograph(wall, to_source, T, shape) * light, 0, 1)
        mask = _branches(shape, rng)
        clean.append(picture)
        hidden.append(mask)
        images.append(np.where(mask, 0.08 + 0.1 * rng.random(shape), picture))
    return Batch(images, clean, hidden, grid, np.tile(to_source, (n, 1, 1)), truth, corners)


def _wall(shape: tuple[int, ...], margin: int, rng: np.random.Generator) -> Floats:
    """Bricks, mortar, and one window with frame, bars, sill and curtains."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    course = rows // 9
    brick = (columns + 9 * (course % 2)) // 18
    tones = 0.5 + 0.12 * rng.standard_normal((course.max() + 1, brick.max() + 1))
    mortar = (rows % 9 < 2) | ((columns + 9 * (course % 2)) % 18 < 2)
    wall = np.where(mortar, 0.75, tones[course, brick])
    h, w = shape[0] - 2 * margin, shape[1] - 2 * margin
    top, bottom = margin + round(0.18 * h), margin + round(0.82 * h)
    left, right = margin + round(0.25 * w), margin + round(0.75 * w)
    wall[bottom : bottom + 8, left - 8 : right + 8] = 0.9
    wall[top - 5 : bottom, left - 5 : right + 5] = 0.95
    wall[top : bottom - 4, left:right] = 0.25
    wall[top : bottom - 4, left : left + 14] = 0.6 + 0.1 * np.sin(np.arange(14))
    wall[(top + bottom) // 2 - 2 : (top + bottom) // 2 + 2, left:right] = 0.95
    wall[top : bottom - 4, (left + right) // 2 - 2 : (left + right) // 2 + 2] = 0.95
    return np.asarray(ndimage.gaussian_filter(np.clip(wall, 0, 1), 0.8))


def _branches(shape: tuple[int, ...], rng: np.random.Generator) -> Bools:
    """A few thin curved branches with leaves, in front of everything."""
    mask = np.zeros(shape, dtype=bool)
    for _ in range(int(rng.integers(2, 5))):
        t = np.linspace(0, 1, 400)
        ends = rng.uniform(0, 1, (2, 2)) * np.array(shape)
        bend = rng.normal(0, 0.12 * min(shape), 2)
        path = ends[0] + np.outer(t, ends[1] - ends[0]) + np.outer(np.sin(np.pi * t), bend)
        leaves = path[rng.integers(0, len(t), 6)] + rng.normal(0, 4, (6, 2))
        _stamp(mask, path, 1.8)
        _stamp(mask, leaves, 5.0)
    return mask


def _stamp(mask: Bools, centres: Floats, radius: float) -> None:
    """Set discs in a mask that this module has just made."""
    reach = int(np.ceil(radius))
    dy, dx = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    disc = np.argwhere(dy**2 + dx**2 <= radius**2) - reach
    points = (np.rint(centres)[:, None, :] + disc).reshape(-1, 2).astype(int)
    inside = ((points >= 0) & (points < mask.shape)).all(axis=1)
    mask[tuple(points[inside].T)] = True
