"""A flat facade photographed from several places through branches: known homographies."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from rankfold.datasets.synthetic import Batch, photograph
from rankfold.families import FAMILIES, Floats, shift
from rankfold.stack import Bools, Frame

# Source px that one px of the frame spans.
ZOOM = 1.5

# Unit: px. What a picture has beyond the frame on every side.
MARGIN = 40

# Unit: px. Height and width of a brick, and thickness of the mortar.
BRICK = (9, 18)
MORTAR = 2

# Unit: px. Radii of a branch and of a leaf, and how many leaves a branch has.
BRANCH_RADIUS = 1.8
LEAF_RADIUS = 5.0
LEAVES = 6


def facade(
    n: int = 12, frame: tuple[int, int] = (80, 80), tilt: float = 2.0, seed: int = 0
) -> Batch:
    """Return pictures of one window of a brick facade, each with its own homography and light.

    Branches hide parts of each picture. The landmarks are the corners of the frame.

    Parameters
    ----------
    n : int
        Number of pictures.
    frame : (height, width)
        The grid to align on; one of its pixels spans 1.5 source pixels.
    tilt : float
        How far each corner of the frame is moved, in px of the frame (standard deviation).
    seed : int
    """
    rng = np.random.default_rng(seed)
    grid = Frame(*frame)
    corners = grid.corners
    shape = tuple(round(size * ZOOM) + 2 * MARGIN for size in frame)
    wall = _wall(shape, rng)
    centre = (np.array(shape[::-1]) - 1) / 2
    to_source = shift(centre) @ np.diag([ZOOM, ZOOM, 1.0]) @ shift(-grid.centre)
    moves = []
    for _ in range(n):
        moved = corners + tilt * rng.standard_normal((4, 2))
        moves.append(FAMILIES["homography"].fit(corners, moved))
    truth = to_source @ np.stack(moves)
    truth /= truth[:, 2:, 2:]
    clean = []
    images = []
    hidden = []
    for T in truth:
        # Brightness, and how it changes from left to right.
        level = rng.uniform(0.6, 1.0)
        slope = rng.uniform(-0.25, 0.25)
        light = level * (1 + slope * np.linspace(-1, 1, shape[1]))
        picture = np.clip(photograph(wall, to_source, T, shape) * light, 0, 1)
        mask = _branches(shape, rng)
        clean.append(picture)
        hidden.append(mask)
        images.append(np.where(mask, 0.08 + 0.1 * rng.random(shape), picture))
    start = np.tile(to_source, (n, 1, 1))
    return Batch(images, clean, hidden, grid, start, truth, corners)


def _wall(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Bricks and mortar (h, w), and one window in the middle."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    brick_height, brick_width = BRICK
    course = rows // brick_height
    # Every other course is moved by half a brick.
    along = columns + brick_width // 2 * (course % 2)
    brick = along // brick_width
    tones = 0.5 + 0.12 * rng.standard_normal((course.max() + 1, brick.max() + 1))
    mortar = (rows % brick_height < MORTAR) | (along % brick_width < MORTAR)
    wall = np.where(mortar, 0.75, tones[course, brick])
    _set_window(wall)
    return np.asarray(ndimage.gaussian_filter(np.clip(wall, 0, 1), 0.8))


def _set_window(wall: Floats) -> None:
    """Draw a window with sill, frame, glass, a curtain and two bars into a wall (h, w)."""
    h = wall.shape[0] - 2 * MARGIN
    w = wall.shape[1] - 2 * MARGIN
    top = MARGIN + round(0.18 * h)
    bottom = MARGIN + round(0.82 * h)
    left = MARGIN + round(0.25 * w)
    right = MARGIN + round(0.75 * w)
    sill = np.s_[bottom : bottom + 8, left - 8 : right + 8]
    frame = np.s_[top - 5 : bottom, left - 5 : right + 5]
    glass = np.s_[top : bottom - 4, left:right]
    curtain = np.s_[top : bottom - 4, left : left + 14]
    # In this order, because each covers what is behind it.
    wall[sill] = 0.9
    wall[frame] = 0.95
    wall[glass] = 0.25
    wall[curtain] = 0.6 + 0.1 * np.sin(np.arange(14))
    middle_row = (top + bottom) // 2
    middle_column = (left + right) // 2
    wall[middle_row - 2 : middle_row + 2, left:right] = 0.95
    wall[top : bottom - 4, middle_column - 2 : middle_column + 2] = 0.95


def _branches(shape: tuple[int, ...], rng: np.random.Generator) -> Bools:
    """Where (h, w) two to four thin curved branches with leaves are, in front of everything."""
    mask = np.zeros(shape, dtype=bool)
    for _ in range(int(rng.integers(2, 5))):
        t = np.linspace(0, 1, 400)
        ends = rng.uniform(0, 1, (2, 2)) * np.array(shape)
        bend = rng.normal(0, 0.12 * min(shape), 2)
        # A straight line that bulges in its middle. 400 x 2, as (row, column)
        path = ends[0] + np.outer(t, ends[1] - ends[0]) + np.outer(np.sin(np.pi * t), bend)
        leaves = path[rng.integers(0, len(t), LEAVES)] + rng.normal(0, 4, (LEAVES, 2))
        _stamp(mask, path, BRANCH_RADIUS)
        _stamp(mask, leaves, LEAF_RADIUS)
    return mask


def _stamp(mask: Bools, centres: Floats, radius: float) -> None:
    """Set discs around ``centres`` (k, 2), as (row, column), in a mask (h, w)."""
    reach = int(np.ceil(radius))
    dy, dx = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    disc = np.argwhere(dy**2 + dx**2 <= radius**2) - reach
    points = (np.rint(centres)[:, None, :] + disc).reshape(-1, 2).astype(int)
    inside = ((points >= 0) & (points < mask.shape)).all(axis=1)
    mask[tuple(points[inside].T)] = True
