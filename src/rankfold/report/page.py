"""Data and figures into one self-contained HTML file: pictures in sprites, no network, nothing unescaped."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from rankfold import __version__
from rankfold.align.scores import FAILED
from rankfold.errors import InputError
from rankfold.report.data import Bytes, ReportData, report_data
from rankfold.runs import Run, open_run

SMALL = 88  # long side of a picture in the grid, px
SMALL_SHEET = 100  # pictures in one sprite
LARGE_SHEET = 24


def write_report(run: str | Path | Run, path: str | Path | None = None) -> Path:
    """Write the report of a run; ``report.html`` in its folder by default.

    Needs matplotlib and jinja2: ``pip install rankfold[report]``.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    target = opened.path / "report.html" if path is None else Path(path)
    target.write_text(render(report_data(opened)), encoding="utf-8", errors="replace")
    return target


def render(data: ReportData) -> str:
    """The page as text."""
    try:
        from jinja2 import Environment, StrictUndefined

        from rankfold.report import figures
    except ImportError as error:
        raise InputError(
            "a report needs matplotlib and jinja2; run `pip install rankfold[report]`"
        ) from error
    try:
        plots = [
            ("Convergence", figures.convergence(data.trace)),
            ("Singular values", figures.singular_values(data.spectra)),
        ]
        if data.outlines is not None:
            plots += [
                ("Where the frames went", figures.transforms(data.outlines, data.failed)),
                (
                    f"Scores (above {FAILED}: failed)",
                    figures.scores(np.array([c.score for c in data.cards]), FAILED),
                ),
            ]
    except ImportError as error:
        raise InputError(
            "a report needs matplotlib and jinja2; run `pip install rankfold[report]`"
        ) from error
    side = 320 if len(data.cards) <= 60 else 224 if len(data.cards) <= 300 else 128
    payload = {
        "cards": [asdict(card) for card in data.cards],
        "kinds": data.kinds,
        "small": {key: sheets(tiles, SMALL, SMALL_SHEET) for key, tiles in data.tiles.items()},
        "large": {key: sheets(tiles, side, LARGE_SHEET) for key, tiles in data.tiles.items()},
    }
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(
        resources.files("rankfold.report").joinpath("page.html").read_text("utf-8")
    )
    return template.render(
        data=data,
        plots=plots,
        averages=[
            (caption, _uri(_fit(picture, 320, grow=True))) for caption, picture in data.averages
        ],
        # inside a script element only "<" could end it
        payload=json.dumps(payload, separators=(",", ":")).replace("<", "\\u003c"),
        version=__version__,
    )


def sheets(tiles: list[Bytes], side: int, per_sheet: int) -> dict[str, Any]:
    """Pictures packed into sprites: all in boxes of one size, each at the top left of its box."""
    fitted = [_fit(tile, side) for tile in tiles]
    height, width = (max(tile.shape[axis] for tile in fitted) for axis in (0, 1))
    columns = int(np.ceil(np.sqrt(min(per_sheet, len(tiles)))))
    uris = []
    for first in range(0, len(fitted), per_sheet):
        some = fitted[first : first + per_sheet]
        rows = -(-len(some) // columns)
        sheet = np.zeros((rows * height, columns * width, 3), np.uint8)
        for k, tile in enumerate(some):
            top, left = k // columns * height, k % columns * width
            sheet[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
        uris.append(_uri(sheet))
    sizes = [[tile.shape[1], tile.shape[0]] for tile in fitted]
    return {
        "uris": uris,
        "columns": columns,
        "box": [width, height],
        "per": per_sheet,
        "sizes": sizes,
    }


def _fit(picture: Bytes, side: int, grow: bool = False) -> Bytes:
    """At most ``side`` px long; with ``grow`` small ones are enlarged by a whole factor."""
    from PIL import Image

    h, w = picture.shape[:2]
    factor = side / max(h, w)
    if factor < 1:
        image = Image.fromarray(picture)
        shape = (max(round(w * factor), 1), max(round(h * factor), 1))
        return np.asarray(
            image.resize(shape, Image.Resampling.BOX if factor < 0.5 else Image.Resampling.BILINEAR)
        )
    k = int(factor) if grow else 1
    return np.asarray(picture.repeat(k, axis=0).repeat(k, axis=1)) if k > 1 else picture


def _uri(picture: Bytes) -> str:
    """A picture as a data URI."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(picture).save(out, "WEBP", quality=86, method=4)
    return "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode()
