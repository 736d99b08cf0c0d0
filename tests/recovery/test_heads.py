"""Alignment of rendered heads whose eyes are known."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.datasets import rendered_heads
from rankfold.families import shift
from rankfold.metrics import alignment_error, mean_scale

SEEDS = range(4)


# How each schedule ends, and how far (px) the mean eye of a batch may be from its place. Rough
# steps end up to a twentieth of a pixel elsewhere, in either direction; on average as near.
SCHEDULES = {"published": (rf.Status.STALLED, 0.2), "certified": (rf.Status.CONVERGED, 0.25)}


def run(seed, schedule, **options):
    batch = rendered_heads(30, seed=seed, **options)
    result = rf.align(
        batch.images,
        method="rasl",
        frame=batch.frame,
        init=batch.start,
        schedule=schedule,
        n_jobs=2,
    )
    assert result.status is SCHEDULES[schedule][0]
    error = alignment_error(result.transforms, batch.truth, batch.points)
    return batch, result, error


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_eyes_are_aligned_to_a_fifth_of_a_pixel_and_a_frame_beyond_the_edge_hardly_hurts(schedule):
    _, most = SCHEDULES[schedule]
    inside, outside = [], []
    for seed in SEEDS:
        batch, result, error = run(seed, schedule)
        assert alignment_error(batch.start, batch.truth, batch.points).mean > 1.3
        assert error.mean < most
        inside.append(error.mean)

        batch, result, error = run(seed, schedule, overhang=0.15)
        assert 0.6 < result.valid.mean() < 0.75
        outside.append(error.mean)
        assert abs(mean_scale(result.transforms, batch.truth, batch.frame.centre) - 1) < 0.002
    assert np.mean(inside) < 0.2
    # Growth by less than half for the batch of seeds, and for each of them where steps are exact.
    assert np.mean(outside) < 1.5 * np.mean(inside)
    if schedule == "published":
        assert (np.array(outside) < 1.5 * np.array(inside)).all()


def test_pictures_that_cannot_find_their_place_are_flagged_and_the_others_are_not():
    for seed in range(3):
        batch = rendered_heads(30, seed=seed)
        start = batch.start.copy()
        lost = [3, 8, 20]
        for k, offset in zip(lost, [(14.0, 0), (0, 14.0), (-11.0, 11.0)], strict=True):
            start[k] = start[k] @ shift(np.array(offset))
        result = rf.align(batch.images, method="rasl", frame=batch.frame, init=start, n_jobs=2)
        error = alignment_error(result.transforms, batch.truth, batch.points).each
        assert set(np.flatnonzero(error > 2)) <= set(lost)
        assert set(np.flatnonzero(result.failed)) <= set(np.flatnonzero(error > 1))
        assert not (result.verdicts[error > 2] == "placed").any()
        assert (result.verdicts[error < 1] == "placed").all()
        # More likely lost than not.
        assert (result.lost[error > 2] > 0.5).all()
        assert np.median(result.lost) < 0.1
        assert result.verdict == "partial"


def test_colour_in_colour_out():
    batch = rendered_heads(12, seed=1)
    tint = np.array([1.0, 0.8, 0.6])
    colour = [(255 * image[:, :, None] * tint).round().astype(np.uint8) for image in batch.images]
    grey = rf.align(batch.images, method="rasl", frame=batch.frame, init=batch.start)
    before = alignment_error(batch.start, batch.truth, batch.points).mean
    for channels in ("luminance", "joint"):
        result = rf.align(
            colour, method="rasl", frame=batch.frame, init=batch.start, channels=channels
        )
        assert (
            result.low_rank.shape == result.sparse.shape == result.aligned.shape == (12, 45, 42, 3)
        )
        seen = result.valid
        np.testing.assert_allclose(
            (result.low_rank + result.sparse)[seen], result.aligned[seen], atol=0.05
        )
        assert 100 < np.nanmax(result.low_rank) < 300  # in the caller's units
        ratio = np.nanmedian(result.low_rank[..., 2] / result.low_rank[..., 0])
        assert ratio == pytest.approx(0.6, abs=0.02)
        assert alignment_error(result.transforms, batch.truth, batch.points).mean < 0.4 * before
        if (
            channels == "luminance"
        ):  # a tint only scales the luminance, so the transforms are those of the grey batch
            assert alignment_error(result.transforms, grey.transforms, batch.points).max < 0.1
