"""The DATASETS table: the batches that can be generated, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankfold.datasets.facade import facade
from rankfold.datasets.handheld import Handheld, handheld, panning
from rankfold.datasets.scenes import cells, street
from rankfold.datasets.synthetic import Batch, rendered_heads, warped_low_rank
from rankfold.io import write_picture
from rankfold.storage import whole_or_nothing


@dataclass(frozen=True)
class Dataset:
    """A row of DATASETS.

    Attributes
    ----------
    name : str
    summary : str
        What its pictures show.
    make : callable
        Makes a batch, given the number of pictures and a seed.
    """

    name: str
    summary: str
    make: Callable[[int, int], Batch | Handheld]


_ROWS = (
    Dataset(
        "heads",
        "a rendered head under many lamps, turned, shifted, partly hidden",
        lambda n, seed: rendered_heads(n, occluded=0.3, seed=seed),
    ),
    Dataset(
        "facade",
        "a window behind branches, photographed from several places",
        lambda n, seed: facade(n, seed=seed),
    ),
    Dataset(
        "cells",
        "a drifting, bleaching microscope stack with dust",
        lambda n, seed: cells(n, seed=seed),
    ),
    Dataset(
        "street",
        "a fixed camera, people walk by",
        lambda n, seed: street(n, seed=seed),
    ),
    Dataset(
        "handheld",
        "a wall photographed by hand, behind people and branches, in another light each time",
        lambda n, seed: handheld(n, seed=seed),
    ),
    Dataset(
        "panning",
        "a film of a wall from a camera that pans and trembles, people walk by",
        lambda n, seed: panning(n, seed=seed),
    ),
    Dataset(
        "textures",
        "smooth textures of low rank under known similarities",
        lambda n, seed: warped_low_rank(n, seed=seed),
    ),
)
DATASETS: dict[str, Dataset] = {row.name: row for row in _ROWS}
"""The batches that `rankfold datasets` can write: a Dataset by its name."""


def write_batch(batch: Batch | Handheld, path: str | Path, overwrite: bool = False) -> None:
    """Write the pictures of a generated batch as PNG files of 8 bits.

    Parameters
    ----------
    batch : Batch or Handheld
    path : path
        The folder; it appears whole or not at all.
    overwrite : bool
        Whether a folder that is there already is replaced.
    """
    with whole_or_nothing(path, overwrite) as draft:
        for k, picture in enumerate(batch.images):
            # Generated pictures have values from 0 to 1, or the levels of a camera.
            levels = picture if picture.dtype.kind == "u" else 255 * picture
            write_picture(draft / f"{k:03d}.png", levels, np.uint8)
