"""The evaluation protocols on faces: misaligned and hidden by us, so that the truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rankfold.datasets.synthetic import Batch
from rankfold.families import Floats, get_family, inverse, map_points, shift
from rankfold.stack import Bools, Frame
from rankfold_lab.readers.yale import YaleSubject, read_yale_subject

FRAME = Frame(45, 42)
# Pixels of the halved pictures for one of the frame.
ZOOM = 1.75
# Eye centres as (x, y) in the pictures of 192 x 168.
EYES = np.array([[42.0, 62.0], [112.0, 62.0]])


@dataclass(frozen=True)
class Protocol:
    """What is done to a subject's pictures.

    Attributes
    ----------
    name : str
    lights : int
        Largest azimuth and elevation of the lamps that are used, degrees.
    kind : str
        ``"real"``, or ``"lambertian"``: photometric stereo, re-rendered and clipped.
    occluded : float
        Share of the pictures that have an occluder.
    occluder : str
        A row of OCCLUDERS.
    rotation : float
        Largest turn, degrees; turns are uniform.
    translation : float
        Largest shift along each axis, frame px; shifts are uniform.
    coarse : bool
        Whether the start is so far off that RASL on features begins with blurred pictures. MeADMM
        finds that out by itself.
    """

    name: str
    lights: int
    kind: str = "real"
    occluded: float = 0.4
    occluder: str = "rectangle"
    rotation: float = 6.0
    translation: float = 2.0
    coarse: bool = False


PROTOCOLS: dict[str, Protocol] = {
    p.name: p
    for p in (
        Protocol("P1", 130),
        Protocol("P2", 90, kind="lambertian"),
        Protocol("P4", 50),
        Protocol("P5", 130, occluded=0.5, occluder="large"),
        Protocol("far-shift", 50, occluded=0.2, rotation=10, translation=8, coarse=True),
        Protocol("far-turn", 50, occluded=0.2, rotation=30, translation=4, coarse=True),
        Protocol("branches", 130, occluder="branches"),
        Protocol("salt", 130, occluder="salt"),
        Protocol("band", 130, occluder="band"),
    )
}


def make_batch(root: str | Path, subject: int, protocol: Protocol, seed: int) -> Batch:
    """Return one trial: a subject's pictures under a protocol, the same for every method."""
    rng = np.random.default_rng([subject, seed])
    data = read_yale_subject(root, subject)
    chosen = (np.abs(data.azimuth) <= protocol.lights) & (np.abs(data.elevation) <= protocol.lights)
    faces = _halved(data.images) / 255.0
    if protocol.kind == "lambertian":
        faces = _lambertian(faces, data)
    faces = faces[chosen]
    shape = faces.shape[1:]
    start = shift(Frame(*shape).centre) @ np.diag([ZOOM, ZOOM, 1.0]) @ shift(-FRAME.centre)
    truth = []
    clean = []
    images = []
    hidden = []
    # The order of the random numbers is part of the protocol: turn, shift, occluder, noise.
    for face in faces:
        T = start @ _random_motion(protocol, rng)
        picture = _moved(face, start @ inverse(T))
        mask, occluder = OCCLUDERS[protocol.occluder](shape, rng)
        mask &= rng.random() < protocol.occluded
        noise = 0.01 * rng.standard_normal(shape) if protocol.kind == "lambertian" else 0.0
        truth.append(T)
        clean.append(picture)
        hidden.append(mask)
        images.append(np.where(mask, occluder, np.clip(picture + noise, 0, 1)))
    # The eyes in the halved pictures, whose pixel centres lie at integers too.
    eyes = map_points(inverse(start), (EYES + 0.5) / 2 - 0.5)
    starts = np.tile(start, (len(faces), 1, 1))
    return Batch(images, clean, hidden, FRAME, starts, np.stack(truth), eyes)


def _random_motion(protocol: Protocol, rng: np.random.Generator) -> Floats:
    """Return a random turn and shift (3, 3) about the centre of the frame."""
    angle = np.radians(rng.uniform(-protocol.rotation, protocol.rotation))
    offset = rng.uniform(-protocol.translation, protocol.translation, 2)
    motion = get_family("euclidean").matrix(np.array([angle, *offset]))
    return shift(FRAME.centre) @ motion @ shift(-FRAME.centre)


