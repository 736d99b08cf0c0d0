"""Generated pictures in place of the data sets, for those who do not have them; labelled wherever they appear."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rankfold.datasets.ar import ArPerson
from rankfold.datasets.facade import facade
from rankfold.datasets.synthetic import Batch, rendered_heads
from rankfold.experiments.windows import Windows
from rankfold.families import Floats, inverse, map_points
from rankfold.stack import Frame, Points

WINDOW_FRAME = Frame(80, 80)

# Strokes of the digits as points (x, y) in a unit square; a None lifts the pen.
STROKES: dict[int, list[tuple[float, float] | None]] = {
    0: [(0.5, 0.1), (0.2, 0.35), (0.2, 0.65), (0.5, 0.9), (0.8, 0.65), (0.8, 0.35), (0.5, 0.1)],
    1: [(0.5, 0.1), (0.5, 0.9)],
    2: [(0.2, 0.25), (0.5, 0.1), (0.8, 0.3), (0.2, 0.9), (0.8, 0.9)],
    3: [(0.2, 0.15), (0.75, 0.2), (0.45, 0.48), (0.8, 0.7), (0.2, 0.88)],
    4: [(0.65, 0.9), (0.65, 0.1), (0.2, 0.6), (0.85, 0.6)],
    5: [(0.8, 0.1), (0.3, 0.1), (0.25, 0.45), (0.75, 0.55), (0.7, 0.85), (0.2, 0.88)],
    6: [(0.7, 0.1), (0.3, 0.5), (0.35, 0.88), (0.75, 0.75), (0.65, 0.52), (0.3, 0.6)],
    7: [(0.2, 0.12), (0.8, 0.12), (0.4, 0.9)],
    8: [
        (0.5, 0.5),
        (0.25, 0.28),
        (0.5, 0.1),
        (0.75, 0.28),
        (0.25, 0.72),
        (0.5, 0.9),
        (0.75, 0.72),
        (0.5, 0.5),
    ],
    9: [(0.75, 0.35), (0.45, 0.5), (0.25, 0.3), (0.5, 0.1), (0.75, 0.3), (0.65, 0.9)],
}


def faces(subject: int, lights: int, size: float) -> Batch:
    """A rendered head in place of a subject: 33 or 64 lamps."""
    count, azimuth = (33, 50.0) if lights <= 50 else (64, 80.0)
    return rendered_heads(
        count, rotation=6.0 * size, translation=2.0 * size, lights=azimuth, seed=subject
    )


def masked_person(person: int) -> ArPerson:
    """A rendered head: seven free, three behind dark glasses, three behind a striped scarf."""
    batch = rendered_heads(
        13, frame=(40, 36), rotation=3.0, translation=1.0, lights=35.0, seed=100 + person
    )
    images = []
    for k, (picture, T) in enumerate(zip(batch.images, batch.truth, strict=True)):
        h, w = picture.shape
        places = map_points(inverse(T), Frame(h, w).grid).reshape(
            h, w, 2
        )  # frame coordinates of every pixel
        eyes, middle = batch.points.mean(axis=0), batch.frame.centre[0]
        glasses = (np.abs(places[..., 1] - eyes[1]) < 4) & (np.abs(places[..., 0] - middle) < 13)
        scarf = places[..., 1] > 0.6 * batch.frame.height
        stripes = 0.45 + 0.3 * np.sign(np.sin(places[..., 1] * 1.4))
        shown = (
            np.where(glasses, 0.06, picture)
            if 7 <= k < 10
            else np.where(scarf, stripes, picture)
            if k >= 10
            else picture
        )
        images.append(shown)
    kinds = ("",) * 7 + ("sunglasses",) * 3 + ("scarf",) * 3
    return ArPerson(np.stack(images), kinds, f"rendered head {person}")


def digits(digit: int, count: int) -> Floats:
    """Handwriting of a sort: strokes with jittered corners, (count, 16, 16)."""
    rng = np.random.default_rng(digit)
    pictures = []
    for _ in range(count):
        canvas = np.zeros((64, 64))
        corners = [
            None if p is None else np.array(p) + 0.035 * rng.standard_normal(2)
            for p in STROKES[digit]
        ]
        for a, b in pairwise(corners):
            if a is not None and b is not None:
                for t in np.linspace(0, 1, 60):
                    x, y = np.clip((63 * (a + t * (b - a))).round().astype(int), 0, 63)
                    canvas[y, x] = 1
        thick = ndimage.gaussian_filter(canvas, rng.uniform(2.2, 3.2))
        pictures.append(
            np.clip(thick / thick.max() * 1.6, 0, 1).reshape(16, 4, 16, 4).mean(axis=(1, 3))
        )
    return np.stack(pictures)


def windows() -> Windows:
    """A generated facade: clean, and behind branches."""
    batch = facade(16, seed=5)
    points = batch.frame.corners
    marked = map_points(batch.start, points) + np.random.default_rng(5).normal(0, 1.0, (16, 4, 2))
    bytes_ = [[(255 * p).astype(np.uint8) for p in side] for side in (batch.clean, batch.images)]
    return Windows(bytes_[0], bytes_[1], Points(points, marked))


def portraits(name: str) -> Batch:
    """A rendered head in place of a person."""
    return rendered_heads(30, occluded=0.2, seed=sum(name.encode()))


def plane(name: str) -> tuple[list[npt.NDArray[Any]], Floats]:
    """A generated facade under small ("leuven") or large ("graf") homographies, and those from view 1 to each."""
    batch = facade(6, frame=(200, 200), tilt=4.0 if name == "leuven" else 25.0, seed=9)
    return list(batch.clean), batch.truth @ inverse(batch.truth[:1])
