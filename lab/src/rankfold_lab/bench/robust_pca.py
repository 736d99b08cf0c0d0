"""Robust PCA against the packages there are: same matrix, same λ, objectives computed here."""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from rankfold.families import Floats
from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.inputs import read_matrix
from rankfold_lab.bench.process import calm, check_ours, installed, run_worker
from rankfold_lab.bench.setting import Rows, Setting, Task, jobs_of


def tasks(setting: Setting) -> list[Task]:
    """Return one task for every round, matrix, number of threads and implementation."""
    table = declared()["rpca"]
    packages = sorted({one["package"] for one in table["implementations"] if "package" in one})
    there = {} if setting.quick else installed(setting.peers, packages)
    matrices = [
        matrix
        for matrix in table["matrices"]
        if setting.data is not None or matrix["source"] == "generated"
    ]
    # Every matrix is read once, by the first that needs it.
    readers = {matrix["name"]: cache(partial(read_matrix, matrix, setting)) for matrix in matrices}
    given_up: set[tuple[str, str]] = set()
    found: list[Task] = []
    for turn, matrix, threads in product(range(setting.repeats), matrices, setting.threads):
        read = readers[matrix["name"]]
        start = f"round {turn + 1}: {matrix['name']}"
        for one in table["implementations"]:
            if threads > 1 and one.get("one_thread"):
                continue
            label = f"{start}, {one['name']}, {threads} thread{'s' * (threads > 1)}"
            task = partial(_measure, setting, read, matrix, one, there, threads, given_up)
            found.append((label, task))
    return found


def objective(X: Floats, sparse: Floats, sparsity: float) -> float:
    """Return ‖X - S‖_* + λ‖S‖_1, the objective of a feasible point, for matrices (n, m)."""
    nuclear = float(np.linalg.svd(X - sparse, compute_uv=False).sum())
    return nuclear + sparsity * float(np.abs(sparse).sum())


def _measure(
    setting: Setting,
    read: Any,
    matrix: dict[str, Any],
    one: dict[str, Any],
    there: dict[str, str],
    threads: int,
    given_up: set[tuple[str, str]],
) -> Rows:
    """One row; nothing for an implementation that was given up in an earlier round."""
    if (matrix["name"], one["name"]) in given_up:
        return []
    package = one.get("package")
    row = {
        "matrix": matrix["name"],
        "implementation": one["name"],
        "ours": package is None,
        "threads": threads,
    }
    if package is not None and package not in there:
        return [] if setting.quick else [{**row, "state": "not installed"}]
    X = read()
    sparsity = float(1 / np.sqrt(max(X.shape)))
    options = {**one["options"], "sparsity": sparsity, "calm": calm(setting)}
    if package is None:
        options["n_jobs"] = jobs_of(threads)
        outcome = run_worker(one["call"], {"matrix": X}, options, threads)
        check_ours(one["name"], outcome)
    else:
        row["version"] = there[package]
        limit = one.get("timeout")
        outcome = run_worker(
            one["call"], {"matrix": X}, options, threads, setting.peers, timeout=limit
        )
    if outcome.state != "measured":
        given_up.add((matrix["name"], one["name"]))
    row |= {"shape": list(X.shape), **outcome.figures}
    if outcome.found is not None:
        row["objective"] = objective(X, outcome.found["sparse"], sparsity)
    return [row]
