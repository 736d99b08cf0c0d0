"""Time of an inner iteration: against the floor, one thread against all, MeADMM against RASL."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rankfold.align import align
from rankfold.errors import ConvergenceWarning
from rankfold.families import Floats
from rankfold.scale import executor_for
from rankfold.status import Record
from rankfold_lab import inner
from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.floor import floor_seconds
from rankfold_lab.bench.inputs import generated, heads, linearised, published, read_matrix
from rankfold_lab.bench.process import calm
from rankfold_lab.bench.setting import Rows, Setting, Task, jobs_of
from rankfold_lab.bench.worker import wait_until
from rankfold_lab.inner import Problem, moving_problem
from rankfold_lab.readers.windows import FRAME, read_windows
from rankfold_lab.timing import paired, time_both

METHODS = ("rasl", "meadmm")

# Pictures with their settings, read when it is their turn.
Batch = Callable[[], dict[str, Any]]


def tasks(setting: Setting) -> list[Task]:
    """Return the floor on every matrix, then MeADMM beside RASL: iterations, whole alignments."""
    table = declared()["iteration"]
    sets: dict[str, Batch] = {}
    if setting.data is not None:
        for row in declared()["rasl"]["sets"]:
            sets[row["name"]] = partial(published, setting.data, row["name"])
    found: list[Task] = []
    for matrix in table["matrices"]:
        found.append((f"iteration on {matrix['name']}", partial(_against_floor, setting, matrix)))
    for name, make in _problems(setting, sets).items():
        found.append((f"MeADMM and RASL, {name}", partial(_both, setting, name, make)))
    few: Batch = partial(heads, setting.pick(table["heads"], "images"))
    for name, read in {"heads": few, **sets}.items():
        found.append((f"alignment of {name}", partial(_whole, setting, name, read)))
    if setting.data is not None and (setting.data / "windows").is_dir():
        found.append(("alignment of windows", partial(_windows, setting)))
    return found


def seconds_per_iteration(X: Floats, iterations: int, threads: int) -> tuple[float, float]:
    """Time robust PCA on a matrix (n, m).

    Returns
    -------
    (float, float)
        Seconds of an iteration from the end of the first to the end of the last, and the same with
        setting up and collecting.
    """
    ends: list[float] = []

    def observe(_: Record) -> bool:
        ends.append(time.perf_counter())
        return False

    problem = inner.robust_pca(X)
    with executor_for(None, jobs_of(threads)) as executor:
        began = time.perf_counter()
        inner.iterate(problem, iterations, executor, observe=observe)
        whole = time.perf_counter() - began
    between = (ends[-1] - ends[0]) / max(len(ends) - 1, 1)
    return between, whole / len(ends)


def _problems(setting: Setting, sets: dict[str, Batch]) -> dict[str, Callable[[], Problem]]:
    """Return what makes every inner problem, by its name: generated shapes, then pictures."""
    table = declared()["iteration"]
    problems: dict[str, Callable[[], Problem]] = {}
    for name, shape in setting.pick(table, "shapes").items():
        problems[f"generated, {name}"] = partial(moving_problem, tuple(shape))
    pictures: Batch = partial(heads, setting.pick(table["pictures"], "images"))
    for name, read in {"heads": pictures, **sets}.items():
        problems[name] = partial(_linearised, read)
    return problems


def _linearised(read: Batch) -> Problem:
    """Read pictures only when it is their turn."""
    return linearised(read())


def _against_floor(setting: Setting, matrix: dict[str, Any]) -> Rows:
    """Measure ours and the floor in turn; one row for every number of threads."""
    if matrix["source"] == "generated":
        n, m = setting.pick(matrix, "size")
        X = generated(n, m, matrix["rank"], matrix["corrupted"])
    else:
        X = read_matrix(matrix, setting)
    # A small run compiles.
    seconds_per_iteration(X[:, :400].copy(), 2, 1)
    turns: dict[int, list[tuple[dict[str, float], float, float]]] = {
        threads: [] for threads in setting.threads
    }
    for _ in range(setting.repeats):
        for threads in setting.threads:
            wait_until(calm(setting))
            floor = floor_seconds(X, threads)
            ours, whole = seconds_per_iteration(X, matrix["iterations"], threads)
            turns[threads].append((floor, ours, whole))
    return [
        _floor_row(matrix["name"], X.shape, threads, measured)
        for threads, measured in turns.items()
    ]


def _floor_row(
    name: str,
    shape: tuple[int, ...],
    threads: int,
    measured: list[tuple[dict[str, float], float, float]],
) -> dict[str, Any]:
    """Return the medians of the rounds of one matrix and number of threads."""
    floors, ours, whole = zip(*measured, strict=True)
    least = [sum(floor.values()) for floor in floors]
    parts = {part: float(np.median([floor[part] for floor in floors])) for part in floors[0]}
    return {
        "kind": "floor",
        "matrix": name,
        "shape": list(shape),
        "threads": threads,
        "parts": parts,
        "floor": float(np.median(least)),
        "ours": float(np.median(ours)),
        "with_setup": float(np.median(whole)),
        "ratio": paired(ours, least),
        "rounds": list(ours),
    }


def _both(setting: Setting, name: str, make: Callable[[], Problem]) -> Rows:
    """Time MeADMM beside RASL; one row for every number of threads."""
    problem = make()
    n, m = problem.data.shape
    shape = name if " x " in name else f"{name}, {n} x {m:,}"
    repeats = 1 if setting.quick else 5
    seconds = 0.0 if setting.quick else declared()["iteration"]["seconds"]
    rows: Rows = []
    for threads in setting.threads:
        wait_until(calm(setting))
        timing = time_both(problem, repeats, jobs_of(threads), seconds)
        row = {
            "kind": "methods",
            "shape": shape,
            "threads": threads,
            "ratio": timing.ratio,
            "free": timing.free,
            "ranks": timing.ranks,
            "rasl": timing.rasl / 1e3,
            "meadmm": timing.meadmm / 1e3,
        }
        rows.append(row)
    return rows


def _whole(setting: Setting, name: str, read: Batch) -> Rows:
    """Time whole alignments of a batch, from the same start, one thread."""
    batch = read()
    words = {
        "family": batch["family"],
        "frame": tuple(batch["frame"]),
        "init": batch["start"],
        "sparsity_weight": batch["sparsity_weight"],
    }
    return [_alignments(name, setting, lambda method: align(batch["images"], method, **words))]


def _windows(setting: Setting) -> Rows:
    """Time whole alignments of the facade windows, from the same points, one thread."""
    assert setting.data is not None
    photographs = read_windows(setting.data)
    words: dict[str, Any] = {
        "family": "homography",
        "frame": FRAME,
        "init": photographs.points,
        "inner_tol": 1e-5,
        "n_jobs": 1,
    }
    return [
        _alignments("windows", setting, lambda method: align(photographs.clean, method, **words))
    ]


def _alignments(name: str, setting: Setting, run: Callable[[str], object]) -> dict[str, Any]:
    """Run both methods in turn, so that a busy machine slows both."""
    seconds: dict[str, list[float]] = {method: [] for method in METHODS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _compile()
        for _ in range(setting.repeats):
            for method in METHODS:
                wait_until(calm(setting))
                began = time.perf_counter()
                run(method)
                seconds[method].append(time.perf_counter() - began)
    return {
        "kind": "alignments",
        "set": name,
        "threads": 1,
        "rasl": float(np.median(seconds["rasl"])),
        "meadmm": float(np.median(seconds["meadmm"])),
        "ratio": paired(seconds["meadmm"], seconds["rasl"]),
    }


def _compile() -> None:
    """Align a few pictures with both methods, so that no timed run waits for the compiler."""
    small = heads(8)
    frame = tuple(small["frame"])
    for method in METHODS:
        align(small["images"], method, family=small["family"], frame=frame, init=small["start"])
