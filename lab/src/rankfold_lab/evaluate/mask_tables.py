"""The log of ``masks`` as tables: the clips, and how well each row finds what moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankfold_lab.evaluate.logs import Record
from rankfold_lab.evaluate.masks import ROWS, Counts
from rankfold_lab.evaluate.place_tables import markdown

Records = Sequence[Record]

ABSENT = "not installed"
NOTE = (
    "The pixels of all labelled frames of a clip are counted together. The rows of rankfold are as "
    "it comes, one setting for all clips; their seconds include the placing of the frames. The "
    "others are given that placing, see the clip twice, and their shadows count as background. The "
    "threshold of the median is the best one in hindsight on each clip, which nobody knows "
    "beforehand. One thread."
)


def page(records: Records) -> str:
    """Return all tables as markdown."""
    return "\n\n".join([clip_table(records), mask_table(records), NOTE]) + "\n"


def clip_table(records: Records) -> str:
    """Tell what the clips are."""
    heads = ["clip", "frames", "size", "labelled", "camera", "placing, s a frame"]
    rows = []
    for record in {record["clip"]: record for record in records}.values():
        height, width = record["shape"]
        camera = "moves" if record["moves"] else "stands still"
        numbers = [str(record["frames"]), f"{height} x {width}", str(record["labelled"])]
        rows.append([record["clip"], *numbers, camera, f"{record['placing']:.3f}"])
    return markdown(heads, rows)


def mask_table(records: Records) -> str:
    """Tell F, precision and recall of every row on every clip, and the mean over the clips."""
    heads = ["clip", "row", "F", "precision", "recall", "s a frame"]
    clips = list(dict.fromkeys(record["clip"] for record in records))
    rows = []
    for clip in clips:
        by_row = {record["row"]: record for record in records if record["clip"] == clip}
        for row in ROWS:
            rows.append([clip, *_cells(row, [by_row[row]] if row in by_row else [])])
    if len(clips) > 1:
        for row in ROWS:
            some = [record for record in records if record["row"] == row]
            complete = len({record["clip"] for record in some}) == len(clips)
            rows.append([f"mean of {len(clips)}", *_cells(row, some if complete else [])])
    return markdown(heads, rows)


def _cells(row: str, records: Records) -> list[str]:
    """A row's name, F, precision, recall and seconds: means over records."""
    if not records:
        return [row, ABSENT, "–", "–", "–"]
    counts = [Counts(record["found"], record["wrong"], record["missed"]) for record in records]
    name = row
    if len(records) == 1 and "threshold" in records[0]:
        name = f"{row} ({records[0]['threshold']})"
    shares = [
        np.mean([one.f for one in counts]),
        np.mean([one.precision for one in counts]),
        np.mean([one.recall for one in counts]),
    ]
    seconds = np.mean([record["seconds"] for record in records])
    return [name, *(_share(float(value)) for value in shares), f"{seconds:.3f}"]


def _share(value: float) -> str:
    """Three digits; a dash where there is nothing to take a share of."""
    return "–" if np.isnan(value) else f"{value:.3f}"
