"""The log of ``places`` as tables: verdicts, portraits, planes, windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold_lab.evaluate.logs import Record
from rankfold_lab.evaluate.places import RUNS

Records = Sequence[Record]
Bools = npt.NDArray[np.bool_]

# Shares of a batch that are lost: more than the first, up to the second.
SHARES = {
    "nothing": (-1.0, 0.0),
    "up to a tenth": (0.0, 0.1),
    "up to a half": (0.1, 0.5),
    "more": (0.5, 1.0),
}


def page(records: Records) -> str:
    """Return all tables as markdown."""
    parts = [verdict_table(records), batch_table(records)]
    for build, name in ((portrait_table, "portraits"), (plane_table, "planes")):
        some = [record for record in records if record["set"] == name]
        if some:
            parts.append(build(some))
    some = [record for record in records if record["set"] == "windows"]
    if some:
        parts.append(window_table(some))
    return "\n\n".join(parts) + "\n"


def lost(record: Record) -> Bools:
    """Say which pictures (n,) are lost."""
    return np.asarray(np.array(record["off"]) > record["limit"])


def flagged(record: Record) -> Bools:
    """Say which pictures (n,) are doubtful or failed."""
    return np.asarray(np.array(record["verdicts"]) != "placed")


def flagged_in_0_1(record: Record) -> Bools:
    """Say which pictures (n,) the rule of version 0.1 calls failed."""
    return np.array(record["failed_in_0_1"])


def verdict_table(records: Records) -> str:
    """Tell recall and false alarms of both rules, for every set and for all of them."""
    heads = [
        "set", "pictures", "lost", "found", "false alarms", "found by 0.1", "its false alarms"
    ]  # fmt: skip
    names = list(dict.fromkeys(record["set"] for record in records))
    groups = {name: [r for r in records if r["set"] == name] for name in names}
    groups["all"] = list(records)
    groups["all but portraits"] = [r for r in records if r["set"] != "portraits"]
    groups["batches in which nothing is lost"] = [r for r in records if not lost(r).any()]
    rows = []
    for name, some in groups.items():
        if some:
            new = rates(some, flagged)
            earlier = rates(some, flagged_in_0_1)
            total = sum(len(record["off"]) for record in some)
            count = sum(int(lost(record).sum()) for record in some)
            rows.append([name, str(total), str(count), *new, *earlier])
    return markdown(heads, rows)


def rates(records: Records, flag: Callable[[Record], Bools]) -> list[str]:
    """Return the share of lost pictures that are flagged, and of the others, as text."""
    is_lost = np.concatenate([lost(record) for record in records])
    is_flagged = np.concatenate([flag(record) for record in records])
    return [_share(is_flagged[is_lost]), _share(is_flagged[~is_lost])]


def _share(values: Bools) -> str:
    """The share of True; a dash where there is nothing."""
    return f"{values.mean():.1%}" if len(values) else "–"


def batch_table(records: Records) -> str:
    """Tell how many batches got which verdict, by how many of their pictures are lost."""
    words = ["good", "partial", "only roughly", "failed"]
    rows = []
    for label, (above, most) in SHARES.items():
        some = [record for record in records if above < lost(record).mean() <= most]
        counts = [sum(record["verdict"] == word for record in some) for word in words]
        rows.append([label, *map(str, counts)])
    return markdown(["lost", *words], rows)


def portrait_table(records: Records) -> str:
    """Tell how far landmarks lie apart before and after, for every person."""
    rows = []
    for person, ways in _by_scene(records).items():
        before = np.mean(ways["default"]["before"])
        spread = {way: float(np.mean(record["off"])) for way, record in ways.items()}
        ratio = spread["default"] / spread["RASL"]
        values = [f"{spread[way]:.2f}" for way in RUNS]
        verdict = ways["default"]["verdict"]
        rows.append([person.replace("_", " "), f"{before:.2f}", *values, f"{ratio:.2f}", verdict])
    return markdown(["person", "before", *RUNS, "default : RASL", "verdict"], rows)


def plane_table(records: Records) -> str:
    """Tell the errors of the corners of views 2 to 6, px of the originals, and what was said."""
    rows = []
    for record in records:
        errors = ", ".join(f"{error:.1f}" for error in record["corners"])
        failed = record["verdicts"].count("failed")
        rows.append([record["scene"], record["run"], errors, record["verdict"], str(failed)])
    return markdown(["plane", "run", "corners of views 2 to 6, px", "verdict", "failed"], rows)


def window_table(records: Records) -> str:
    """Tell how far the hand-picked points are off, frame px, and what was said."""
    rows = []
    for record in records:
        off = np.array(record["off"])
        missed = int((lost(record) & ~flagged(record)).sum())
        numbers = [f"{np.median(off):.2f}", f"{off.max():.2f}", str(int(lost(record).sum()))]
        rows.append([record["scene"], record["run"], *numbers, str(missed), record["verdict"]])
    heads = ["frame", "run", "median, px", "largest", "lost", "of these not flagged", "verdict"]
    return markdown(heads, rows)


def _by_scene(records: Records) -> dict[str, dict[str, Record]]:
    """Group records by their scene and then by their run."""
    scenes: dict[str, dict[str, Any]] = {}
    for record in records:
        scenes.setdefault(record["scene"], {})[record["run"]] = record
    return scenes


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as markdown."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)