def _halved(images: npt.NDArray[np.uint8]) -> Floats:
    """Half the resolution, by the mean of 2 x 2 pixels."""
    n, h, w = images.shape
    return np.asarray(images.reshape(n, h // 2, 2, w // 2, 2).mean(axis=(2, 4)))


def _moved(face: Floats, matrix: Floats) -> Floats:
    """The face seen through ``matrix`` (new picture to face); NaN where the face's picture ends."""
    points = map_points(matrix, Frame(*face.shape).grid)
    values = ndimage.map_coordinates(face, points.T[::-1], order=3, mode="mirror")
    h, w = face.shape
    inside = ((points >= -1e-9) & (points <= np.array([w - 1, h - 1]) + 1e-9)).all(axis=1)
    return np.asarray(np.where(inside, np.clip(values, 0, 1), np.nan).reshape(face.shape))


def _lambertian(faces: Floats, data: YaleSubject) -> Floats:
    """Return faces re-rendered by photometric stereo, clipped.

    A pixel is fitted to the pictures in which it lies between 0.12 and 0.98, or to its 8 brightest
    if these are fewer than 6.
    """
    a = np.radians(data.azimuth)
    e = np.radians(data.elevation)
    lamps = np.stack([np.cos(e) * np.sin(a), np.sin(e), np.cos(e) * np.cos(a)], axis=1)
    n, h, w = faces.shape
    pixels = faces.reshape(n, -1)
    used = (pixels > 0.12) & (pixels < 0.98)
    few = used.sum(axis=0) < 6
    brightest = np.argsort(-pixels, axis=0)[:8]
    fallback = np.zeros_like(used)
    np.put_along_axis(fallback, brightest, True, axis=0)
    weight = np.where(few, fallback, used).astype(np.float64)
    normal = np.einsum("np,ni,nj->pij", weight, lamps, lamps) + 1e-9 * np.eye(3)
    right = np.einsum("np,np,ni->pi", weight, pixels, lamps)
    surface = np.linalg.solve(normal, right[:, :, None])[:, :, 0]  # albedo x normal
    return np.asarray(np.clip((lamps @ surface.T).reshape(n, h, w), 0, 1))


def _rectangle(
    shape: tuple[int, int], rng: np.random.Generator, side: float = 0.35
) -> tuple[Bools, Floats]:
    """A textured rectangle of ``side`` of the height and width, anywhere."""
    h, w = (round(side * size) for size in shape)
    top = rng.integers(shape[0] - h + 1)
    left = rng.integers(shape[1] - w + 1)
    mask = np.zeros(shape, dtype=bool)
    mask[top : top + h, left : left + w] = True
    return mask, 0.6 * rng.random() + 0.4 * rng.random(shape)


def _large(shape: tuple[int, int], rng: np.random.Generator) -> tuple[Bools, Floats]:
    """The same over 40 % of the area."""
    return _rectangle(shape, rng, side=np.sqrt(0.4))


def _branch(shape: tuple[int, int], rng: np.random.Generator) -> tuple[Bools, Floats]:
    """Four thin dark lines across the picture."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    mask = np.zeros(shape, dtype=bool)
    for _ in range(4):
        angle = rng.uniform(0, np.pi)
        offset = rng.uniform(-0.35, 0.35) * min(shape)
        down = np.cos(angle) * (rows - shape[0] / 2)
        across = np.sin(angle) * (columns - shape[1] / 2)
        distance = down + across - offset
        mask |= np.abs(distance) < 1.7
    return mask, np.full(shape, 0.1) + 0.1 * rng.random(shape)


def _salt(shape: tuple[int, int], rng: np.random.Generator) -> tuple[Bools, Floats]:
    """A tenth of the pixels black or white."""
    return rng.random(shape) < 0.1, rng.integers(0, 2, shape).astype(np.float64)


def _band(shape: tuple[int, int], rng: np.random.Generator) -> tuple[Bools, Floats]:
    """A striped band over the lower third, like a scarf."""
    mask = np.zeros(shape, dtype=bool)
    top = round(0.62 * shape[0]) + int(rng.integers(-3, 4))
    mask[top : top + round(0.22 * shape[0])] = True
    stripes = 0.45 + 0.35 * np.sign(np.sin((np.arange(shape[0]) + rng.integers(10)) * 0.9))
    return mask, np.broadcast_to(stripes[:, None], shape) * rng.uniform(0.6, 1.0)


OCCLUDERS = {
    "rectangle": _rectangle,
    "large": _large,
    "branches": _branch,
    "salt": _salt,
    "band": _band,
}
