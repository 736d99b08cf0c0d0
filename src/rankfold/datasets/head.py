"""A head made of a height field and an albedo, lit by distant lamps; it has cast shadows too.

Head coordinates: x to the right, y down, both zero between the eyes and the mouth. The face is
about 1.6 wide and 2.1 high. Places and widths in this file are in these units.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import ndimage

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

# (x, y) of the pupils.
EYES = np.array([[-0.33, -0.24], [0.33, -0.24]])

# The same for both eyes, where x is mirrored.
EYE_X = 0.33
EYE_Y = -0.24

# Shades of the parts of a face, from 0 (black) to 1 (white).
SKIN = 0.78
BROW = 0.22
WHITE_OF_EYE = 0.95
IRIS = 0.30
PUPIL = 0.05
LID = 0.25
LIPS = 0.45
MOUTH_LINE = 0.20
NOSTRIL = 0.15
HAIR = 0.18
BACKGROUND = 0.12

# Freckles: their size and how much they darken or lighten the skin.
FRECKLES = ((0.030, 0.035), (0.075, 0.03))

# Unit: px. Length of the steps towards the lamp on which shadows are looked for.
SHADOW_STEP = 1.5


def head_grid(height: int, width: int, pixels_per_unit: float) -> tuple[Floats, Floats]:
    """Return head coordinates x and y (height, width) of a grid whose middle is the origin."""
    y, x = np.mgrid[:height, :width].astype(np.float64)
    return (x - (width - 1) / 2) / pixels_per_unit, (y - (height - 1) / 2) / pixels_per_unit


def height_field(x: Floats, y: Floats) -> Floats:
    """Return how far (h, w) towards the viewer the head is at points x, y (h, w)."""
    skull = 0.75 * np.sqrt(np.maximum(0.0, 1 - (x / 0.88) ** 2 - ((y + 0.02) / 1.14) ** 2) + 0.02)
    # Both sides of the face at once.
    mirror = np.abs(x)
    brow = 0.07 * _bump(mirror, y, 0.32, -0.42, 0.24, 0.09)
    socket = -0.13 * _bump(mirror, y, EYE_X, -0.25, 0.17, 0.11)
    eyeball = 0.07 * _bump(mirror, y, EYE_X, EYE_Y, 0.10, 0.07)
    cheek = 0.06 * _bump(mirror, y, 0.42, 0.12, 0.18, 0.16)
    bridge = 0.17 * np.exp(-((x / 0.08) ** 2)) * _smooth_box(y, -0.36, 0.16, 0.07)
    tip = 0.17 * _bump(x, y, 0.0, 0.13, 0.11, 0.10)
    wings = 0.07 * _bump(mirror, y, 0.12, 0.17, 0.06, 0.06)
    upper_lip = 0.06 * _bump(x, y, 0.0, 0.44, 0.20, 0.05)
    lower_lip = 0.07 * _bump(x, y, 0.0, 0.55, 0.17, 0.055)
    lips = upper_lip + lower_lip
    fold = -0.05 * _bump(x, y, 0.0, 0.495, 0.19, 0.02)
    chin = 0.11 * _bump(x, y, 0.0, 0.82, 0.20, 0.13)
    return skull + brow + socket + eyeball + cheek + bridge + tip + wings + lips + fold + chin


def albedo(x: Floats, y: Floats, rng: np.random.Generator) -> Floats:
    """Return how much light (h, w) the points x, y (h, w) give back, painted layer by layer."""
    value = _skin(x, rng)
    value = _paint_eyes(value, np.abs(x), y)
    value = _paint_mouth_and_nose(value, x, y)
    hair = _edge(-0.66 - 0.12 * np.cos(2.2 * x) - y + 0.08, 0.05)
    value = _paint(value, HAIR, hair)
    # Positive on the face, negative around it.
    inside = 1 - (x / 0.86) ** 2 - ((y + 0.02) / 1.12) ** 2
    return np.clip(_paint(value, BACKGROUND, _edge(-inside, 0.05)), 0.02, 1.0)


def _skin(x: Floats, rng: np.random.Generator) -> Floats:
    """Skin (h, w) with freckles, which have the same size at every resolution."""
    value = np.full_like(x, SKIN)
    pixels_per_unit = 1 / (x[0, 1] - x[0, 0])
    for size, depth in FRECKLES:
        noise = ndimage.gaussian_filter(
            rng.standard_normal(x.shape), size * pixels_per_unit, mode="wrap"
        )
        value += depth * noise / noise.std()
    return value


def _paint_eyes(value: Floats, mirror: Floats, y: Floats) -> Floats:
    """The picture (h, w) with brows, eyes and lids; ``mirror`` (h, w) is |x|."""
    arch = -0.40 - 0.05 * (1 - ((mirror - EYE_X) / 0.18) ** 2)
    along_brow = np.exp(-(((mirror - EYE_X) / 0.19) ** 6))
    across_brow = np.exp(-(((y - arch) / 0.035) ** 2))
    value = _paint(value, BROW, along_brow * across_brow)
    # Half of the distance between the lids.
    opening = 0.062 * (1 - ((mirror - EYE_X) / 0.15) ** 2)
    below_eye = y - EYE_Y
    eye = _edge(opening - np.abs(below_eye), 0.012)
    value = _paint(value, WHITE_OF_EYE, eye)
    radius = np.hypot(mirror - EYE_X, below_eye)
    value = _paint(value, IRIS, eye * _edge(0.066 - radius, 0.01))
    value = _paint(value, PUPIL, eye * _edge(0.030 - radius, 0.008))
    across_lid = np.exp(-(((below_eye + opening) / 0.016) ** 2))
    along_lid = _edge(0.155 - np.abs(mirror - EYE_X), 0.02)
    return _paint(value, LID, 0.8 * (across_lid * along_lid))


def _paint_mouth_and_nose(value: Floats, x: Floats, y: Floats) -> Floats:
    """The picture (h, w) with lips, the line between them, and nostrils."""
    mirror = np.abs(x)
    below_mouth = y - 0.495
    # Half of the height of the lips.
    lips = 0.085 * (1 - (x / 0.25) ** 2)
    value = _paint(value, LIPS, _edge(lips - np.abs(below_mouth), 0.015))
    line = np.exp(-((below_mouth / 0.014) ** 2)) * _edge(0.23 - mirror, 0.02)
    value = _paint(value, MOUTH_LINE, line)
    return _paint(value, NOSTRIL, _bump(mirror, y, 0.065, 0.215, 0.030, 0.018))


def glasses(x: Floats, y: Floats) -> tuple[Bools, Floats]:
    """Return where dark glasses are in front of the points x, y (h, w), and their shade (h, w)."""
    mirror = np.abs(x)
    lens = ((mirror - EYE_X) / 0.25) ** 4 + ((y - EYE_Y - 0.02) / 0.19) ** 4 < 1
    bridge = (mirror < EYE_X) & (np.abs(y - EYE_Y + 0.06) < 0.05)
    # A little lighter towards the top, as glass reflects the sky.
    shade_ = np.clip(0.07 - 0.10 * (y - EYE_Y), 0.02, 0.14)
    return lens | bridge, shade_


def scarf(x: Floats, y: Floats) -> tuple[Bools, Floats]:
    """Return where a striped scarf is in front of the points x, y (h, w), and its shade (h, w)."""
    top = 0.27 + 0.10 * x**2
    stripes = 0.55 + 0.25 * np.sign(np.sin(18 * (y - 0.3 * x)))
    return y > top, stripes


WORN = {"glasses": glasses, "scarf": scarf}
"""What a head can wear: from points to where it is and its shade."""


def light(azimuth: float, elevation: float) -> Floats:
    """Return the unit vector (x, y, z) towards a lamp at angles in degrees; y points down."""
    a, e = np.radians([azimuth, elevation])
    return np.array([np.sin(a) * np.cos(e), -np.sin(e), np.cos(a) * np.cos(e)])


def shade(
    heights: Floats, reflectance: Floats, lamp: Floats, pixels_per_unit: float, ambient: float
) -> Floats:
    """Return a Lambertian picture: reflectance x (ambient + visible lamp x max(0, normal . lamp)).

    Parameters
    ----------
    heights, reflectance : (h, w) arrays
    lamp : (3,) array
        Unit vector towards the lamp.
    pixels_per_unit : float
        How many pixels a unit of the heights spans.
    ambient : float
        Light that reaches every point.
    """
    dy, dx = np.gradient(heights, 1 / pixels_per_unit)
    cosine = (-dx * lamp[0] - dy * lamp[1] + lamp[2]) / np.sqrt(1 + dx**2 + dy**2)
    lit = visible(heights, lamp, pixels_per_unit) * np.maximum(cosine, 0.0)
    return np.asarray(reflectance * (ambient + lit))


def visible(heights: Floats, lamp: Floats, pixels_per_unit: float) -> Floats:
    """Return (h, w) values of 1 where the lamp is seen, 0 in a cast shadow, smooth between.

    From every point of ``heights`` (h, w) one walks towards the ``lamp`` (3,) and looks for ground
    that is higher than the ray. The least clearance, as a slope, decides.
    """
    clearance = np.full(heights.shape, np.inf)
    rows, columns = np.mgrid[: heights.shape[0], : heights.shape[1]].astype(np.float64)
    step = SHADOW_STEP / pixels_per_unit
    # Further away the ray is above everything; a lamp near the horizon is cut short.
    reach = (heights.max() - heights.min()) / max(lamp[2], 0.2)
    for k in range(1, int(reach / step) + 1):
        t = k * step
        place = [rows + t * lamp[1] * pixels_per_unit, columns + t * lamp[0] * pixels_per_unit]
        ground = ndimage.map_coordinates(heights, place, order=1, mode="constant", cval=-1.0)
        clearance = np.minimum(clearance, (heights + t * lamp[2] - ground) / t)
    return np.asarray(_edge(clearance, 0.03))


def _bump(x: Floats, y: Floats, x0: float, y0: float, width: float, height: float) -> Floats:
    """A Gaussian hill (h, w) of height one at (x0, y0)."""
    return np.exp(-(((x - x0) / width) ** 2) - ((y - y0) / height) ** 2)


def _edge(signed: Floats, softness: float) -> Floats:
    """A smooth step from 0 (where ``signed`` is negative) to 1 (where it is positive)."""
    return np.asarray(0.5 * (1 + np.tanh(signed / softness)))


def _smooth_box(t: Floats, low: float, high: float, softness: float) -> Floats:
    """1 between low and high, 0 elsewhere, smooth between."""
    return _edge(t - low, softness) * _edge(high - t, softness)


def _paint(under: Floats, shade_: float, cover: Floats) -> Floats:
    """A picture (h, w) with a shade laid over it where ``cover`` (h, w) is 1."""
    return under + cover * (shade_ - under)
