"""Generated pictures in place of the data sets, for those who do not have them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rankfold.datasets.facade import facade
from rankfold.datasets.synthetic import Batch, rendered_heads
from rankfold.families import Floats, inverse, map_points
from rankfold.stack import Frame, Points
from rankfold_lab.readers.ar import HIDDEN, ArPerson
from rankfold_lab.readers.windows import Windows

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
    moderate = lights <= 50
    count = 33 if moderate else 64
    azimuth = 50.0 if moderate else 80.0
    return rendered_heads(
        count, rotation=6.0 * size, translation=2.0 * size, lights=azimuth, seed=subject
    )


def masked_person(person: int) -> ArPerson:
    """A rendered head: seven free, three behind dark glasses, three behind a striped scarf."""
    batch = rendered_heads(
        13, frame=(40, 36), rotation=3.0, translation=1.0, lights=35.0, seed=100 + person
    )
    eyes = batch.points.mean(axis=0)
    middle = batch.frame.centre[0]
    images = []
    for k, (picture, T) in enumerate(zip(batch.images, batch.truth, strict=True)):
        height, width = picture.shape
        # Where every pixel of the picture lies in the frame.
        places = map_points(inverse(T), Frame(height, width).grid).reshape(height, width, 2)
        x = places[..., 0]
        y = places[..., 1]
        shown = picture
        if HIDDEN[k] == "sunglasses":
            glasses = (np.abs(y - eyes[1]) < 4) & (np.abs(x - middle) < 13)
            shown = np.where(glasses, 0.06, picture)
        elif HIDDEN[k] == "scarf":
            stripes = 0.45 + 0.3 * np.sign(np.sin(y * 1.4))
            shown = np.where(y > 0.6 * batch.frame.height, stripes, picture)
        images.append(shown)
    return ArPerson(np.stack(images), HIDDEN, f"rendered head {person}")


def digits(digit: int, count: int) -> Floats:
    """Return a kind of handwriting: strokes with jittered corners, (count, 16, 16)."""
    rng = np.random.default_rng(digit)
    pictures = []
    for _ in range(count):
        canvas = np.zeros((64, 64))
        corners = [
            None if point is None else np.array(point) + 0.035 * rng.standard_normal(2)
            for point in STROKES[digit]
        ]
        for a, b in pairwise(corners):
            if a is not None and b is not None:
                _draw_line(canvas, a, b)
        thick = ndimage.gaussian_filter(canvas, rng.uniform(2.2, 3.2))
        bright = np.clip(thick / thick.max() * 1.6, 0, 1)
        # 64 x 64 to 16 x 16, by the mean of 4 x 4 pixels.
        pictures.append(bright.reshape(16, 4, 16, 4).mean(axis=(1, 3)))
    return np.stack(pictures)


def _draw_line(canvas: Floats, a: Floats, b: Floats) -> None:
    """Draw a line between two points (x, y) of the unit square into a canvas (64, 64)."""
    for t in np.linspace(0, 1, 60):
        place = 63 * (a + t * (b - a))
        x, y = np.clip(place.round().astype(int), 0, 63)
        canvas[y, x] = 1


def windows() -> Windows:
    """Return a generated facade: clean, and behind branches."""
    batch = facade(16, seed=5)
    points = batch.frame.corners
    noise = np.random.default_rng(5).normal(0, 1.0, (16, 4, 2))
    marked = map_points(batch.start, points) + noise
    clean = [(255 * picture).astype(np.uint8) for picture in batch.clean]
    occluded = [(255 * picture).astype(np.uint8) for picture in batch.images]
    return Windows(clean, occluded, Points(points, marked))


def portraits(name: str) -> Batch:
    """A rendered head in place of a person."""
    return rendered_heads(30, occluded=0.2, seed=sum(name.encode()))


def plane(name: str) -> tuple[list[npt.NDArray[Any]], Floats]:
    """Return views of a generated facade, and the homographies (6, 3, 3) from view 1 to each.

    These are small for "leuven" and large for "graf".
    """
    tilt = 4.0 if name == "leuven" else 25.0
    batch = facade(6, frame=(200, 200), tilt=tilt, seed=9)
    return list(batch.clean), batch.truth @ inverse(batch.truth[:1])
