"""A contact sheet: one row for the inputs, one for each thing that became of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rankfold.errors import InputError
from rankfold.report.data import Bytes, report_data
from rankfold.runs import Run, open_run

GAP = 6


def write_sheet(run: str | Path | Run, path: str | Path, columns: int = 10, side: int = 96) -> Path:
    """Write a picture with ``columns`` pictures of a run, spread evenly over it, in rows by kind."""
    from PIL import Image

    data = report_data(run if isinstance(run, Run) else open_run(run))
    count = min(columns, len(data.cards))
    chosen = np.linspace(0, len(data.cards) - 1, count).round().astype(int)
    rows = [[_scaled(data.tiles[key][k], side) for k in chosen] for key, _ in data.kinds]
    width = max(tile.shape[1] for row in rows for tile in row)
    heights = [max(tile.shape[0] for tile in row) for row in rows]
    sheet = np.full(
        (sum(heights) + GAP * (len(rows) - 1), count * (width + GAP) - GAP, 3), 255, np.uint8
    )
    top = 0
    for row, height in zip(rows, heights, strict=True):
        for k, tile in enumerate(row):
            left = k * (width + GAP) + (width - tile.shape[1]) // 2
            sheet[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
        top += height + GAP
    target = Path(path)
    if target.suffix.lower() not in (".png", ".jpg", ".jpeg", ".webp"):
        raise InputError(f"{target.name} has no ending of a picture; end it in .png or .jpg")
    Image.fromarray(sheet).save(target)
    return target


def _scaled(tile: Bytes, side: int) -> Bytes:
    """The long side at ``side`` px, up or down."""
    from PIL import Image

    factor = side / max(tile.shape[:2])
    size = (max(round(tile.shape[1] * factor), 1), max(round(tile.shape[0] * factor), 1))
    return np.asarray(Image.fromarray(tile).resize(size, Image.Resampling.BICUBIC))
