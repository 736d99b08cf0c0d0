"""Which times count: those of runs whose objective is as good as the best, or as before."""

from __future__ import annotations

from typing import Any

from rankfold_lab.bench.declared import declared, rasl_set
from rankfold_lab.bench.setting import Rows


def gaps(rows: Rows) -> list[float | None]:
    """Return how far the objective of every row lies above the least of its matrix, relative."""
    found = []
    for row in rows:
        known = [r["objective"] for r in rows if r["matrix"] == row["matrix"] and "objective" in r]
        least = min(known, default=None)
        found.append(row["objective"] / least - 1 if "objective" in row and least else None)
    return found


def counting(rows: Rows) -> list[bool]:
    """Return whether the time of a row counts: its objective is as good as the best one found."""
    bar = declared()["bars"]["objective_gap"]
    return [gap is not None and gap <= bar for gap in gaps(rows)]


def no_worse(row: dict[str, Any]) -> bool | None:
    """Return whether an alignment ends no worse than before; None for a set not declared."""
    names = [one["name"] for one in declared()["rasl"]["sets"]]
    if "objective" not in row or row["set"] not in names:
        return None
    before = rasl_set(row["set"])["before"]
    return bool(row["objective"] <= before + declared()["rasl"]["digits"])
