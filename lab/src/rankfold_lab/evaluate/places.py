"""Did the pictures find their place, and does the program know? Runs over all sets with a truth.

Every scene is aligned in several ways, poor ones among them, so that many pictures are lost.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.align import align
from rankfold.errors import ConvergenceWarning
from rankfold.families import Floats
from rankfold.result import Alignment
from rankfold_lab import inner
from rankfold_lab.evaluate.earlier_rule import FAILED, scores_of_0_1
from rankfold_lab.evaluate.logs import Record, Steps, read_log, run_logged
from rankfold_lab.evaluate.scenes import PLANES, SETS, Scene, corner_errors, off_from_most
from rankfold_lab.readers import read_oxford

NAME = "places"
# A picture is lost if it is off by more than this share of the frame's short side.
LOST = 0.05

# Ways to align a scene: options of rankfold.align. The first is what people run.
RUNS: dict[str, dict[str, Any]] = {
    "default": {},
    "RASL": {"method": "rasl"},
    "given": {"start": "given", "rescue": False},
    "coarse": {"start": "coarse", "rescue": False},
    "pyramid": {"start": "pyramid", "rescue": False},
}
# Sets that start near the place: routes for far starts would only repeat the default.
NEAR = ("P1", "P2", "P4", "P5", "branches", "salt", "band")
NEAR_RUNS = ("default", "RASL")


def run(root: Path, log: Path, sets: Sequence[str], seeds: int, jobs: int = 1) -> Steps:
    """Run what is not in the log yet; yields (done, of) after every set and seed."""
    have = {(record["set"], record["seed"]) for record in read_log(log)}
    work = [
        (str(root), name, seed)
        for name in sets
        # Pictures that were taken once have one seed.
        for seed in range(seeds if name in (*NEAR, "heads", "far-shift", "far-turn") else 1)
        if (name, seed) not in have
    ]
    return run_logged(log, run_set, work, jobs)


def run_set(root: str, name: str, seed: int) -> list[Record]:
    """Align every scene of a set in every way, and measure."""
    ways = NEAR_RUNS if name in NEAR else tuple(RUNS)
    records = []
    for scene in SETS[name](Path(root), seed):
        for way in ways:
            record = {"set": name, "seed": seed, "scene": scene.name, "run": way}
            records.append(record | _measured(scene, RUNS[way], Path(root)))
    return records


def _measured(scene: Scene, options: dict[str, Any], root: Path) -> Record:
    """Return how far every picture is off, what was said of it, and what version 0.1 said."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = align(
            scene.images,
            family=scene.family,
            frame=scene.frame,
            init=scene.start,
            n_jobs=1,
            **options,
        )
    seconds = time.perf_counter() - began
    limit = LOST * min(scene.frame.shape)
    earlier = _earlier(scene, result)
    measured: Record = {
        "off": off_from_most(scene.landed(result.transforms), limit).round(3).tolist(),
        "before": off_from_most(scene.landed(result.start), limit).round(3).tolist(),
        "limit": limit,
        "verdict": result.verdict,
        "verdicts": result.verdicts.tolist(),
        "confirmed": result.confirmed.round(3).tolist(),
        "failed_in_0_1": (earlier > FAILED).tolist(),
        "start": _start_kept(result),
        "seconds": seconds,
    }
    if scene.name in PLANES:
        plane = read_oxford(root, scene.name)
        corners = corner_errors(result.transforms, plane.homographies, plane.images[0].shape)
        measured["corners"] = corners.round(3).tolist()
    return measured


def _earlier(scene: Scene, result: Alignment) -> Floats:
    """The scores (n,) that version 0.1 would have given."""
    job = inner.job_at(scene.images, scene.frame, scene.family, result.transforms)
    return scores_of_0_1(job, job.request.start)


def _start_kept(result: Alignment) -> str:
    """The start that was kept; nothing where none was looked for."""
    routes = result.trace.routes
    if not routes:
        return ""
    return str(np.asarray(routes["route"])[np.asarray(routes["kept"], dtype=bool)][0])
