"""A look at what can be made of a run: the plate, restored pictures, masks; on the frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.io.memory import of_rows
from rankfold.outputs import OutputSettings, plate_of
from rankfold.outputs.masks import InFrame
from rankfold.outputs.means import Means
from rankfold.outputs.methods import Sums
from rankfold.outputs.restore import restoration_of
from rankfold.report.pictures import Bytes, rgb
from rankfold.result import Alignment, Decomposition
from rankfold.runs import as_bytes

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

# A look needs fewer pictures than the thing itself.
MEANS = Means(OutputSettings().changed({"votes.donors": 16}))

# Pictures that are shown before and after.
SHOWN = 3

# A picture of which more does not belong is no good example.
TOO_MUCH = 0.5

# Red, green and blue over what does not belong, and how much of it.
MARK = np.array([255, 59, 141])
STRENGTH = 0.6


@dataclass(frozen=True)
class Panel:
    """A panel of the report.

    Attributes
    ----------
    title : str
    sentence : str
        What is shown.
    command : str
        What makes it at full size.
    pictures : list of (caption, (h, w, 3) array)
    """

    title: str
    sentence: str
    command: str
    pictures: list[tuple[str, Bytes]]


def panels_of(result: Alignment | Decomposition, names: tuple[str, ...]) -> list[Panel]:
    """Return the panels of a run; none where too few pictures found their place.

    Parameters
    ----------
    result : Alignment or Decomposition
    names : n strings
    """
    if isinstance(result, Alignment):
        failed = result.failed
        pictures: Any = result.aligned
    else:
        failed = np.zeros(len(names), bool)
        pictures = Sums(result.low_rank, result.sparse)
    if (~failed).sum() <= 2:
        return []
    aligned = InFrame(names, result.low_rank, result.sparse, failed)
    source = of_rows(pictures, result.low_rank.shape, names)
    try:
        plate = plate_of(aligned, source, MEANS)
        restoration = restoration_of(aligned, source, MEANS)
    except InputError:
        # Of some batches nothing can be made; the report is about the batch.
        return []
    low, high = _range(plate.picture)
    found = [
        Panel(
            "One clean picture",
            plate.sentence,
            "rankfold plate RUN -o plate.tif" if isinstance(result, Alignment) else "",
            [
                ("the plate", rgb(as_bytes(plate.picture, low, high))),
                ("how many agree", rgb(as_bytes(plate.confidence, 0, 1))),
            ],
        )
    ]
    restored: list[tuple[str, Bytes]] = []
    marked: list[tuple[str, Bytes]] = []
    for index in _examples(result.sparse, failed, high - low):
        one = restoration[index]
        if one.doubted:
            continue
        if len(restored) == SHOWN:
            break
        before = rgb(as_bytes(np.asarray(pictures[index]), low, high))
        after = rgb(as_bytes(np.asarray(one.picture), low, high))
        restored.append((names[index], np.hstack([before, after])))
        marked.append((names[index], _marked(before, one.replaced)))
    found.append(
        Panel(
            "Restored pictures",
            "Left as it came, right without what does not belong.",
            "rankfold restore RUN -o restored" if isinstance(result, Alignment) else "",
            restored,
        )
    )
    found.append(Panel("Masks", "What does not belong.", "rankfold mask RUN -o masks", marked))
    return found


def _range(picture: Array) -> tuple[float, float]:
    """The darkest and the brightest value of a plate."""
    seen = picture[np.isfinite(picture)]
    if not seen.size:
        return 0.0, 1.0
    return float(seen.min()), float(max(seen.max(), seen.min() + 1e-12))


def _examples(sparse: Array, failed: Bools, span: float) -> list[int]:
    """The pictures, those first of which most does not belong, but not nearly all of it."""
    shares = []
    for k in range(len(failed)):
        error = np.abs(np.nan_to_num(np.asarray(sparse[k])))
        shares.append(float((error > 0.1 * span).mean()))
    share = np.array(shares)
    usable = np.flatnonzero(~failed & (share < TOO_MUCH))
    return [int(k) for k in usable[np.argsort(-share[usable], kind="stable")]]


def _marked(picture: Bytes, mask: Bools) -> Bytes:
    """Colour a mask (h, w) over a picture (h, w, 3)."""
    out = picture.astype(np.float64)
    out[mask] = (1 - STRENGTH) * out[mask] + STRENGTH * MARK
    return np.asarray(np.rint(out).astype(np.uint8))
