"""Implementations take turns, round after round: a machine that is busy for a while slows all.

A ratio is the median over the rounds of the ratio within a round; a time is the median over the
rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankfold_lab.bench.setting import Rows
from rankfold_lab.timing import paired

# Rows with one of these come once a round; the others are left as they are.
TURNS = {"implementation", "axis"}
# Rows that agree in all of these are rounds of the same.
SAME = ("matrix", "set", "implementation", "threads", "axis", "images", "pixels")


def merged(rows: Rows) -> Rows:
    """Return one row for every implementation or size, in the order in which they came first."""
    found: dict[Any, Rows] = {}
    for k, row in enumerate(rows):
        key: Any = tuple(row.get(name) for name in SAME) if TURNS & row.keys() else k
        found.setdefault(key, []).append(row)
    return [_together(turns) if len(turns) > 1 else turns[0] for turns in found.values()]


def _together(turns: Rows) -> dict[str, Any]:
    """The rounds of one implementation or size; one that failed in a round has failed."""
    bad = [row for row in turns if row["state"] != "measured"]
    if bad:
        return bad[0]
    if "axis" in turns[0]:
        return {**turns[0], "seconds": float(np.median([row["seconds"] for row in turns]))}
    seconds = [row["median"] for row in turns]
    memory = max((row["memory"] for row in turns if row["memory"] is not None), default=None)
    return {**turns[-1], "seconds": seconds, "median": float(np.median(seconds)), "memory": memory}


def ratio(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Time of a row over that of another."""
    if len(one.get("seconds", [])) == len(other.get("seconds", [])) > 0:
        return paired(one["seconds"], other["seconds"])
    return float(one["median"] / other["median"])
