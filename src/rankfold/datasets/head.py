"""A head made of a height field and an albedo, lit by distant lamps: attached and cast shadows included.

Head coordinates: x to the right, y down, both zero between the eyes and mouth; the face is about 1.6 wide, 2.1 high.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import ndimage

Floats = npt.NDArray[np.float64]

EYES = np.array([[-0.33, -0.24], [0.33, -0.24]])  # (x, y) of the pupils


def head_grid(height: int, width: int, pixels_per_unit: float) -> tuple[Floats, Floats]:
    """Head coordinates of a grid whose middle is the origin."""
    y, x = np.mgrid[:height, :width].astype(np.float64)
    return (x - (width - 1) / 2) / pixels_per_unit, (y - (height - 1) / 2) / pixels_per_unit


def height_field(x: Floats, y: Floats) -> Floats:
    """Distance towards the viewer."""
    skull = 0.75 * np.sqrt(np.maximum(0.0, 1 - (x / 0.88) ** 2 - ((y + 0.02) / 1.14) ** 2) + 0.02)
    mirror = np.abs(x)
    brow = 0.07 * _bump(mirror, y, 0.32, -0.42, 0.24, 0.09)
    socket = -0.13 * _bump(mirror, y, 0.33, -0.25, 0.17, 0.11)
    eyeball = 0.07 * _bump(mirror, y, 0.33, -0.24, 0.10, 0.07)
    cheek = 0.06 * _bump(mirror, y, 0.42, 0.12, 0.18, 0.16)
    bridge = 0.17 * np.exp(-((x / 0.08) ** 2)) * _smooth_box(y, -0.36, 0.16, 0.07)
    tip = 0.17 * _bump(x, y, 0.0, 0.13, 0.11, 0.10)
    wings = 0.07 * _bump(mirror, y, 0.12, 0.17, 0.06, 0.06)
    lips = 0.06 * _bump(x, y, 0.0, 0.44, 0.20, 0.05) + 0.07 * _bump(x, y, 0.0, 0.55, 0.17, 0.055)
    fold = -0.05 * _bump(x, y, 0.0, 0.495, 0.19, 0.02)
    chin = 0.11 * _bump(x, y, 0.0, 0.82, 0.20, 0.13)
    return skull + brow + socket + eyeball + cheek + bridge + tip + wings + lips + fold + chin


def albedo(x: Floats, y: Floats, rng: np.random.Generator) -> Floats:
    """How much light each point gives back: skin, brows, eyes, lips, nostrils, hair, and some freckles."""
    mirror = np.abs(x)
    value = np.full_like(x, 0.78)
    unit = 1 / (
        x[0, 1] - x[0, 0]
    )  # pixels per head unit: the freckles keep their size at every resolution
    for size, depth in ((0.030, 0.035), (0.075, 0.03)):
        noise = ndimage.gaussian_filter(rng.standard_normal(x.shape), size * unit, mode="wrap")
        value += depth * noise / noise.std()
    arch = -0.40 - 0.05 * (1 - ((mirror - 0.33) / 0.18) ** 2)
    value = _paint(
        value, 0.22, np.exp(-(((mirror - 0.33) / 0.19) ** 6)) * np.exp(-(((y - arch) / 0.035) ** 2))
    )
    opening = 0.062 * (1 - ((mirror - 0.33) / 0.15) ** 2)
    eye = _edge(opening - np.abs(y + 0.24), 0.012)
    value = _paint(value, 0.95, eye)
    radius = np.hypot(mirror - 0.33, y + 0.24)
    value = _paint(value, 0.30, eye * _edge(0.066 - radius, 0.01))
    value = _paint(value, 0.05, eye * _edge(0.030 - radius, 0.008))
    lid = np.exp(-(((y + 0.24 + opening) / 0.016) ** 2)) * _edge(
        0.155 - np.abs(mirror - 0.33), 0.02
    )
    value = _paint(value, 0.25, 0.8 * lid)
    mouth = 0.085 * (1 - (x / 0.25) ** 2)
    value = _paint(value, 0.45, _edge(mouth - np.abs(y - 0.495), 0.015))
    value = _paint(value, 0.20, np.exp(-(((y - 0.495) / 0.014) ** 2)) * _edge(0.23 - mirror, 0.02))
    value = _paint(value, 0.15, _bump(mirror, y, 0.065, 0.215, 0.030, 0.018))
    value = _paint(value, 0.18, _edge(-0.66 - 0.12 * np.cos(2.2 * x) - y + 0.08, 0.05))
    inside = 1 - (x / 0.86) ** 2 - ((y + 0.02) / 1.12) ** 2
    return np.clip(_paint(value, 0.12, _edge(-inside, 0.05)), 0.02, 1.0)


def light(azimuth: float, elevation: float) -> Floats:
    """Unit vector (x, y, z) towards a lamp at the given angles in degrees; y points down."""
    a, e = np.radians([azimuth, elevation])
    return np.array([np.sin(a) * np.cos(e), -np.sin(e), np.cos(a) * np.cos(e)])


def shade(
    heights: Floats, reflectance: Floats, lamp: Floats, pixels_per_unit: float, ambient: float
) -> Floats:
    """Lambertian picture: reflectance x (ambient + visible lamp x max(0, normal . lamp))."""
    dy, dx = np.gradient(heights, 1 / pixels_per_unit)
    cosine = (-dx * lamp[0] - dy * lamp[1] + lamp[2]) / np.sqrt(1 + dx**2 + dy**2)
    lit = visible(heights, lamp, pixels_per_unit) * np.maximum(cosine, 0.0)
    return np.asarray(reflectance * (ambient + lit))


def visible(heights: Floats, lamp: Floats, pixels_per_unit: float) -> Floats:
    """1 where the lamp is seen, 0 in a cast shadow, smooth between: walk towards the lamp, look for higher ground."""
    clearance = np.full(heights.shape, np.inf)
    rows, columns = np.mgrid[: heights.shape[0], : heights.shape[1]].astype(np.float64)
    step = 1.5 / pixels_per_unit
    reach = (heights.max() - heights.min()) / max(lamp[2], 0.2)
    for k in range(1, int(reach / step) + 1):
        t = k * step
        ground = ndimage.map_coordinates(
            heights,
            [rows + t * lamp[1] * pixels_per_unit, columns + t * lamp[0] * pixels_per_unit],
            order=1,
            mode="constant",
            cval=-1.0,
        )
        clearance = np.minimum(clearance, (heights + t * lamp[2] - ground) / t)
    return np.asarray(_edge(clearance, 0.03))


def _bump(x: Floats, y: Floats, x0: float, y0: float, width: float, height: float) -> Floats:
    """A Gaussian hill."""
    return np.exp(-(((x - x0) / width) ** 2) - ((y - y0) / height) ** 2)


def _edge(signed: Floats, softness: float) -> Floats:
    """Smooth step from 0 (negative) to 1 (positive)."""
    return np.asarray(0.5 * (1 + np.tanh(signed / softness)))


def _smooth_box(t: Floats, low: float, high: float, softness: float) -> Floats:
    """1 between low and high."""
    return _edge(t - low, softness) * _edge(high - t, softness)


def _paint(under: Floats, colour: float, cover: Floats) -> Floats:
    """Lay a colour over a picture."""
    return under + cover * (colour - under)
