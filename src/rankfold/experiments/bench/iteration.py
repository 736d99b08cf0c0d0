"""Time of an inner iteration: against the floor, one thread against all, MeADMM against RASL."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rankfold.admm import Problem, Settings, solve
from rankfold.align import align
from rankfold.errors import ConvergenceWarning
from rankfold.executors import executor_for
from rankfold.experiments.bench.declared import declared
from rankfold.experiments.bench.floor import floor_seconds
from rankfold.experiments.bench.inputs import generated, heads, linearised, published, read_matrix
from rankfold.experiments.bench.process import calm
from rankfold.experiments.bench.setting import Rows, Setting, Task, jobs_of
from rankfold.experiments.bench.worker import wait_until
from rankfold.experiments.speed import moving_problem, paired, time_both
from rankfold.experiments.windows import read_windows, run_windows
from rankfold.families import Floats
from rankfold.status import Record

METHODS = ("rasl", "meadmm")

Batch = Callable[[], dict[str, Any]]  # pictures with their settings, read when it is their turn


def tasks(setting: Setting) -> list[Task]:
    """The floor on every matrix; MeADMM beside RASL on every shape and on pictures, iterations and whole alignments."""
    table = declared()["iteration"]
    found: list[Task] = [
        (f"iteration on {matrix['name']}", partial(_against_floor, setting, matrix))
        for matrix in table["matrices"]
    ]
    shapes = setting.pick(table, "shapes")
    problems: dict[str, Callable[[], Problem]] = {
        f"generated, {name}": partial(moving_problem, tuple(shapes[name])) for name in shapes
    }
    sets: dict[str, Batch] = {}
    if setting.data is not None:
        names = [row["name"] for row in declared()["rasl"]["sets"]]
        sets = {name: partial(published, setting.data, name) for name in names}
    few: dict[str, Batch] = {
        "heads": partial(heads, setting.pick(table["pictures"], "images")),
        **sets,
    }
    problems |= {name: partial(_linearised, read) for name, read in few.items()}
    found += [
        (f"MeADMM and RASL, {name}", partial(_both, setting, name, make))
        for name, make in problems.items()
    ]
    all_of: dict[str, Batch] = {
        "heads": partial(heads, setting.pick(table["heads"], "images")),
        **sets,
    }
    found += [
        (f"alignment of {name}", partial(_whole, setting, name, read))
        for name, read in all_of.items()
    ]
    if setting.data is not None and (setting.data / "windows").is_dir():
        found.append(("alignment of windows", partial(_windows, setting)))
    return found


def seconds_per_iteration(X: Floats, iterations: int, threads: int) -> tuple[float, float]:
    """Of robust PCA: from the end of the first iteration to the end of the last, and with setting up and collecting."""
    ends: list[float] = []

    def observe(_: Record) -> bool:
        ends.append(time.perf_counter())
        return False

    problem = Problem(X, float(1 / np.sqrt(max(X.shape))))
    settings = Settings(
        tol=1e-15, max_iter=iterations
    )  # a tolerance that is not reached: all iterations are done
    with executor_for(None, jobs_of(threads)) as executor:
        began = time.perf_counter()
        solve(problem, settings, executor, observe)
        whole = time.perf_counter() - began
    return (ends[-1] - ends[0]) / max(len(ends) - 1, 1), whole / len(ends)


def _against_floor(setting: Setting, matrix: dict[str, Any]) -> Rows:
    """A row for every number of threads."""
    if matrix["source"] == "generated":
        n, m = setting.pick(matrix, "size")
        X = generated(n, m, matrix["rank"], matrix["corrupted"])
    else:
        X = read_matrix(matrix, setting)
    seconds_per_iteration(X[:, :400].copy(), 2, 1)  # compiles
    turns: dict[int, list[tuple[dict[str, float], float, float]]] = {
        threads: [] for threads in setting.threads
    }
    for _ in range(setting.repeats):
        for threads in setting.threads:
            wait_until(calm(setting))
            floor = floor_seconds(X, threads)
            turns[threads].append((floor, *seconds_per_iteration(X, matrix["iterations"], threads)))
    rows: Rows = []
    for threads, measured in turns.items():
        floors, ours, whole = zip(*measured, strict=True)
        least = [sum(floor.values()) for floor in floors]
        row = {
            "kind": "floor",
            "matrix": matrix["name"],
            "shape": list(X.shape),
            "threads": threads,
        }
        row["parts"] = {
            name: float(np.median([floor[name] for floor in floors])) for name in floors[0]
        }
        medians = {"floor": least, "ours": ours, "with_setup": whole}
        row |= {name: float(np.median(seconds)) for name, seconds in medians.items()}
        rows.append({**row, "ratio": paired(ours, least), "rounds": list(ours)})
    return rows


def _linearised(read: Batch) -> Problem:
    """Read pictures only when it is their turn."""
    return linearised(read())


def _both(setting: Setting, name: str, make: Callable[[], Problem]) -> Rows:
    """MeADMM beside RASL, one row for every number of threads."""
    problem = make()
    n, m = problem.data.shape
    rows: Rows = []
    for threads in setting.threads:
        wait_until(calm(setting))
        repeats, seconds = (1, 0.0) if setting.quick else (5, declared()["iteration"]["seconds"])
        timing = time_both(problem, repeats, jobs_of(threads), seconds)
        shape = name if " x " in name else f"{name}, {n} x {m:,}"
        row = {
            "kind": "methods",
            "shape": shape,
            "threads": threads,
            "ratio": timing.ratio,
            "free": timing.free,
        }
        rows.append(
            {**row, "ranks": timing.ranks, "rasl": timing.rasl / 1e3, "meadmm": timing.meadmm / 1e3}
        )
    return rows


def _whole(setting: Setting, name: str, read: Batch) -> Rows:
    """Whole alignments of a batch, from the same start, one thread."""
    batch = read()
    words = {"family": batch["family"], "frame": tuple(batch["frame"]), "init": batch["start"]}
    words["sparsity_weight"] = batch["sparsity_weight"]
    return [_alignments(name, setting, lambda method: align(batch["images"], method, **words))]


def _windows(setting: Setting) -> Rows:
    """Whole alignments of the facade windows, from the same points, one thread."""
    assert setting.data is not None
    photographs = read_windows(setting.data)
    return [
        _alignments(
            "windows", setting, lambda method: run_windows(photographs, method, occluded=False)
        )
    ]


def _alignments(name: str, setting: Setting, run: Any) -> dict[str, Any]:
    """Both methods in turn, so that a busy machine slows both."""
    seconds: dict[str, list[float]] = {method: [] for method in METHODS}
    small = heads(8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for method in METHODS:  # compiles
            align(
                small["images"],
                method,
                family=small["family"],
                frame=tuple(small["frame"]),
                init=small["start"],
            )
        for _ in range(setting.repeats):
            for method in METHODS:
                wait_until(calm(setting))
                began = time.perf_counter()
                run(method)
                seconds[method].append(time.perf_counter() - began)
    rasl, meadmm = (float(np.median(seconds[method])) for method in METHODS)
    ratio = paired(seconds["meadmm"], seconds["rasl"])
    return {
        "kind": "alignments",
        "set": name,
        "threads": 1,
        "rasl": rasl,
        "meadmm": meadmm,
        "ratio": ratio,
    }
