"""The trace of a run as rows, one for each iteration, as ``trace.jsonl`` has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from typing import Any

from rankfold.runs.display import Array
from rankfold.status import Trace


def trace_lines(trace: Trace) -> Iterator[dict[str, Any]]:
    """Give every iteration as a dictionary of plain values.

    Parameters
    ----------
    trace : Trace

    Yields
    ------
    dict
        ``level`` is "inner" or "outer". An outer iteration follows its inner ones. A gap of which
        nothing is known is None, because NaN is no word of JSON.
    """
    inner = _rows(trace.inner)
    outer_by_number = {int(row["outer"]): row for row in _rows(trace.outer)}
    for k, row in enumerate(inner):
        yield {"level": "inner", **row}
        number = int(row["outer"])
        # Inner iterations of the last decomposition have the number -1 and no outer iteration.
        is_last = k + 1 == len(inner) or inner[k + 1]["outer"] != row["outer"]
        if is_last and number in outer_by_number:
            yield {"level": "outer", **outer_by_number[number]}


def _rows(columns: Mapping[str, Array]) -> list[dict[str, Any]]:
    """Turn columns of one length into rows of plain values; no columns into no rows."""
    if not columns:
        return []
    length = len(next(iter(columns.values())))
    rows = [{name: column[k].tolist() for name, column in columns.items()} for k in range(length)]
    for row in rows:
        if "gap" in row and isnan(row["gap"]):
            row["gap"] = None
    return rows
