"""The matrices and pictures that are decomposed and aligned."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.datasets import low_rank_plus_sparse, rendered_heads
from rankfold.errors import InputError
from rankfold.families import Floats, get_family, shift
from rankfold.io import open_pictures
from rankfold.stack import Frame, Points
from rankfold_lab import inner
from rankfold_lab.bench.declared import rasl_set
from rankfold_lab.bench.setting import Setting
from rankfold_lab.inner import Problem
from rankfold_lab.readers import read_rasl

# How many values of a large matrix are generated at a time.
BLOCK = 2**22


def read_matrix(row: dict[str, Any], setting: Setting) -> Floats:
    """Return a declared matrix (n, m): frames of a video, a RASL set on its frame, or generated."""
    if setting.data is None or row["source"] == "generated":
        n, m = setting.pick(row, "size")
        return low_rank_plus_sparse(n, m, rank=row["rank"], corrupted=row["corrupted"], seed=0).data
    if row["source"] == "frames":
        source = open_pictures(existing(setting.data / row["path"]))
        pictures = islice(source.pictures(), row.get("frames"))
        return np.stack([picture.grey.values.ravel() / 255.0 for picture in pictures])
    batch = published(setting.data, row["set"])
    rows, _, _ = inner.warped(batch["images"], Frame(*batch["frame"]), batch["start"])
    return np.nan_to_num(rows)


def generated(n: int, m: int, rank: int, corrupted: float, seed: int = 0) -> Floats:
    """Return a matrix (n, m) of low rank plus errors, made in blocks of columns to save memory."""
    rng = np.random.default_rng(seed)
    left = rng.standard_normal((n, rank))
    X = np.empty((n, m))
    step = max(1, BLOCK // n)
    for k in range(0, m, step):
        block = X[:, k : k + step]
        np.matmul(left, rng.standard_normal((rank, block.shape[1])), out=block)
        hit = rng.random(block.shape, np.float32) < corrupted
        block[hit] += rng.uniform(-10, 10, np.count_nonzero(hit))
    return X


def published(data: Path, name: str) -> dict[str, Any]:
    """Return a RASL set with its published settings: pictures, start, frame, family, weight."""
    row = rasl_set(name)
    pictures = read_rasl(existing(data / "rasl" / name))
    # Points are published from 1.
    points = Points(np.array(row["points"]) - 1, pictures.points)
    start = points.transforms(get_family(row["family"]))
    return {**row, "images": pictures.images, "start": start}


def heads(n: int) -> dict[str, Any]:
    """Return a generated batch of the same form."""
    batch = rendered_heads(n, seed=0)
    return {
        "name": "heads",
        "sparsity_weight": 1.0,
        "images": batch.images,
        "start": batch.start,
        "frame": list(batch.frame.shape),
        "family": "similarity",
    }


def linearised(batch: dict[str, Any]) -> Problem:
    """Return the first inner problem of RASL on a batch."""
    frame = Frame(*batch["frame"])
    weight = batch["sparsity_weight"]
    return inner.linearised(batch["images"], frame, batch["start"], batch["family"], weight)


def cut_with_margin(
    images: list[npt.NDArray[Any]], start: Floats, frame: Frame, margin: int
) -> list[Floats]:
    """Return pictures as they lie in the frame at the start, with a margin around it.

    The identity, inset by the margin, is then the start. Beyond the edge of a picture they are
    black, as in the published code.

    Parameters
    ----------
    images : list of arrays
    start : array (n, 3, 3)
    frame : Frame
    margin : int
        Pixels of the frame.
    """
    wide = Frame(frame.height + 2 * margin, frame.width + 2 * margin)
    moved = start @ shift(np.full(2, -float(margin)))
    rows, norms, valid = inner.warped(images, wide, moved)
    values = np.where(valid, rows * norms[:, None], 0.0)
    # The peer takes values within 0 to 1 for pictures. A common factor changes nothing, because it
    # divides by norms.
    scaled = values / np.abs(values).max()
    return list(scaled.reshape(-1, *wide.shape))


def existing(path: Path) -> Path:
    """Return a file or folder of the data, or raise a sentence about what to give."""
    if not path.exists():
        raise InputError(
            f"{path} is missing; --data is the folder with video/demo.avi and "
            "rasl/Al_Gore, rasl/..."
        )
    return path
