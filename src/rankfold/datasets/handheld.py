"""Photographs and a film of a wall, with people in front: everything is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rankfold.families import FAMILIES, Floats, inverse, map_points, shift
from rankfold.stack import Bools

# How far each corner of a picture is moved, as a share of its size (standard deviation).
SHAKE = 0.015

# Exposure: factors of light between the darkest and the brightest picture, and what is added.
LIGHT = (0.75, 1.2)
OFFSET = 0.02

# Standard deviation of the noise of a picture.
NOISE = 0.01

# People in a picture at most; their height and width as shares of the height of the picture.
PEOPLE = 3
BODY = (0.45, 0.12)

# Branches of a picture, their radius and that of a leaf as shares of the height, leaves of each.
BRANCHES = 3
BRANCH = 0.004
LEAF = 0.012
LEAVES = 25


@dataclass(frozen=True)
class Handheld:
    """Pictures of a scene, and what is true of them.

    Attributes
    ----------
    images : n arrays (h, w, 3) of uint8 or uint16
    scene : (h, w, 3) array
        What the camera would see straight from the front, in [0, 1], in the usual light.
    hidden : n arrays (h, w) of bool
        What people and branches hide.
    transforms : (n, 3, 3) array
        From the scene to each picture.
    gains, offsets : (n,) arrays
        A picture is gain x scene + offset.
    """

    images: list[npt.NDArray[Any]]
    scene: Floats
    hidden: list[Bools]
    transforms: Floats
    gains: Floats
    offsets: Floats


def handheld(
    n: int = 12,
    size: tuple[int, int] = (240, 320),
    dtype: npt.DTypeLike = np.uint8,
    seed: int = 0,
) -> Handheld:
    """Return photographs of a painted wall, each from another place and in another light.

    People stand in front of the wall and branches hang into the picture, elsewhere each time.

    Parameters
    ----------
    n : int
        Number of pictures.
    size : (height, width)
    dtype : uint8 or uint16
    seed : int

    Returns
    -------
    Handheld
    """
    rng = np.random.default_rng(seed)
    height, width = size
    # Room around the scene, so that no picture looks over its edge.
    room = round(6 * SHAKE * width)
    wall = _wall((height + 2 * room, width + 2 * room), rng)
    coefficients = [ndimage.spline_filter(wall[..., c], 3) for c in range(3)]
    corners = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], float)
    top = np.iinfo(np.dtype(dtype)).max
    images = []
    hidden = []
    transforms = []
    gains = rng.uniform(*LIGHT, n)
    offsets = rng.uniform(-OFFSET, OFFSET, n)
    for gain, offset in zip(gains, offsets, strict=True):
        moved = corners + np.clip(SHAKE * rng.standard_normal((4, 2)), -2 * SHAKE, 2 * SHAKE) * [
            width,
            height,
        ]
        T = FAMILIES["homography"].fit(corners, moved)
        picture = _seen(coefficients, inverse(T), size, room)
        picture = gain * picture + offset
        mask = np.zeros(size, bool)
        for _ in range(int(rng.integers(1, PEOPLE + 1))):
            _stand(picture, mask, rng)
        _hang(picture, mask, rng)
        picture += NOISE * rng.standard_normal(picture.shape)
        images.append(np.rint(np.clip(picture, 0, 1) * top).astype(dtype))
        hidden.append(mask)
        transforms.append(T)
    scene = wall[room : room + height, room : room + width]
    return Handheld(images, scene, hidden, np.stack(transforms), gains, offsets)


# A film: how far the camera pans, as a share of the width; its shake from frame to frame, px.
PANNED = 0.15
TREMBLE = 0.8
# Shares of the width that its people walk from one frame to the next, at most.
SPEED = 0.02


def panning(
    n: int = 30, size: tuple[int, int] = (120, 160), moves: bool = True, seed: int = 0
) -> Handheld:
    """Return the frames of a film of a wall with two people who walk by; the camera may pan.

    Parameters
    ----------
    n : int
        Number of frames.
    size : (height, width)
    moves : bool
        Whether the camera pans and trembles; it stands still otherwise.
    seed : int

    Returns
    -------
    Handheld
        Its scene is what the first frame would see without people.
    """
    rng = np.random.default_rng(seed)
    height, width = size
    room = round(PANNED * width) + 12
    wall = _wall((height + 2 * room, width + 2 * room), rng)
    coefficients = [ndimage.spline_filter(wall[..., c], 3) for c in range(3)]
    walkers = [_Walker(rng, size) for _ in range(2)]
    images = []
    hidden = []
    transforms = []
    for k in range(n):
        pan = PANNED * width * k / max(n - 1, 1)
        place = np.array([pan, 0.0]) + TREMBLE * rng.standard_normal(2)
        # From the scene to the frame.
        T = shift(-place) if moves and k > 0 else np.eye(3)
        picture = _seen(coefficients, inverse(T), size, room)
        mask = np.zeros(size, bool)
        for walker in walkers:
            walker.draw(picture, mask, k)
        picture += NOISE * rng.standard_normal(picture.shape)
        images.append(np.rint(255 * np.clip(picture, 0, 1)).astype(np.uint8))
        hidden.append(mask)
        transforms.append(T)
    scene = wall[room : room + height, room : room + width]
    return Handheld(images, scene, hidden, np.stack(transforms), np.ones(n), np.zeros(n))


class _Walker:
    """A person who walks through a film."""

    def __init__(self, rng: np.random.Generator, size: tuple[int, int]) -> None:
        height, self._width = size
        self._tall = BODY[0] * height * rng.uniform(0.7, 1.0)
        self._wide = BODY[1] * height * rng.uniform(0.8, 1.2)
        self._foot = rng.uniform(0.8, 1.0) * height
        self._start = rng.uniform(0, 1)
        self._speed = rng.choice([-1, 1]) * rng.uniform(0.5, 1) * SPEED
        self._coat = rng.uniform(0.05, 0.9, 3)

    def draw(self, picture: Floats, mask: Bools, k: int) -> None:
        """Draw the person into frame ``k`` (h, w, 3)."""
        # Who leaves on one side comes in on the other.
        x = (self._start + self._speed * k) % 1.2 - 0.1
        centre = (self._foot - 0.42 * self._tall, x * self._width)
        radii = (0.42 * self._tall, self._wide / 2)
        _ellipse(picture, mask, centre, radii, self._coat, self._tall / 8)


def _wall(shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """A wall of coloured plaster with windows (h, w, 3), between 0.1 and 0.8."""
    height, width = shape
    # Smooth noise of several scales: stains, plaster, grain.
    grain = np.zeros((height, width, 3))
    for scale, strength in ((0.1, 0.06), (0.02, 0.05), (0.006, 0.05), (0.002, 0.04)):
        sigma = max(scale * height, 0.7)
        # Large scales are made on a coarse grid, which is faster and as smooth.
        step = max(int(sigma / 2), 1)
        small = rng.standard_normal((height // step + 3, width // step + 3, 3))
        smooth = ndimage.gaussian_filter(small, (sigma / step, sigma / step, 0))
        rows = np.arange(height) / step
        columns = np.arange(width) / step
        at = np.meshgrid(rows, columns, indexing="ij")
        for c in range(3):
            # Mostly brightness, and some colour.
            mixed = 0.85 * smooth[..., 0] + 0.5 * smooth[..., c]
            layer = ndimage.map_coordinates(mixed, at, order=1)
            grain[..., c] += strength * layer / smooth.std()
    wall = np.array([0.55, 0.47, 0.4]) + grain
    for _ in range(14):
        top = rng.integers(0, height - height // 6)
        left = rng.integers(0, width - width // 8)
        tall = int(rng.uniform(0.08, 0.16) * height)
        wide = int(rng.uniform(0.05, 0.12) * width)
        edge = max(height // 150, 1)
        wall[top : top + tall, left : left + wide] = rng.uniform(0.5, 0.8, 3)
        glass = np.s_[top + edge : top + tall - edge, left + edge : left + wide - edge]
        wall[glass] = rng.uniform(0.15, 0.5, 3) + 0.3 * grain[glass]
    smooth = ndimage.gaussian_filter(wall, (0.8, 0.8, 0))
    return np.asarray(np.clip(smooth, 0.1, 0.8))


def _seen(coefficients: list[Floats], to_scene: Floats, size: tuple[int, int], room: int) -> Floats:
    """What is seen through a transform from the picture to the scene (h, w, 3)."""
    height, width = size
    picture = np.empty((height, width, 3))
    columns = np.arange(width, dtype=float)
    # A few rows at a time: coordinates take more memory than the picture.
    for first in range(0, height, 64):
        rows = np.arange(first, min(first + 64, height), dtype=float)
        grid = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
        x, y = (map_points(to_scene, grid) + room).T
        for c, plane in enumerate(coefficients):
            values = ndimage.map_coordinates(plane, [y, x], order=3, prefilter=False)
            picture[first : first + len(rows), :, c] = values.reshape(len(rows), width)
    return picture


def _stand(picture: Floats, mask: Bools, rng: np.random.Generator) -> None:
    """Draw a person into a picture (h, w, 3): a coat, a head, and some pattern on the coat."""
    height, width = mask.shape
    tall = BODY[0] * height * rng.uniform(0.7, 1.1)
    wide = BODY[1] * height * rng.uniform(0.7, 1.2)
    # Half of the people stand in the middle, where the window is that everybody looks at.
    x = rng.uniform(0, width) if rng.random() < 0.5 else rng.normal(0.5, 0.03) * width
    foot = rng.uniform(0.75, 1.05) * height
    coat = rng.uniform(0.05, 0.9, 3)
    stripe = rng.uniform(0.02, 0.06) * height
    middle = foot - 0.42 * tall
    _ellipse(picture, mask, (middle, x), (0.42 * tall, wide / 2), coat, stripe)
    head = foot - 0.92 * tall
    _ellipse(picture, mask, (head, x), (0.1 * tall, 0.08 * tall), np.array([0.6, 0.45, 0.35]), 0)


def _ellipse(
    picture: Floats,
    mask: Bools,
    centre: tuple[float, float],
    radii: tuple[float, float],
    colour: Floats,
    stripe: float,
) -> None:
    """Draw an ellipse, with stripes of a period in px if that is not zero."""
    height, width = mask.shape
    top = max(int(centre[0] - radii[0]), 0)
    bottom = min(int(centre[0] + radii[0]) + 2, height)
    left = max(int(centre[1] - radii[1]), 0)
    right = min(int(centre[1] + radii[1]) + 2, width)
    if top >= bottom or left >= right:
        return
    rows = np.arange(top, bottom)[:, None]
    columns = np.arange(left, right)
    inside = np.hypot((rows - centre[0]) / radii[0], (columns - centre[1]) / radii[1]) < 1
    box = np.s_[top:bottom, left:right]
    shade = 1 + 0.15 * np.sign(np.sin(2 * np.pi * rows / stripe)) if stripe else np.ones_like(rows)
    drawn = shade[..., None] * colour * np.ones((1, right - left, 1))
    picture[box][inside] = np.broadcast_to(drawn, picture[box].shape)[inside]
    mask[box] |= inside


def _hang(picture: Floats, mask: Bools, rng: np.random.Generator) -> None:
    """Draw branches with leaves into a picture (h, w, 3)."""
    height, width = mask.shape
    green = np.array([0.12, 0.2, 0.08])
    for _ in range(int(rng.integers(1, BRANCHES + 1))):
        start = np.array([0.0, rng.uniform(0, width)])
        reach = np.array([rng.uniform(0.3, 0.8) * height, rng.uniform(-0.3, 0.3) * width])
        end = start + reach
        along = np.linspace(0, 1, 3 * height)
        bow = rng.normal(0, 0.08 * height, 2)
        path = start + np.outer(along, end - start) + np.outer(np.sin(np.pi * along), bow)
        for y, x in path[:: max(round(BRANCH * height), 1)]:
            radius = max(BRANCH * height, 1.0)
            _ellipse(picture, mask, (y, x), (radius, radius), 0.6 * green, 0)
        for _ in range(LEAVES):
            y, x = path[rng.integers(len(path))] + rng.normal(0, 2 * LEAF * height, 2)
            radius = max(LEAF * height, 1.5)
            shade = rng.uniform(0.7, 1.6)
            _ellipse(picture, mask, (y, x), (radius, 0.7 * radius), shade * green, 0)
