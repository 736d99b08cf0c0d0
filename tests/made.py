"""Small photographs and films on disk, and a run of the photographs."""

import numpy as np

from commands import QUICK, RESULT_ONLY, run
from rankfold.datasets import handheld, panning
from rankfold.io import open_pictures, read_picture, write_picture, write_pictures
from unit.io.samples import replace_path

SIZE = (72, 96)
COUNT = 6


def photographed(place, ending="png", count=COUNT):
    """Write photographs of a wall into ``place/photos`` and align them; ``place`` is returned."""
    walls = handheld(count, SIZE, seed=1)
    (place / "photos").mkdir()
    for k, image in enumerate(walls.images):
        write_picture(place / "photos" / f"{k:03d}.{ending}", image.astype(float))
    run("align", place / "photos", "-o", place / "run", "--frame", "36x48", *QUICK, *RESULT_ONLY)
    return place


def filmed(place, count=8):
    """Write the frames of a film from a camera that stands still into ``place/film``."""
    film = panning(count, (60, 80), moves=False, seed=3)
    (place / "film").mkdir()
    for k, image in enumerate(film.images):
        write_picture(place / "film" / f"{k:03d}.png", image.astype(float))
    return film


def as_video(film, path):
    """Write the same film as a video; the path has an ending."""
    folder = path.parent / f"{path.name}-frames"
    folder.mkdir()
    np.save(folder / "in.npy", np.stack(film.images))
    source = replace_path(open_pictures(folder / "in.npy"), path.name)
    values = np.stack(film.images).astype(float)
    return write_pictures(path.with_suffix(""), source.names, values, source, "video")


def pictures_in(folder):
    """Read the pictures of a folder by their names."""
    return {file.name: read_picture(file) for file in sorted(folder.iterdir())}
