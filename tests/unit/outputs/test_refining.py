"""Places that are off by a pixel or two of the originals are refined where their detail says so."""

from dataclasses import replace

import numpy as np
import pytest

from placed import true_run
from rankfold.datasets import handheld
from rankfold.families import inverse, map_points, shift
from rankfold.outputs import OutputSettings
from rankfold.outputs.grid import grid_for
from rankfold.outputs.originals import originals_of
from rankfold.outputs.refining import refined
from rankfold.scale import Serial
from rankfold.stack import Frame

# Pixels of the originals for one of the frame of the run.
COARSE = 4


@pytest.fixture(scope="module")
def batch():
    return handheld(6, (300, 400), seed=2)


@pytest.fixture(scope="module")
def coarse_run(batch):
    """A run on a frame that is four times coarser, whose transforms are off by up to 1.5 px."""
    run = true_run(batch)
    rng = np.random.default_rng(0)
    off = np.stack([shift(rng.uniform(-1.5, 1.5, 2)) for _ in batch.images])
    to_full = np.diag([COARSE, COARSE, 1.0])
    part = np.s_[:, ::COARSE, ::COARSE]
    return replace(
        run,
        transforms=off @ batch.transforms @ to_full,
        aligned=run.aligned[part],
        low_rank=run.low_rank[part],
        frame=Frame(*run.low_rank[part].shape[1:3]),
    )


def spread(transforms, batch):
    """How far apart the pictures lie (n,), px of the originals: their common place is free."""
    corners = Frame(*batch.scene.shape[:2]).corners
    at_full = transforms @ np.diag([1 / COARSE, 1 / COARSE, 1.0])
    seen = map_points(inverse(batch.transforms) @ at_full, np.tile(corners, (len(at_full), 1, 1)))
    return np.linalg.norm(seen - np.median(seen, axis=0), axis=2).max(axis=1)


def refine(run, images, **changes):
    settings = OutputSettings().changed(changes)
    originals = originals_of(run, images)
    grid = grid_for(originals.transforms, originals.shapes, run.frame, "frame", None)
    return originals, refined(run, originals, grid, settings, Serial(), lambda: None)


def test_pictures_come_together(coarse_run, batch):
    before, after = refine(coarse_run, batch.images)
    assert np.median(spread(before.transforms, batch)) > 0.6
    assert spread(after.transforms, batch).max() < 0.3


def test_without_detail_nothing_moves(coarse_run, batch):
    flat = [np.full_like(image, 120) for image in batch.images]
    before, after = refine(coarse_run, flat)
    np.testing.assert_array_equal(before.transforms, after.transforms)


def test_a_picture_of_something_else_stays_where_it_was(coarse_run, batch):
    images = list(batch.images)
    noise = np.random.default_rng(1).integers(0, 255, images[3].shape)
    # Not the reference, which is the picture with the smallest errors.
    images[3] = noise.astype(np.uint8)
    run = replace(coarse_run, low_rank=coarse_run.low_rank.copy())
    run.low_rank[3] += 100
    before, after = refine(run, images)
    np.testing.assert_array_equal(before.transforms[3], after.transforms[3])
    others = [0, 1, 2, 4, 5]
    corrected = after.transforms[others]
    some = replace(batch, transforms=batch.transforms[others])
    assert spread(corrected, some).max() < 0.3


def test_a_frame_as_fine_as_the_pictures_is_left_alone(coarse_run, batch):
    before, after = refine(coarse_run, batch.images, **{"refine.least_scale": 5.0})
    assert after is before
