"""Robust Lucas-Kanade of one picture against a basis of others."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.features import contrast_sampler
from rankfold.align.model import fit_model
from rankfold.align.registration import alone, register
from rankfold.align.settings import AlignSettings
from rankfold.datasets import rendered_heads
from rankfold.scale import Serial
from rankfold.warp.linearisation import Motion, warp_normalised

NUMBERS = AlignSettings()
BATCH = rendered_heads(24, occluded=0.3, seed=5)


def motion_at_the_truth():
    return Motion.starting_at(BATCH.truth, rf.FAMILIES["similarity"], BATCH.frame.centre)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_picture_is_found_against_the_others(dtype):
    sampler = contrast_sampler(
        rf.Stack.of(BATCH.clean), BATCH.frame, BATCH.start, dtype, Serial(), NUMBERS.features
    )
    data, norms, valid = warp_normalised(sampler, BATCH.truth)
    rows = np.where(valid, data * norms[:, None] - 1, 0)
    model = fit_model(rows, rows, valid, NUMBERS.basis)
    motion = motion_at_the_truth()
    moved = motion.parameters[4] + [0.02, 0.05, 1.2, -0.9]
    found = register(sampler, motion, 4, moved, model.others(4, dtype), NUMBERS.registration)
    assert np.abs((found - motion.parameters[4])[2:]).max() < 0.15


def test_the_motion_of_one_picture_is_that_of_all():
    motion = motion_at_the_truth()
    parameters = motion.parameters[3] + 0.01
    one = alone(motion, 3, parameters)
    np.testing.assert_allclose(one.transforms[0], motion.matrix(3, parameters), atol=1e-12)
