"""Homographies and branches: a clean plate of a facade; low-rank textures under every family."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.datasets import facade, warped_low_rank
from rankfold.metrics import alignment_error, recovery_error


def test_a_facade_behind_branches_is_aligned_and_cleaned():
    batch = facade(12, tilt=1.5, seed=0)
    result = rf.align(
        batch.images,
        method="rasl",
        family="homography",
        frame=batch.frame,
        init=batch.start,
        n_jobs=2,
    )
    before = alignment_error(batch.start, batch.truth, batch.points)
    after = alignment_error(result.transforms, batch.truth, batch.points)
    assert before.mean > 1.3
    assert after.mean < 0.15
    hidden = result.apply([h.astype(float) for h in batch.hidden]) > 0.5
    clean = result.apply(batch.clean)
    assert hidden.mean() > 0.02
    dirty = recovery_error(result.aligned, clean, hidden & result.valid)
    assert recovery_error(result.low_rank, clean, hidden & result.valid) < 0.25 * dirty


@pytest.mark.parametrize("family", list(rf.FAMILIES))
def test_every_family_finds_its_own_transforms(family):
    batch = warped_low_rank(20, family=family, misalignment=1.0, corrupted=0.02, seed=2)
    result = rf.align(
        batch.images, method="rasl", family=family, frame=batch.frame, init=batch.start, n_jobs=2
    )
    before = alignment_error(batch.start, batch.truth, batch.points)
    after = alignment_error(result.transforms, batch.truth, batch.points)
    assert before.mean > 0.6
    assert after.mean < 0.25 * before.mean
    # and what is left is the model's: the objective is lower there than at the true transforms
    at_truth = rf.align(batch.images, method="rpca", frame=batch.frame, init=batch.truth)
    assert result.objective < at_truth.objective
    assert all(
        rf.FAMILIES[family].contains(T, 1e-6)
        for T in np.linalg.inv(batch.start) @ result.transforms
    )
