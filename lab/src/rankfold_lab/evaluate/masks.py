"""Masks of what moves on clips with labelled frames, beside background subtraction of OpenCV.

The pixels of all labelled frames of a clip are counted together. A finished row of a clip is one
line of JSON in the log, so a killed run goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankfold.align import AlignSettings
from rankfold.align.matching import load
from rankfold.datasets import panning
from rankfold.errors import InputError
from rankfold.io import Source
from rankfold.moving import foreground
from rankfold.moving.placing import Placing, placed
from rankfold.stack import Bools
from rankfold_lab.evaluate.logs import Record, Steps, read_log, run_logged
from rankfold_lab.evaluate.mask_baselines import (
    SUBTRACTORS,
    OnCanvas,
    distances_from_median,
    is_installed,
    subtracted,
)
from rankfold_lab.evaluate.stopwatch import Stopwatch
from rankfold_lab.readers import (
    Clip,
    Labels,
    cdnet_folders,
    decolor_files,
    read_cdnet,
    read_decolor,
)

T = TypeVar("T")

NAME = "masks"

# Ours: options of rankfold.foreground. One setting for all clips.
OURS: dict[str, dict[str, Any]] = {
    "rankfold": {},
    "rankfold, shadows dropped": {"shadows": "drop"},
}
MEDIAN = "per-pixel median, best threshold"
ROWS = (*OURS, *SUBTRACTORS, MEDIAN)
# Distances from the median are bytes.
LEVELS = 256


@dataclass(frozen=True)
class Counts:
    """How many pixels were said to move and do, were said to and do not, and were missed."""

    found: int = 0
    wrong: int = 0
    missed: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Count the pixels of both."""
        return Counts(
            self.found + other.found, self.wrong + other.wrong, self.missed + other.missed
        )

    @property
    def precision(self) -> float:
        """Share of what was said to move that does; NaN if nothing was said to."""
        return _ratio(self.found, self.found + self.wrong)

    @property
    def recall(self) -> float:
        """Share of what moves that was found; NaN if nothing moves."""
        return _ratio(self.found, self.found + self.missed)

    @property
    def f(self) -> float:
        """The harmonic mean of both, which is zero if nothing was found."""
        return _ratio(2 * self.found, 2 * self.found + self.wrong + self.missed)


def counts_of(mask: Bools | None, labels: Labels) -> Counts:
    """Compare a mask (h, w), which is empty if None, with the truth where that counts."""
    moving = labels.moving & labels.counted
    if mask is None:
        return Counts(missed=int(moving.sum()))
    found = int((mask & moving).sum())
    said = int((mask & labels.counted).sum())
    return Counts(found, said - found, int(moving.sum()) - found)


def best_threshold(
    distances: Iterable[tuple[npt.NDArray[np.uint8] | None, Labels]],
) -> tuple[Counts, int]:
    """Say from which distance on pixels are foreground for the best F, and what that counts."""
    moving = np.zeros(LEVELS, int)
    still = np.zeros(LEVELS, int)
    unseen = Counts()
    for distance, labels in distances:
        if distance is None:
            unseen += counts_of(None, labels)
            continue
        moving += np.bincount(distance[labels.moving & labels.counted], minlength=LEVELS)
        still += np.bincount(distance[~labels.moving & labels.counted], minlength=LEVELS)
    # For every threshold, how many pixels lie at or above it.
    found = moving[::-1].cumsum()[::-1]
    wrong = still[::-1].cumsum()[::-1]
    all_counts = [
        Counts(int(tp), int(fp), int(moving.sum() - tp)) + unseen
        for tp, fp in zip(found, wrong, strict=True)
    ]
    best = int(np.argmax([np.nan_to_num(counts.f) for counts in all_counts]))
    return all_counts[best], best


def find_clips(root: str | Path) -> list[Path]:
    """Return the folders and files of all clips in the data folder; there must be one."""
    found = [*cdnet_folders(root), *decolor_files(root)]
    if not found:
        raise InputError(
            f"{root} has no clips; put folders cdnet_NAME of changedetection.net there, with input "
            "and groundtruth, or .mat files of DECOLOR in a folder decolor"
        )
    return found


def read_clip(path: Path) -> Clip:
    """Read a clip that :func:`find_clips` found."""
    return read_cdnet(path) if path.is_dir() else read_decolor(path)


def run(root: str | Path, log: Path, jobs: int = 1) -> Steps:
    """Run what is not in the log yet and is installed; yields (done, of) after every clip."""
    paths = find_clips(root)
    # One sentence, and not a traceback from another process, where there is no OpenCV.
    load()
    rows = [row for row in ROWS if row not in SUBTRACTORS or is_installed(row)]
    have = {(record["path"], record["row"]) for record in read_log(log)}
    work = []
    for path in paths:
        missing = [row for row in rows if (path.name, row) not in have]
        if missing:
            work.append((str(path), missing))
    return run_logged(log, run_clip, work, jobs)


def run_clip(path: str, rows: Sequence[str]) -> list[Record]:
    """Measure some rows on one clip."""
    clip = read_clip(Path(path))
    _warm_up()
    began = time.perf_counter()
    placing = placed(clip.frames, "auto", AlignSettings())
    facts = {
        "protocol": NAME,
        "path": Path(path).name,
        "clip": clip.name,
        "frames": len(clip.frames),
        "shape": list(clip.frames.shapes[0][:2]),
        "labelled": len(clip.labelled),
        "moves": placing.moves,
        "placing": (time.perf_counter() - began) / len(clip.frames),
    }
    return [facts | {"row": row} | measured(clip, placing, row) for row in rows]


def measured(clip: Clip, placing: Placing, row: str) -> Record:
    """Return what a row counts on a clip, and its seconds a frame."""
    watch = Stopwatch()
    canvas = OnCanvas(clip.frames, placing)
    more = {}
    if row == MEDIAN:
        steps = watch.over(distances_from_median(clip.frames, canvas))
        counts, threshold = best_threshold(_labelled(clip, steps))
        more["threshold"] = threshold
    else:
        masks = ours(clip.frames, row) if row in OURS else subtracted(canvas, row)
        pairs = _labelled(clip, watch.over(masks))
        counts = sum((counts_of(mask, labels) for mask, labels in pairs), Counts())
    seconds = watch.seconds / len(clip.frames)
    return {**vars(counts), "seconds": seconds, **more}


def ours(frames: Source, row: str) -> Iterator[Bools]:
    """Give the mask of every frame by a row of OURS."""
    for one in foreground(frames, n_jobs=1, **OURS[row]):
        yield one.mask


def _labelled(clip: Clip, steps: Iterable[T]) -> Iterator[tuple[T, Labels]]:
    """Give what belongs to the labelled frames, with the labels; all frames are looked at."""
    labelled = set(clip.labelled)
    for k, item in enumerate(steps):
        if k in labelled:
            yield item, clip.labels(k)


def _ratio(part: int, whole: int) -> float:
    """A share; NaN of nothing."""
    return part / whole if whole else float("nan")


@cache
def _warm_up() -> None:
    """Load and compile what is used, and let OpenCV have one thread, as ours has."""
    import_module("cv2").setNumThreads(1)
    for _ in foreground(panning(4, (72, 96)).images, n_jobs=1):
        pass
