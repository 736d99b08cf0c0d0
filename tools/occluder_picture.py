"""Make docs/pictures/occluders.png: heads with glasses and scarves, with and without the stage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

import rankfold as rf
from rankfold.datasets import rendered_heads

TARGET = Path(__file__).parents[1] / "docs" / "pictures" / "occluders.png"
ZOOM = 3
GAP = 4
SHOWN = 8


def main() -> None:
    """Align the same heads twice and lay some of them in three rows."""
    batch = rendered_heads(40, lights=45.0, worn={"glasses": 0.25, "scarf": 0.4}, seed=4)
    options = {"frame": batch.frame, "init": batch.start}
    found = rf.align(batch.images, **options)
    kept = rf.align(batch.images, shared=0, **options)
    # The two finds by turns, then a picture without any.
    pairs = zip(*(one.pictures for one in found.occluders), strict=False)
    by_turns = [k for pair in pairs for k in pair]
    free = [k for k in range(40) if not batch.hidden[k].any()]
    chosen = [*by_turns[: SHOWN - 2], *free[:2]]
    rows = [part[chosen] for part in (found.aligned, kept.low_rank, found.low_rank)]
    tiles = [
        np.pad(np.nan_to_num(row), ((0, 0), (0, GAP), (0, GAP)), constant_values=1.0)
        for row in rows
    ]
    sheet = np.vstack([np.hstack(list(row)) for row in tiles])[:-GAP, :-GAP]
    shown = np.clip(255 * sheet, 0, 255).astype(np.uint8)
    Image.fromarray(shown.repeat(ZOOM, axis=0).repeat(ZOOM, axis=1)).save(TARGET, optimize=True)


if __name__ == "__main__":
    main()
