"""How the time of an inner iteration grows with the pixels and with the images."""

from __future__ import annotations

import os
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.inputs import generated
from rankfold_lab.bench.iteration import seconds_per_iteration
from rankfold_lab.bench.process import calm
from rankfold_lab.bench.setting import Rows, Setting, Task
from rankfold_lab.bench.worker import wait_until

# Arrays of the size of the matrix that are alive at once, with some room.
ARRAYS = 12


def tasks(setting: Setting) -> list[Task]:
    """Return one task for every size and round."""
    found: list[Task] = []
    for turn, curve in product(range(setting.repeats), declared()["growth"]["curves"]):
        fixed = setting.pick(curve, "fixed")
        for size in setting.pick(curve, "sizes"):
            n, m = (fixed, size) if curve["axis"] == "pixels" else (size, fixed)
            label = f"round {turn + 1}: growth, {n} x {m:,}"
            found.append((label, partial(_measure, setting, curve, n, m)))
    return found


def exponent(rows: Rows, axis: str) -> float:
    """Slope of log(seconds) over log(size), by least squares; NaN for fewer than two sizes."""
    chosen = [row for row in rows if row["axis"] == axis and row.get("seconds")]
    if len(chosen) < 2:
        return float("nan")
    sizes = np.log([row[axis] for row in chosen])
    seconds = np.log([row["seconds"] for row in chosen])
    return float(np.polyfit(sizes, seconds, 1)[0])


def _measure(setting: Setting, curve: dict[str, Any], n: int, m: int) -> Rows:
    """One thread, a few iterations."""
    row = {"axis": curve["axis"], "images": n, "pixels": m}
    needed = 8 * n * m * ARRAYS
    if needed > _free_memory():
        return [{**row, "state": f"needs {needed / 1e9:.0f} GB of memory"}]
    table = declared()["growth"]
    X = generated(n, m, table["rank"], table["corrupted"])
    # A small run compiles.
    seconds_per_iteration(X[:, :400].copy(), 2, 1)
    wait_until(calm(setting))
    seconds, _ = seconds_per_iteration(X, curve["iterations"], 1)
    return [{**row, "state": "measured", "seconds": seconds}]


def _free_memory() -> float:
    """Bytes that are free; infinity where the system does not say."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")
