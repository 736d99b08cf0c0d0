"""How well hidden parts of pictures are filled in, where it is known what is behind them.

A finished row of a trial is one line of JSON in the log, so a killed run goes on where it was.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import align
from rankfold.align.matching import load
from rankfold.errors import ConvergenceWarning, FormatError, InputError
from rankfold.io import in_memory
from rankfold.runs import choose
from rankfold.stack import Bools
from rankfold_lab.evaluate.faces import PROTOCOLS, make_batch
from rankfold_lab.evaluate.inpainting_methods import METHODS, Filled, Trial, medians_behind
from rankfold_lab.evaluate.logs import Record, Steps, read_log, run_logged
from rankfold_lab.evaluate.stopwatch import Stopwatch
from rankfold_lab.readers import read_windows
from rankfold_lab.readers.yale import yale_root

Array = npt.NDArray[Any]

NAME = "inpainting"
WINDOWS = "windows"
FACES = "Yale P1"
# Trials of a subject.
SEEDS = 1
# Share of the range. A clean photograph that differs from the median of all clean ones by more than
# this shows something in front there itself: a branch, which no other picture has in that place.
BRANCH = 0.15


def windows(root: str) -> Trial:
    """Align the occluded windows, as the command does with ``-t homography``."""
    photographs = read_windows(root)
    source = in_memory(photographs.occluded)
    choice = choose(source)
    stack = source.stack(choice.reduction)
    result = align(stack, family="homography", frame=choice.frame, init=choice.init, n_jobs=1)
    pairs = zip(photographs.clean, photographs.occluded, strict=True)
    hidden = [np.asarray(clean != occluded) for clean, occluded in pairs]
    return Trial(photographs.occluded, hidden, photographs.clean, result)


def faces(root: str, subject: int, seed: int) -> Trial:
    """Align one subject's faces of protocol P1."""
    batch = make_batch(root, subject, PROTOCOLS["P1"], seed)
    result = align(batch.images, frame=batch.frame, init=batch.start, n_jobs=1)
    return Trial(list(batch.images), list(batch.hidden), list(batch.clean), result)


def find_sets(root: str | Path) -> list[str]:
    """Return the sets that the data folder has; there must be one."""
    root = Path(root)
    found = []
    if all((root / name).is_dir() for name in ("windows", "windows_occluded")):
        found.append(WINDOWS)
    try:
        yale_root(root)
        found.append(FACES)
    except FormatError:
        pass
    if not found:
        raise InputError(
            f"{root} has no pictures to fill in; put windows and windows_occluded there, or "
            "extended_yale_b"
        )
    return found


def run(
    root: str | Path, log: Path, subjects: Sequence[int], seeds: int = SEEDS, jobs: int = 1
) -> Steps:
    """Run what is not in the log yet; yields (done, of) after every trial."""
    sets = find_sets(root)
    _check_installed()
    trials: list[tuple[str, int, int]] = []
    if WINDOWS in sets:
        # There is only one.
        trials.append((WINDOWS, 0, 0))
    if FACES in sets:
        trials += [(FACES, subject, seed) for subject in subjects for seed in range(seeds)]
    have = {(r["set"], r["subject"], r["seed"], r["row"]) for r in read_log(log)}
    work = []
    for trial in trials:
        missing = [row for row in METHODS if (*trial, row) not in have]
        if missing:
            work.append((str(root), *trial, missing))
    return run_logged(log, run_trial, work, jobs)


def run_trial(root: str, name: str, subject: int, seed: int, rows: Sequence[str]) -> list[Record]:
    """Measure some rows on one trial."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        trial = windows(root) if name == WINDOWS else faces(root, subject, seed)
    facts = {
        "protocol": NAME,
        "set": name,
        "subject": subject,
        "seed": seed,
        "pictures": len(trial.images),
        "aligning": time.perf_counter() - began,
    }
    plain = plain_parts(trial) if name == WINDOWS else trial.hidden
    return [facts | {"row": row} | measured(trial, plain, row) for row in rows]


def plain_parts(trial: Trial) -> list[Bools]:
    """Return what (h, w) is hidden where the truth itself has nothing in front."""
    nothing = [np.zeros(mask.shape, bool) for mask in trial.hidden]
    behind = medians_behind(trial.result, trial.clean, nothing)
    parts = []
    for clean, hidden, (values, known) in zip(trial.clean, trial.hidden, behind, strict=True):
        error = np.abs(clean - values) / trial.unit
        parts.append(hidden & known & (error <= BRANCH))
    return parts


def measured(trial: Trial, plain: Sequence[Bools], row: str) -> Record:
    """Return the errors of a row on a trial, picture by picture, and its seconds a picture."""
    watch = Stopwatch()
    pictures = [
        of_one(trial, k, filled, plain[k])
        for k, filled in enumerate(watch.over(METHODS[row](trial)))
    ]
    record: Record = {name: [one[name] for one in pictures] for name in pictures[0]}
    return {**record, "seconds": watch.seconds / len(pictures)}


def of_one(trial: Trial, k: int, filled: Filled, plain: Bools) -> dict[str, float]:
    """Measure one picture: sums over its hidden pixels of which the truth is known.

    Returns
    -------
    dict
        ``pixels``; the sum of ``squared`` errors and of ``ssim`` over them, ``left`` of them as
        they were; ``plain_pixels`` and ``plain_squared`` over those with nothing in front;
        ``visible`` pixels, ``touched`` of them replaced; ``changed`` bits in what was not replaced.
    """
    original = trial.images[k]
    truth = trial.clean[k] / trial.unit
    known = np.isfinite(truth)
    scored = trial.hidden[k] & known
    values = np.clip(filled.picture / trial.unit, 0, 1)
    squared = (values - truth) ** 2
    # What is missing is the same in both.
    both = known & np.isfinite(values)
    _, similarity = import_module("skimage.metrics").structural_similarity(
        np.where(both, truth, 0), np.where(both, values, 0), data_range=1.0, full=True
    )
    visible = ~trial.hidden[k] & np.isfinite(original)
    return {
        "pixels": int(scored.sum()),
        "squared": float(squared[scored].sum()),
        "ssim": float(similarity[scored].sum()),
        "left": int((scored & ~filled.replaced).sum()),
        "plain_pixels": int((scored & plain).sum()),
        "plain_squared": float(squared[scored & plain].sum()),
        "visible": int(visible.sum()),
        "touched": int((visible & filled.replaced).sum()),
        "changed": int((_bits(filled.picture) != _bits(original))[~filled.replaced].sum()),
    }


def _bits(picture: Array) -> Array:
    """The values of a picture as integers of the same bits, so that NaN can be compared."""
    return np.ascontiguousarray(picture).view(f"u{picture.dtype.itemsize}")


def _check_installed() -> None:
    """Refuse to begin without the packages of the other methods and of the measure."""
    load()
    try:
        import_module("skimage")
    except ImportError as error:
        raise InputError(
            "scikit-image is not installed; run `pip install rankfold[skimage]`"
        ) from error
