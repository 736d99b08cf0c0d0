"""RASL on its published sets, against ``rasl`` from PyPI and, if there is a copy, the toolbox under Octave."""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from typing import Any

import numpy.typing as npt

from rankfold.stack import Frame
from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.inputs import cut_with_margin, existing, heads, published
from rankfold_lab.bench.process import Outcome, calm, check_ours, installed, run_worker
from rankfold_lab.bench.setting import Rows, Setting, Task, jobs_of
from rankfold_lab.bench.toolbox import Toolbox

TOOLBOX = "published toolbox, Octave"


def tasks(setting: Setting) -> list[Task]:
    """One for every set, number of threads and implementation; a generated set where there are no data."""
    table = declared()["rasl"]
    packages = [one["package"] for one in table["implementations"] if "package" in one]
    there = {} if setting.quick else installed(setting.peers, packages)
    found: list[Task] = []
    sets = table["sets"] if setting.data is not None else [{"name": "heads"}]
    readers = [cache(partial(_read, row["name"], setting)) for row in sets]
    toolbox = (
        Toolbox.at(setting.octave_rasl)
        if setting.octave_rasl is not None and setting.data is not None
        else None
    )
    for turn, (row, read) in product(range(setting.repeats), zip(sets, readers, strict=True)):
        start = f"round {turn + 1}: {row['name']}"
        for threads, one in product(setting.threads, table["implementations"]):
            if threads == 1 or not one.get("one_thread"):
                label = f"{start}, {one['name']}, {threads} thread{'s' * (threads > 1)}"
                found.append((label, partial(_measure, setting, read, one, there, threads)))
        if setting.data is not None:
            found.append((f"{start}, {TOOLBOX}", partial(_toolbox, setting, toolbox, row)))
    return found


def _read(name: str, setting: Setting) -> dict[str, Any]:
    """A set and its settings."""
    if setting.data is None:
        return heads(setting.pick(declared()["iteration"]["heads"], "images"))
    return published(setting.data, name)


def _measure(
    setting: Setting, read: Any, one: dict[str, Any], there: dict[str, str], threads: int
) -> Rows:
    """One row."""
    batch = read()
    package = one.get("package")
    row = {
        "set": batch["name"],
        "implementation": one["name"],
        "ours": package is None,
        "threads": threads,
    }
    if package is not None and package not in there:
        return [] if setting.quick else [{**row, "state": "not installed"}]
    options = {
        **one["options"],
        **{key: batch[key] for key in ("family", "frame", "sparsity_weight")},
    }
    options["calm"] = calm(setting)
    arrays: dict[str, npt.NDArray[Any]]
    if package is None:
        arrays = {
            "start": batch["start"],
            **{f"image{k}": image for k, image in enumerate(batch["images"])},
        }
        outcome = run_worker(one["call"], arrays, {**options, "n_jobs": jobs_of(threads)}, threads)
        check_ours(one["name"], outcome)
    else:
        row["version"] = there[package]
        margin = declared()["rasl"]["margin"]
        pictures = cut_with_margin(batch["images"], batch["start"], Frame(*batch["frame"]), margin)
        arrays = {f"cut{k}": picture for k, picture in enumerate(pictures)}
        options["margin"] = margin
        outcome = run_worker(one["call"], arrays, options, threads, setting.peers)
    return [{**row, **outcome.figures, **_ends(outcome)}]


def _toolbox(setting: Setting, toolbox: Toolbox | None, row: dict[str, Any]) -> Rows:
    """The published toolbox, if there is a copy; else the seconds that were stated."""
    found = {"set": row["name"], "implementation": TOOLBOX, "ours": False, "threads": 1}
    if toolbox is None or setting.data is None:
        return [{**found, "state": "stated", "median": row["stated"]}]
    outcome = toolbox.run(existing(setting.data / "rasl" / row["name"]), calm(setting))
    ends, digits = _ends(outcome), declared()["rasl"]["toolbox_digits"]
    if ends and abs(ends["objective"] - row["toolbox_end"]) > digits * row["toolbox_end"]:
        outcome = Outcome(
            f"ended at {ends['objective']:g}, not at {row['toolbox_end']:g} as elsewhere"
        )
    return [{**found, "version": toolbox.version, **outcome.figures, **ends}]


def _ends(outcome: Outcome) -> dict[str, Any]:
    """Where an alignment ended, if it did."""
    if outcome.found is None:
        return {}
    return {"objective": float(outcome.found["objective"]), "outer": int(outcome.found["outer"])}
