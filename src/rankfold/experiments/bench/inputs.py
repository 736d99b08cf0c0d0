"""The matrices and pictures that are decomposed and aligned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Problem
from rankfold.admm.problem import default_sparsity
from rankfold.align.loop import weights_of
from rankfold.datasets import low_rank_plus_sparse, read_rasl, rendered_heads
from rankfold.errors import InputError
from rankfold.experiments.bench.declared import rasl_set
from rankfold.experiments.bench.setting import Setting
from rankfold.families import Floats, get_family, shift
from rankfold.io import open_pictures
from rankfold.stack import Frame, Points, Stack
from rankfold.warp.linearisation import Motion, linearise, warp_normalised
from rankfold.warp.sampling import prepare

BLOCK = 2**22  # values of a large matrix that are generated at a time


def read_matrix(row: dict[str, Any], setting: Setting) -> Floats:
    """A declared matrix: frames of a video, a RASL set warped to its frame, or a generated one."""
    kind = "generated" if setting.data is None else row["source"]
    if kind == "generated":
        n, m = setting.pick(row, "size")
        return low_rank_plus_sparse(n, m, rank=row["rank"], corrupted=row["corrupted"], seed=0).data
    assert setting.data is not None
    if kind == "video":
        pictures = open_pictures(existing(setting.data / row["path"])).pictures()
        return np.stack([picture.grey.values.ravel() / 255.0 for picture in pictures])
    batch = published(setting.data, row["set"])
    stack = Stack.of(batch["images"])
    frame = Frame(*batch["frame"])
    data: Floats = warp_normalised(
        prepare(stack, frame, batch["start"], np.float64), batch["start"]
    )[0]
    return np.nan_to_num(data)


def generated(n: int, m: int, rank: int, corrupted: float, seed: int = 0) -> Floats:
    """Low rank and errors, made in blocks of columns: nothing but the matrix itself is large."""
    rng = np.random.default_rng(seed)
    left, X = rng.standard_normal((n, rank)), np.empty((n, m))
    step = max(1, BLOCK // n)
    for k in range(0, m, step):
        block = X[:, k : k + step]
        np.matmul(left, rng.standard_normal((rank, block.shape[1])), out=block)
        hit = rng.random(block.shape, np.float32) < corrupted
        block[hit] += rng.uniform(-10, 10, np.count_nonzero(hit))
    return X


def published(data: Path, name: str) -> dict[str, Any]:
    """A RASL set with its published settings: pictures, start, frame, family, sparsity weight."""
    row = rasl_set(name)
    pictures = read_rasl(existing(data / "rasl" / name))
    points = Points(np.array(row["points"]) - 1, pictures.points)
    return {**row, "images": pictures.images, "start": points.transforms(get_family(row["family"]))}


def heads(n: int) -> dict[str, Any]:
    """A generated stand-in of the same form."""
    batch = rendered_heads(n, seed=0)
    given = {
        "images": batch.images,
        "start": batch.start,
        "frame": list(batch.frame.shape),
        "family": "similarity",
    }
    return {"name": "heads", "sparsity_weight": 1.0, **given}


def linearised(batch: dict[str, Any]) -> Problem:
    """The first inner problem of RASL on pictures."""
    stack, frame, start = (
        Stack.of(batch["images"]).luminance(),
        Frame(*batch["frame"]),
        batch["start"],
    )
    sampler = prepare(stack, frame, start, np.float64)
    local = linearise(sampler, Motion.starting_at(start, get_family(batch["family"]), frame.centre))
    sparsity = default_sparsity(local.data.shape, batch["sparsity_weight"])
    weights, units = weights_of(local.valid), sampler.value_range / local.norms
    return Problem(local.data, sparsity, weights, local.basis, units=units, shape=sampler.row_shape)


def cut_with_margin(
    images: list[npt.NDArray[Any]], start: Floats, frame: Frame, margin: int
) -> list[Floats]:
    """Pictures as they lie in the frame at the start, with a margin around it: the identity, inset, is the start.

    Black beyond the edge of a picture, as in the published code.
    """
    wide = Frame(frame.height + 2 * margin, frame.width + 2 * margin)
    moved = start @ shift(np.full(2, -float(margin)))
    sampler = prepare(Stack.of(images), wide, moved, np.float64)
    rows, norms, valid = warp_normalised(sampler, moved)
    values = np.where(valid, rows * norms[:, None], 0.0)
    # within 0 to 1, what the peer takes for pictures; a common factor changes nothing, as it divides by norms
    return list((values / np.abs(values).max()).reshape(-1, *wide.shape))


def existing(path: Path) -> Path:
    """A file or folder of the data, or a sentence about what to give."""
    if not path.exists():
        raise InputError(
            f"{path} is missing; --data is the folder with video/demo.avi and rasl/Al_Gore, rasl/..."
        )
    return path
