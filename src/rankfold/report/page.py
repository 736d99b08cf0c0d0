"""Data and figures into one self-contained HTML file: no network, and all text escaped.

The pictures travel in *sprites*: sheets of many small pictures, of which the page shows one box
each. The page then loads far fewer images.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import InputError
from rankfold.neutral import plain
from rankfold.report.content import ReportData
from rankfold.report.data import report_data
from rankfold.report.figures import drawn
from rankfold.report.html import as_uri, fitted, look, template
from rankfold.report.pictures import Bytes
from rankfold.runs import Run, check_no_original, open_run
from rankfold.runs.starts import percent
from rankfold.storage import check_free, whole_file
from rankfold.version import __version__

# What the report of a run is called.
REPORT = "report.html"

# Unit: px. Long side of a picture in the grid, and of an average.
SMALL = 88
AVERAGE = 320

# Unit: px. Long side of a picture in the large view, for up to so many pictures; the file would
# grow too large otherwise.
LARGE = {60: 320, 300: 224}
LARGE_FOR_MORE = 128

# How many pictures are in one sprite.
SMALL_SHEET = 100
LARGE_SHEET = 24


def write_report(
    run: str | Path | Run, path: str | Path | None = None, overwrite: bool = False
) -> Path:
    """Write the report of a run and return its path.

    Needs matplotlib and jinja2: ``pip install rankfold[report]``.

    Parameters
    ----------
    run : str, Path or Run
        A run, or its folder.
    path : str or Path, optional
        The file to write; ``report.html`` in the run's folder by default, in the place of an
        earlier one.
    overwrite : bool
        Replace another file that is there.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    own = opened.path / REPORT
    target = own if path is None else Path(path)
    is_own = target.absolute() == own.absolute()
    if not is_own:
        check_free(target, overwrite)
        check_no_original(target, opened.path, opened.config)
    text = render(report_data(opened))
    with whole_file(target, overwrite, ours=is_own) as draft:
        # What is left of bytes that are no text becomes question marks.
        draft.write_text(text, encoding="utf-8", errors="replace")
    return target


def render(data: ReportData) -> str:
    """Return the page as text."""
    try:
        page = template("page.html")
        plots = drawn(data)
    except ImportError as error:
        raise InputError(
            "a report needs matplotlib and jinja2; run `pip install rankfold[report]`"
        ) from error
    averages = []
    for caption, picture in data.averages:
        averages.append((caption, as_uri(fitted(picture, AVERAGE, grow=True))))
    occluders = []
    for sentence, picture in data.occluders:
        occluders.append((sentence, as_uri(fitted(picture, AVERAGE, grow=True))))
    panels = []
    for panel in data.panels:
        pictures = [
            (caption, as_uri(fitted(picture, AVERAGE, grow=True)))
            for caption, picture in panel.pictures
        ]
        panels.append((panel, pictures))
    text = page.render(
        look=look(),
        data=data,
        plots=plots,
        averages=averages,
        occluders=occluders,
        panels=panels,
        percent=percent,
        payload=_payload(data),
        version=__version__,
    )
    return str(text)


def _payload(data: ReportData) -> str:
    """What the page's script reads, as JSON that can stand in a script element."""
    count = len(data.cards)
    sides = [side for limit, side in LARGE.items() if count <= limit]
    large = sides[0] if sides else LARGE_FOR_MORE
    payload = {
        "cards": [{**asdict(card), "name": plain(card.name)} for card in data.cards],
        "kinds": data.kinds,
        "small": {key: sheets(tiles, SMALL, SMALL_SHEET) for key, tiles in data.tiles.items()},
        "large": {key: sheets(tiles, large, LARGE_SHEET) for key, tiles in data.tiles.items()},
    }
    # Inside a script element only "<" could end it.
    return json.dumps(payload, separators=(",", ":")).replace("<", "\\u003c")


def sheets(tiles: list[Bytes], side: int, per_sheet: int) -> dict[str, Any]:
    """Pack pictures into sprites: boxes of one size, each picture at the top left of its box.

    Parameters
    ----------
    tiles : list of (h, w, 3) arrays
    side : int
        Longest side of a picture in the sprite, in px.
    per_sheet : int
        How many pictures are in one sprite.

    Returns
    -------
    dict
        ``uris`` of the sprites, ``columns`` of boxes in each, the ``box`` as [width, height], how
        many pictures are in a sprite (``per``) and their ``sizes`` as [width, height].
    """
    small = [fitted(tile, side) for tile in tiles]
    height = max(tile.shape[0] for tile in small)
    width = max(tile.shape[1] for tile in small)
    columns = int(np.ceil(np.sqrt(min(per_sheet, len(tiles)))))
    uris = []
    for first in range(0, len(small), per_sheet):
        sheet = _sheet(small[first : first + per_sheet], height, width, columns)
        uris.append(as_uri(sheet))
    return {
        "uris": uris,
        "columns": columns,
        "box": [width, height],
        "per": per_sheet,
        "sizes": [[tile.shape[1], tile.shape[0]] for tile in small],
    }


def _sheet(tiles: list[Bytes], height: int, width: int, columns: int) -> Bytes:
    """One sprite: pictures (h, w, 3) in boxes of ``height`` x ``width``, row by row."""
    rows = -(-len(tiles) // columns)
    sheet = np.zeros((rows * height, columns * width, 3), np.uint8)
    for k, tile in enumerate(tiles):
        top = k // columns * height
        left = k % columns * width
        sheet[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
    return sheet
