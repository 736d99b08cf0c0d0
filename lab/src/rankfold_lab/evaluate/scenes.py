"""Batches of which it is known where every picture belongs: the SETS table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.datasets import rendered_heads
from rankfold.datasets.synthetic import Batch
from rankfold.families import Floats, inverse, map_points, shift
from rankfold.stack import Frame, Stack
from rankfold_lab.evaluate.faces import PROTOCOLS, make_batch
from rankfold_lab.readers import read_lfw, read_oxford
from rankfold_lab.readers.windows import read_windows

# The frame on portraits of 150 x 150: the face and little else.
PORTRAIT = Frame(80, 64)
PLANES = ("graf", "leuven")
# Photographs of planes are read so many times coarser; the frame is all of the first one.
REDUCTION = 3
# Frames on the windows, and how many times coarser the photographs are read for them.
WINDOWS = {(100, 133): 12, (200, 266): 6}
# Share of a view of a plane, about its middle, in which its corners are compared.
INNER = 0.6
# Of the Extended Yale B faces.
SUBJECTS = range(1, 11)
# Rendered heads: how many, the share behind a card, and how far they are shifted at most, in px.
HEADS = ((24, 0.3, 0.0), (24, 0.0, 7.0), (40, 0.3, 10.0), (12, 0.0, 5.0), (8, 0.0, 0.0))


@dataclass(frozen=True)
class Scene:
    """A batch, and where the same points of the thing are in all pictures.

    Attributes
    ----------
    name : str
    images : Stack or list of arrays
    frame : Frame
    family : str
    start : "centred" or array (n, 3, 3)
    places : n arrays (k, 2)
        The same points in every picture, as (x, y) in px of its original.
    """

    name: str
    images: Any
    frame: Frame
    family: str
    start: str | Floats
    places: tuple[Floats, ...]

    def landed(self, transforms: Floats) -> Floats:
        """Return where the points lie in the frame, (n, k, 2)."""
        return landed_points(transforms, self.places)


def landed_points(transforms: Floats, places: Iterable[Floats]) -> Floats:
    """Return where points of the pictures, (k, 2) each, lie in the frame: (n, k, 2)."""
    pairs = zip(transforms, places, strict=True)
    return np.stack([map_points(inverse(T), points) for T, points in pairs])


def spread_of_points(landed: Floats) -> float:
    """Return the mean distance of points (n, k, 2) from their median over the pictures."""
    return float(np.linalg.norm(landed - np.median(landed, axis=0), axis=2).mean())


def off_from_most(landed: Floats, limit: float) -> Floats:
    """Return how far the points (n, k, 2) of each picture are from where most pictures have them.

    All pictures together may lie anywhere. Where less than half of them agree, the median over all
    belongs to nobody, so the place is that of the largest group within ``limit`` px of one picture.
    """
    apart = np.linalg.norm(landed[:, None] - landed, axis=3).mean(axis=2)  # n x n
    near = apart <= limit
    # The picture with most others near it; of equals, the one in their middle.
    chosen = np.lexsort((apart.sum(axis=1), -near.sum(axis=1)))[0]
    place = np.median(landed[near[chosen]], axis=0)
    return np.asarray(np.linalg.norm(landed - place, axis=2).mean(axis=1))


def corner_errors(transforms: Floats, homographies: Floats, shape: tuple[int, ...]) -> Floats:
    """Return how far the corners of the first view land from where they should in the others.

    Parameters
    ----------
    transforms : array (n, 3, 3)
        Of all views, the first among them.
    homographies : array (n, 3, 3)
        The true maps from the first view to each.
    shape : (height, width, ...)
        Of the first view.

    Returns
    -------
    array (n - 1,)
        The mean over the four corners, in px of the originals.
    """
    corners = Frame(*shape[:2]).corners
    ours = map_points(transforms @ inverse(transforms[0]), corners)  # n x 4 x 2
    off = np.linalg.norm(ours - map_points(homographies, corners), axis=2)
    return np.asarray(off.mean(axis=1)[1:])


def faces(protocol: str, root: Path, seed: int) -> Iterator[Scene]:
    """Give the faces of all subjects under a protocol of the ablation."""
    for subject in SUBJECTS:
        batch = make_batch(root, subject, PROTOCOLS[protocol], seed)
        yield _of_batch(f"{protocol} {subject}", batch, batch.start)


def heads(seed: int) -> Iterator[Scene]:
    """Give rendered heads, near their place and far from it."""
    for n, occluded, far in HEADS:
        batch = rendered_heads(n, occluded=occluded, seed=seed)
        rng = np.random.default_rng(seed)
        moves = np.stack([shift(offset) for offset in rng.uniform(-far, far, (n, 2))])
        yield _of_batch(f"{n} heads, {far:g} px, seed {seed}", batch, batch.start @ moves)


def _of_batch(name: str, batch: Batch, start: Floats) -> Scene:
    """A batch with true transforms as a scene."""
    places = tuple(map_points(batch.truth, batch.points))
    return Scene(name, batch.images, batch.frame, "similarity", start, places)


def portraits(root: Path) -> Iterator[Scene]:
    """Give the people of Labeled Faces in the Wild with their landmarks, in the order of names."""
    for folder in sorted((root / "lfw").iterdir()):
        if folder.is_dir():
            person = read_lfw(root, folder.name)
            landmarks = tuple(person.landmarks)
            yield Scene(folder.name, person.images, PORTRAIT, "similarity", "centred", landmarks)


def planes(root: Path) -> Iterator[Scene]:
    """Give the planes of the Oxford set."""
    for name in PLANES:
        plane = read_oxford(root, name)
        stack = Stack.of(plane.images).luminance().reduced(REDUCTION)
        frame = Frame(*stack.sources[0].shape[:2])
        whole = Frame(*plane.images[0].shape[:2])
        inner = whole.centre + INNER * (whole.corners - whole.centre)
        places = tuple(map_points(plane.homographies, inner))
        yield Scene(name, stack, frame, "homography", "centred", places)


def windows(root: Path) -> Iterator[Scene]:
    """Give the facade windows with their hand-picked points, from the middle of the pictures."""
    photographs = read_windows(root)
    places = tuple(photographs.points.sources)
    for shape, reduction in WINDOWS.items():
        stack = Stack.of(photographs.clean).reduced(reduction)
        name = f"{shape[0]} x {shape[1]}"
        yield Scene(name, stack, Frame(*shape), "homography", "centred", places)


SETS: dict[str, Callable[[Path, int], Iterator[Scene]]] = {
    "portraits": lambda root, _: portraits(root),
    "planes": lambda root, _: planes(root),
    "windows": lambda root, _: windows(root),
    "heads": lambda _, seed: heads(seed),
    **{name: partial(faces, name) for name in PROTOCOLS},
}
"""The scenes of every set, by the folder of the data and a seed."""
