"""Make a plate, restored pictures and masks at full size: peak memory, time, and error.

    python tests/full_size.py plate restore video --out figures.json

``plate`` and ``restore``: 20 generated photographs of 2000 x 1500 pixels and 16 bits, taken by hand
through homographies, with people, branches and another exposure each, are aligned and then put
together, or freed of what is in front, by the commands. ``video`` and ``still``: 150 generated
frames of 1920 x 1080 with two people who walk by, as a film, from a camera that pans or stands
still. Commands run in processes of their own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import ndimage

from many_frames import Meter
from rankfold.datasets import Handheld, handheld, panning
from rankfold.families import FAMILIES, inverse, map_points
from rankfold.io import open_pictures, read_picture, write_picture, write_pictures
from rankfold.outputs.kernels import medians
from rankfold.outputs.warping import whole
from rankfold.runs import load_alignment
from rankfold.stack import Frame

COMMAND = [sys.executable, "-m", "rankfold"]
SIZE = (1500, 2000)
COUNT = 20
HD = (1080, 1920)
FRAMES = 150

# A ghost: an error of the mean over a patch of so many pixels a side.
PATCH = 5


def measured(words: list[str], place: Path) -> dict[str, object]:
    """Run a command; its seconds, the peak of its memory, and what it says."""
    began = time.monotonic()
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    meter = Meter(process.pid)
    said, errors = process.communicate()
    peak = meter.stop()
    if process.returncode:
        raise SystemExit(f"{words} ended with {process.returncode}: {errors}")
    return {
        "seconds": round(time.monotonic() - began, 1),
        "peak_gib": round(peak / 2**30, 2),
        "said": said.strip(),
    }


def photographs(place: Path) -> Handheld:
    """Write the photographs and align them."""
    views = handheld(COUNT, SIZE, np.uint16, seed=5)
    (place / "photos").mkdir(parents=True)
    for k, picture in enumerate(views.images):
        write_picture(place / "photos" / f"{k:02d}.tif", picture, np.uint16)
    measured(["align", "photos", "-t", "homography", "-o", "run", "--no-pictures"], place)
    return views


def plate(views: Handheld, place: Path) -> dict[str, object]:
    """The plate against the scene, beside the per-pixel median of the aligned originals."""
    figures = measured(["plate", "run", "photos", "-o", "plate.tif"], place)
    stored = read_picture(place / "plate.tif")
    figures["type"] = str(stored.dtype)
    grid = Frame(*stored.shape[:2])
    transforms = (
        load_alignment(place / "run")
        .plate(open_pictures(place / "photos"), n_jobs=2, memory_limit="1G")
        .transforms
    )
    # All pictures say where the plate lies in the scene; the gauge is free.
    to_scene = inverse(views.transforms) @ transforms
    corners = map_points(to_scene, np.tile(grid.corners, (COUNT, 1, 1)))
    matrix = FAMILIES["homography"].fit(grid.corners, np.median(corners, axis=0))
    truth, known = whole(views.scene, None, matrix, grid)
    pictures = [
        whole(image, None, T, grid, 65535.0)
        for image, T in zip(views.images, transforms, strict=True)
    ]
    middle = np.empty_like(truth)
    for first in range(0, grid.height, 64):
        rows = np.s_[first : first + 64]
        values = np.stack([values[:, rows] for values, _ in pictures])
        valid = np.stack([ok[rows] for _, ok in pictures]).astype(np.float32)
        middle[:, rows] = medians(values, valid)
    clean = np.moveaxis(stored, -1, 0) / 65535.0
    where = known & np.isfinite(middle).all(axis=0) & (stored.max(axis=2) > 0)
    figures["plate"] = against(clean, truth, where)
    figures["median"] = against(middle, truth, where)
    return figures


def against(clean: np.ndarray, truth: np.ndarray, where: np.ndarray) -> dict[str, float]:
    """PSNR, and the largest error of a patch, after the best gain and offset of every colour."""
    error = np.zeros(truth.shape)
    for c in range(len(truth)):
        seen = clean[c][where]
        design = np.column_stack([seen, np.ones(len(seen))])
        best = np.linalg.lstsq(design, truth[c][where], rcond=None)[0]
        error[c][where] = design @ best - truth[c][where]
    squared = (error[:, where] ** 2).mean()
    patches = ndimage.uniform_filter(np.abs(error).max(axis=0), PATCH)
    return {
        "psnr": round(float(-10 * np.log10(squared)), 2),
        "largest_patch_error": round(float(patches.max()), 4),
    }


def restore(views: Handheld, place: Path) -> dict[str, object]:
    """Restored pictures: hidden pixels against the scene, the others against the originals."""
    figures = measured(["restore", "run", "photos", "-o", "restored"], place)
    changed = 0
    squared = []
    for k, picture in enumerate(open_pictures(place / "restored" / "restored").pictures()):
        hidden = views.hidden[k]
        scene, known = whole(views.scene, None, inverse(views.transforms[k]), Frame(*hidden.shape))
        lit = views.gains[k] * scene + views.offsets[k]
        error = np.moveaxis(picture.values / 65535.0, -1, 0) - np.clip(lit, 0, 1)
        squared.append((error[:, hidden & known] ** 2).mean())
        same = (picture.values == views.images[k]).all(axis=2)
        changed += int((~same & ~ndimage.binary_dilation(hidden, iterations=12)).sum())
    figures["psnr_hidden"] = round(float(-10 * np.log10(np.mean(squared))), 2)
    figures["changed_far_from_hidden_share"] = changed / (COUNT * np.prod(SIZE))
    return figures


def video(place: Path, moves: bool) -> dict[str, object]:
    """Masks and background of a film at full size."""
    name = "pan" if moves else "still"
    film = panning(FRAMES, HD, moves=moves, seed=3)
    (place / name).mkdir(parents=True)
    first = place / name / "first.png"
    write_picture(first, film.images[0])
    like = open_pictures(place / name)
    names = tuple(f"{k:05d}" for k in range(FRAMES))
    write_pictures(place / name, names, iter(film.images), like, "video")
    camera = "moving" if moves else "still"
    words = ["mask", f"{name}.mp4", "-o", f"{name}-masks", "--camera", camera]
    figures = measured([*words, "--max-memory", "1G"], place)
    agreed = 0
    ours = 0
    truth = 0
    masks = open_pictures(place / f"{name}-masks" / "masks.mp4")
    for mask, hidden in zip(masks.pictures(), film.hidden, strict=True):
        found = np.atleast_3d(mask.values)[..., 0] > 127
        agreed += int((found & hidden).sum())
        ours += int(found.sum())
        truth += int(hidden.sum())
    figures["f"] = round(2 * agreed / (ours + truth), 3)
    return figures


def say(figures: dict[str, object]) -> None:
    """Write figures on a line of their own."""
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run what was asked for and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="+", choices=["plate", "restore", "video", "still"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--place", type=Path, help="keep what is made in this folder")
    arguments = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        place = arguments.place or Path(folder)
        on_photographs: dict[str, Callable[..., dict[str, object]]] = {
            "plate": plate,
            "restore": restore,
        }
        chosen = [name for name in arguments.what if name in on_photographs]
        if chosen:
            views = photographs(place)
            for name in chosen:
                found[name] = on_photographs[name](views, place)
                say({name: found[name]})
        for name, moves in (("video", True), ("still", False)):
            if name in arguments.what:
                found[name] = video(place, moves)
                say({name: found[name]})
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
