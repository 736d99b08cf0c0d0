"""RASL on its published sets, against ``rasl`` from PyPI and, if there is a copy, the toolbox under Octave."""

from __future__ import annotations

import shutil
import subprocess
import time
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.experiments.bench.declared import declared
from rankfold.experiments.bench.inputs import cut_with_margin, heads, published
from rankfold.experiments.bench.process import Outcome, calm, check_ours, environment, installed, run_worker
from rankfold.experiments.bench.setting import Rows, Setting, Task, jobs_of
from rankfold.stack import Frame

TOOLBOX = "published toolbox, Octave"


def tasks(setting: Setting) -> list[Task]:
    """One for every set, number of threads and implementation; a generated set where there are no data."""
    table = declared()["rasl"]
    packages = [one["package"] for one in table["implementations"] if "package" in one]
    there = {} if setting.quick else installed(setting.peers, packages)
    found: list[Task] = []
    sets = table["sets"] if setting.data is not None else [{"name": "heads"}]
    readers = [cache(partial(_read, row["name"], setting)) for row in sets]
    for turn, (row, read), threads in product(range(setting.repeats), zip(sets, readers, strict=True), setting.threads):
        for one in table["implementations"]:
            if threads == 1 or not one.get("one_thread"):
                label = f"round {turn + 1}: {row['name']}, {one['name']}, {threads} thread{'s' * (threads > 1)}"
                found.append((label, partial(_measure, setting, read, one, there, threads)))
    if setting.data is not None:
        found += [(f"{row['name']}, {TOOLBOX}", partial(_toolbox, setting, row)) for row in sets]
    return found


def _read(name: str, setting: Setting) -> dict[str, Any]:
    """A set and its settings."""
    if setting.data is None:
        return heads(setting.pick(declared()["iteration"]["heads"], "images"))
    return published(setting.data, name)


def _measure(setting: Setting, read: Any, one: dict[str, Any], there: dict[str, str], threads: int) -> Rows:
    """One row."""
    batch = read()
    package = one.get("package")
    row = {"set": batch["name"], "implementation": one["name"], "ours": package is None, "threads": threads}
    if package is not None and package not in there:
        return [] if setting.quick else [{**row, "state": "not installed"}]
    options = {**one["options"], **{key: batch[key] for key in ("family", "frame", "sparsity_weight")}}
    options["calm"] = calm(setting)
    arrays: dict[str, npt.NDArray[Any]]
    if package is None:
        arrays = {"start": batch["start"], **{f"image{k}": image for k, image in enumerate(batch["images"])}}
        outcome = run_worker(one["call"], arrays, {**options, "n_jobs": jobs_of(threads)}, threads)
        check_ours(one["name"], outcome)
    else:
        row["version"] = there[package]
        margin = declared()["rasl"]["margin"]
        pictures = cut_with_margin(batch["images"], batch["start"], Frame(*batch["frame"]), margin)
        arrays = {f"cut{k}": picture for k, picture in enumerate(pictures)}
        options["margin"] = margin
        outcome = run_worker(one["call"], arrays, options, threads, setting.peers)
    row |= outcome.figures
    if outcome.found is not None:
        row |= {"objective": float(outcome.found["objective"]), "outer": int(outcome.found["outer"])}
    return [row]


def _toolbox(setting: Setting, row: dict[str, Any]) -> Rows:
    """The published toolbox, if there is a copy and an Octave to run it; else the seconds that were stated."""
    found = {"set": row["name"], "implementation": TOOLBOX, "ours": False, "threads": 1}
    if setting.octave_rasl is None:
        return [{**found, "state": "stated", "median": row["stated"]}]
    return [{**found, **run_octave(setting.octave_rasl, row["name"], setting.repeats).figures}]


def run_octave(folder: Path, name: str, repeats: int) -> Outcome:
    """Time the toolbox's own script for a set: the one that names it. Octave's start is part of the time."""
    octave = shutil.which("octave")
    if octave is None:
        raise InputError("there is no octave on the PATH; install it or leave out --octave-rasl")
    scripts = [path for path in sorted(folder.glob("*.m")) if f"'{name}'" in path.read_text(errors="replace")]
    if not scripts:
        return Outcome(f"no script names {name}")
    command = f"addpath(genpath(pwd)); run('{scripts[0].name}')"
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        done = subprocess.run(
            [octave, "--no-gui", "--eval", command], cwd=folder, env=environment(1), capture_output=True, check=False
        )
        seconds.append(time.perf_counter() - began)
        if done.returncode != 0:
            return Outcome(f"failed with exit code {done.returncode}")
        if np.sum(seconds) > declared()["budget"]:
            break
    return Outcome("measured", tuple(seconds))
