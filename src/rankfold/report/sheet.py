"""A contact sheet: one row for the inputs, one for each thing that became of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rankfold.errors import InputError
from rankfold.report.data import report_data
from rankfold.report.pictures import Bytes
from rankfold.runs import Run, check_no_original, open_run
from rankfold.storage import check_free, whole_file

# Unit: px. White space between pictures.
GAP = 6

ENDINGS = (".png", ".jpg", ".jpeg", ".webp")


def write_sheet(
    run: str | Path | Run,
    path: str | Path,
    columns: int = 10,
    side: int = 96,
    overwrite: bool = False,
) -> Path:
    """Write a picture that shows some pictures of a run, in rows by kind, and return its path.

    Parameters
    ----------
    run : str, Path or Run
        A run, or its folder.
    path : str or Path
        The file to write; its ending says the format.
    columns : int
        How many pictures to show; they are spread evenly over the run.
    side : int
        Longest side of each, in px.
    overwrite : bool
        Replace a file that is there.
    """
    from PIL import Image

    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise InputError(f"{target.name} has no ending of a picture; end it in .png or .jpg")
    check_free(target, overwrite)
    opened = run if isinstance(run, Run) else open_run(run)
    check_no_original(target, opened.path, opened.config)
    data = report_data(opened)
    count = min(columns, len(data.cards))
    chosen = np.linspace(0, len(data.cards) - 1, count).round().astype(int)
    rows = []
    for key, _ in data.kinds:
        tiles = data.tiles[key]
        rows.append([_scaled(tiles[k], side) for k in chosen])
    with whole_file(target, overwrite) as draft:
        Image.fromarray(_arranged(rows)).save(draft)
    return target


def _arranged(rows: list[list[Bytes]]) -> Bytes:
    """Rows of pictures (h, w, 3) on white, each in the middle of its column."""
    width = max(tile.shape[1] for row in rows for tile in row)
    heights = [max(tile.shape[0] for tile in row) for row in rows]
    sheet_height = sum(heights) + GAP * (len(rows) - 1)
    sheet_width = len(rows[0]) * (width + GAP) - GAP
    sheet = np.full((sheet_height, sheet_width, 3), 255, np.uint8)
    top = 0
    for row, height in zip(rows, heights, strict=True):
        for k, tile in enumerate(row):
            left = k * (width + GAP) + (width - tile.shape[1]) // 2
            sheet[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
        top += height + GAP
    return sheet


def _scaled(tile: Bytes, side: int) -> Bytes:
    """A picture (h, w, 3) with its long side at ``side`` px, up or down."""
    from PIL import Image

    h, w = tile.shape[:2]
    factor = side / max(h, w)
    # Pillow says width first.
    size = (max(round(w * factor), 1), max(round(h * factor), 1))
    return np.asarray(Image.fromarray(tile).resize(size, Image.Resampling.BICUBIC))
