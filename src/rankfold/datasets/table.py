"""The DATASETS table: what is generated, and what is read from disk and where to ask for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rankfold.datasets.facade import facade
from rankfold.datasets.scenes import cells, street
from rankfold.datasets.synthetic import Batch, rendered_heads, warped_low_rank
from rankfold.io import write_picture
from rankfold.storage import whole_or_nothing


@dataclass(frozen=True)
class Dataset:
    """A row of DATASETS."""

    name: str
    summary: str
    make: Callable[[int, int], Batch] | None = None  # (images, seed); None: it has to be on disk


DATASETS: dict[str, Dataset] = {
    row.name: row
    for row in (
        Dataset(
            "heads",
            "generated: a rendered head under many lamps, turned, shifted, partly hidden",
            lambda n, seed: rendered_heads(n, occluded=0.3, seed=seed),
        ),
        Dataset(
            "facade",
            "generated: a window behind branches, photographed from several places",
            lambda n, seed: facade(n, seed=seed),
        ),
        Dataset(
            "cells",
            "generated: a drifting, bleaching microscope stack with dust",
            lambda n, seed: cells(n, seed=seed),
        ),
        Dataset(
            "street",
            "generated: a fixed camera, people walk by",
            lambda n, seed: street(n, seed=seed),
        ),
        Dataset(
            "textures",
            "generated: smooth textures of low rank under known similarities",
            lambda n, seed: warped_low_rank(n, seed=seed),
        ),
        Dataset(
            "rasl",
            "on disk: the sets of the RASL paper (dummy head, digits, faces, windows); perception.csl.illinois.edu",
        ),
        Dataset(
            "extended_yale_b",
            "on disk: faces under 64 lamps; ask the University of California, San Diego",
        ),
        Dataset("usps", "on disk: handwritten digits as usps.h5, libsvm text or zip.train"),
        Dataset(
            "ar",
            "on disk: faces with sunglasses and scarves; ask Aleix Martinez at the Ohio State University",
        ),
        Dataset(
            "lfw", "on disk: people of Labeled Faces in the Wild with landmarks.txt; UMass Amherst"
        ),
        Dataset(
            "oxford_affine",
            "on disk: planes under viewpoint and light changes; the VGG group of Oxford",
        ),
    )
}


def write_batch(batch: Batch, path: str | Path, overwrite: bool = False) -> None:
    """Write the pictures of a generated batch as PNG files of 8 bits."""
    with whole_or_nothing(path, overwrite) as draft:
        for k, picture in enumerate(batch.images):
            write_picture(draft / f"{k:03d}.png", 255 * picture)
