"""Two more scenes with known truth: a drifting microscope stack, and a street with walkers."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from rankfold.datasets.synthetic import Batch, photograph
from rankfold.families import Floats, shift
from rankfold.stack import Bools, Frame

# Unit: px. What a picture of cells has beyond the frame, and the field beyond a picture.
PICTURE_MARGIN = 16
FIELD_MARGIN = 20

# How many cells are in the field.
CELLS = 90

# Share of the brightness that cells lose over the stack.
BLEACHING = 0.4

# How many people walk through the street; half of their height and width in px.
PEOPLE = 4
BODY = (9, 3.5)

# Unit: px. How far outside the picture a person turns up again on the other side.
OUT_OF_SIGHT = 6


def cells(
    n: int = 20, frame: tuple[int, int] = (90, 110), drift: float = 3.0, seed: int = 0
) -> Batch:
    """Return pictures of bright spots on a dark field that drifts and bleaches, with dust passing.

    Parameters
    ----------
    n : int
        Number of pictures.
    frame : (height, width)
    drift : float
        How far the field is from its place in each picture, in px (standard deviation).
    seed : int
    """
    rng = np.random.default_rng(seed)
    grid = Frame(*frame)
    shape = (frame[0] + 2 * PICTURE_MARGIN, frame[1] + 2 * PICTURE_MARGIN)
    field = _field((shape[0] + 2 * FIELD_MARGIN, shape[1] + 2 * FIELD_MARGIN), rng)
    to_scene = shift(np.full(2, float(FIELD_MARGIN + PICTURE_MARGIN)))
    start = np.tile(shift(np.full(2, float(PICTURE_MARGIN))), (n, 1, 1))
    truth = start @ np.stack([shift(drift * rng.standard_normal(2)) for _ in range(n)])
    clean = []
    images = []
    hidden = []
    for k, T in enumerate(truth):
        picture = photograph(field, to_scene, T, shape) * (1 - BLEACHING * k / n)
        mask = _dust(shape, rng)
        noise = 0.01 * rng.standard_normal(shape)
        clean.append(picture)
        hidden.append(mask)
        images.append(np.clip(np.where(mask, 0.95, picture) + noise, 0, 1))
    return Batch(images, clean, hidden, grid, start, truth, grid.corners)


def _field(shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Spots of different sizes (h, w), the brightest at 0.95, on a ground of 0.05."""
    field = np.zeros(shape)
    for _ in range(CELLS):
        row = rng.uniform(4, shape[0] - 4)
        column = rng.uniform(4, shape[1] - 4)
        brightness = rng.uniform(0.1, 0.6)
        size = rng.uniform(1.5, 5.0)
        field += brightness * _spot(shape, row, column, size)
    return np.asarray(0.05 + 0.9 * field / field.max())


def _dust(shape: tuple[int, int], rng: np.random.Generator) -> Bools:
    """Where (h, w) up to three grains of dust are."""
    mask = np.zeros(shape, dtype=bool)
    for _ in range(rng.integers(0, 4)):
        row = rng.uniform(0, shape[0])
        column = rng.uniform(0, shape[1])
        size = rng.uniform(3, 7)
        mask |= _spot(shape, row, column, size) > 0.3
    return mask


def _spot(shape: tuple[int, ...], row: float, column: float, size: float) -> Floats:
    """A Gaussian (h, w) of height one and standard deviation ``size`` px."""
    rows = np.arange(shape[0])[:, None]
    columns = np.arange(shape[1])
    return np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * size**2))


def street(n: int = 40, frame: tuple[int, int] = (60, 80), seed: int = 0) -> Batch:
    """Return a fixed view whose light changes slowly, with people who walk through it.

    There is nothing to align.

    Parameters
    ----------
    n : int
        Number of pictures.
    frame : (height, width)
        Of the pictures too.
    seed : int
    """
    rng = np.random.default_rng(seed)
    grid = Frame(*frame)
    scene = _view(frame, rng)
    # Row of a person, speed and direction, where they begin, and the shade of their clothes.
    people = [
        (rng.uniform(0.3, 0.9) * frame[0], rng.uniform(-1, 1), rng.uniform(0, 1), rng.random())
        for _ in range(PEOPLE)
    ]
    clean = []
    images = []
    hidden = []
    for k in range(n):
        picture = scene * (0.85 + 0.15 * np.sin(2 * np.pi * k / n))
        mask = np.zeros(frame, dtype=bool)
        shade = np.zeros(frame)
        for row, speed, place, grey in people:
            body = _body(frame, row, _column(frame[1], place, speed, k))
            mask = mask | body
            shade = np.where(body, 0.1 + 0.85 * grey, shade)
        clean.append(picture)
        hidden.append(mask)
        images.append(np.where(mask, shade, picture))
    still: Floats = np.tile(np.eye(3), (n, 1, 1))
    return Batch(images, clean, hidden, grid, still, still, grid.corners)


def _view(frame: tuple[int, int], rng: np.random.Generator) -> Floats:
    """The street without people (h, w): smooth noise of two scales."""
    noise = [ndimage.gaussian_filter(rng.standard_normal(frame), sigma) for sigma in (1.5, 6.0)]
    return np.asarray(np.clip(0.5 + 0.12 * sum(part / part.std() for part in noise), 0.05, 0.95))


def _column(width: int, place: float, speed: float, k: int) -> float:
    """Where a person is in picture ``k``, in px; who leaves on one side comes in on the other."""
    walked = np.sign(speed) * (0.5 + abs(speed)) * 1.5 * k
    return float((place * width + walked) % (width + 2 * OUT_OF_SIGHT) - OUT_OF_SIGHT)


def _body(frame: tuple[int, int], row: float, column: float) -> Bools:
    """Where (h, w) an ellipse around a point is."""
    half_height, half_width = BODY
    down = (np.arange(frame[0])[:, None] - row) / half_height
    across = (np.arange(frame[1]) - column) / half_width
    return np.asarray(np.hypot(down, across) < 1)
