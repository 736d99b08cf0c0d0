"""RASL on its published sets, against ``rasl`` from PyPI and the published toolbox."""

from __future__ import annotations

from collections.abc import Callable
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
    """Return one task for every round, set, number of threads and implementation."""
    table = declared()["rasl"]
    packages = [one["package"] for one in table["implementations"] if "package" in one]
    there = {} if setting.quick else installed(setting.peers, packages)
    # A generated set where there are no data.
    sets = table["sets"] if setting.data is not None else [{"name": "heads"}]
    # Every set is read once, by the first that needs it.
    readers = {row["name"]: cache(partial(_read, row["name"], setting)) for row in sets}
    toolbox = None
    if setting.octave_rasl is not None and setting.data is not None:
        toolbox = Toolbox.at(setting.octave_rasl)
    found: list[Task] = []
    for turn, row in product(range(setting.repeats), sets):
        read = readers[row["name"]]
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
    setting: Setting,
    read: Callable[[], dict[str, Any]],
    one: dict[str, Any],
    there: dict[str, str],
    threads: int,
) -> Rows:
    """Measure one implementation on one set; one row."""
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
        "family": batch["family"],
        "frame": batch["frame"],
        "sparsity_weight": batch["sparsity_weight"],
        "calm": calm(setting),
    }
    if package is None:
        options["n_jobs"] = jobs_of(threads)
        outcome = run_worker(one["call"], _ours(batch), options, threads)
        check_ours(one["name"], outcome)
    else:
        row["version"] = there[package]
        options["margin"] = declared()["rasl"]["margin"]
        cuts = _cut(batch, options["margin"])
        outcome = run_worker(one["call"], cuts, options, threads, setting.peers)
    return [{**row, **outcome.figures, **_ends(outcome)}]


def _ours(batch: dict[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """Return what our worker is given: the start, and the pictures as they are."""
    pictures = {f"image{k}": image for k, image in enumerate(batch["images"])}
    return {"start": batch["start"], **pictures}


def _cut(batch: dict[str, Any], margin: int) -> dict[str, npt.NDArray[Any]]:
    """Return what a peer's worker is given: the pictures as they lie at the start."""
    frame = Frame(*batch["frame"])
    pictures = cut_with_margin(batch["images"], batch["start"], frame, margin)
    return {f"cut{k}": picture for k, picture in enumerate(pictures)}


def _toolbox(setting: Setting, toolbox: Toolbox | None, row: dict[str, Any]) -> Rows:
    """The published toolbox, if there is a copy; else the seconds that were stated."""
    found = {"set": row["name"], "implementation": TOOLBOX, "ours": False, "threads": 1}
    if toolbox is None or setting.data is None:
        return [{**found, "state": "stated", "median": row["stated"]}]
    outcome = toolbox.run(existing(setting.data / "rasl" / row["name"]), calm(setting))
    ends = _ends(outcome)
    digits = declared()["rasl"]["toolbox_digits"]
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
