"""Two more scenes with known truth: a drifting microscope stack, and a street with walkers seen by a fixed camera."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from rankfold.datasets.synthetic import Batch, _photograph
from rankfold.families import Floats, shift
from rankfold.stack import Frame


def cells(
    n: int = 20, frame: tuple[int, int] = (90, 110), drift: float = 3.0, seed: int = 0
) -> Batch:
    """Bright spots on a dark field that drifts (px, standard deviation), bleaches, and has dust passing through."""
    rng = np.random.default_rng(seed)
    grid, margin = Frame(*frame), 16
    shape = (frame[0] + 2 * margin, frame[1] + 2 * margin)
    field = np.zeros((shape[0] + 40, shape[1] + 40))
    for _ in range(90):
        row, column = (rng.uniform(4, size - 4) for size in field.shape)
        field += rng.uniform(0.1, 0.6) * _spot(field.shape, row, column, rng.uniform(1.5, 5.0))
    field = 0.05 + 0.9 * field / field.max()
    to_scene = shift(np.full(2, 20.0 + margin))
    start = np.tile(shift(np.full(2, float(margin))), (n, 1, 1))
    truth = start @ np.stack([shift(drift * rng.standard_normal(2)) for _ in range(n)])
    clean, images, hidden = [], [], []
    for k, T in enumerate(truth):
        picture = _photograph(field, to_scene, T, shape) * (1 - 0.4 * k / n)
        mask = np.zeros(shape, dtype=bool)
        for _ in range(rng.integers(0, 4)):
            mask |= (
                _spot(shape, rng.uniform(0, shape[0]), rng.uniform(0, shape[1]), rng.uniform(3, 7))
                > 0.3
            )
        clean.append(picture)
        hidden.append(mask)
        images.append(
            np.clip(np.where(mask, 0.95, picture) + 0.01 * rng.standard_normal(shape), 0, 1)
        )
    return Batch(images, clean, hidden, grid, start, truth, grid.corners)


def street(n: int = 40, frame: tuple[int, int] = (60, 80), seed: int = 0) -> Batch:
    """A fixed view whose light changes slowly, and people who walk through it; nothing to align."""
    rng = np.random.default_rng(seed)
    noise = [ndimage.gaussian_filter(rng.standard_normal(frame), s) for s in (1.5, 6.0)]
    scene = np.clip(0.5 + 0.12 * sum(part / part.std() for part in noise), 0.05, 0.95)
    people = [
        (rng.uniform(0.3, 0.9) * frame[0], rng.uniform(-1, 1), rng.uniform(0, 1), rng.random())
        for _ in range(4)
    ]
    clean, images, hidden = [], [], []
    for k in range(n):
        picture = scene * (0.85 + 0.15 * np.sin(2 * np.pi * k / n))
        mask, tone = np.zeros(frame, dtype=bool), np.zeros(frame)
        for row, speed, place, grey in people:
            column = (place * frame[1] + np.sign(speed) * (0.5 + abs(speed)) * 1.5 * k) % (
                frame[1] + 12
            ) - 6
            body = (
                np.hypot(
                    (np.arange(frame[0])[:, None] - row) / 9, (np.arange(frame[1]) - column) / 3.5
                )
                < 1
            )
            mask, tone = mask | body, np.where(body, 0.1 + 0.85 * grey, tone)
        clean.append(picture)
        hidden.append(mask)
        images.append(np.where(mask, tone, picture))
    still: Floats = np.tile(np.eye(3), (n, 1, 1))
    return Batch(images, clean, hidden, Frame(*frame), still, still, Frame(*frame).corners)


def _spot(shape: tuple[int, ...], row: float, column: float, size: float) -> Floats:
    """A Gaussian bump."""
    rows, columns = np.arange(shape[0])[:, None], np.arange(shape[1])
    return np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * size**2))
