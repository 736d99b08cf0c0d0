"""Robust Lucas-Kanade of one picture against a basis of others."""

from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.features import contrast_sampler
from rankfold.align.model import fit_model
from rankfold.align.registration import alone, register
from rankfold.align.settings import AlignSettings
from rankfold.align.steps import displacements
from rankfold.datasets import rendered_heads
from rankfold.scale import Serial
from rankfold.warp.linearisation import Motion, warp_normalised

NUMBERS = AlignSettings()
BATCH = rendered_heads(24, occluded=0.3, seed=5)


def motion_at_the_truth():
    return Motion.starting_at(BATCH.truth, rf.FAMILIES["similarity"], BATCH.frame.centre)


def register_from(moved, dtype=np.float64, **numbers):
    """Where picture 4 ends that starts at other parameters (4,), against the others."""
    sampler = contrast_sampler(
        rf.Stack.of(BATCH.clean), BATCH.frame, BATCH.start, dtype, Serial(), NUMBERS.features
    )
    data, norms, valid = warp_normalised(sampler, BATCH.truth)
    rows = np.where(valid, data * norms[:, None] - 1, 0)
    others = fit_model(rows, rows, valid, NUMBERS.basis).others(4, dtype)
    chosen = replace(NUMBERS.registration, **numbers)
    return register(sampler, motion_at_the_truth(), 4, moved, others, chosen)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_picture_is_found_against_the_others(dtype):
    true = motion_at_the_truth().parameters[4]
    found = register_from(true + np.array([0.02, 0.05, 1.2, -0.9]), dtype)
    assert np.abs((found - true)[2:]).max() < 0.15


def test_a_picture_that_is_out_of_view_stays_where_it_is():
    away = motion_at_the_truth().parameters[4] + [0.0, 0.0, 200.0, 0.0]
    np.testing.assert_array_equal(register_from(away), away)


def test_no_step_is_longer_than_the_trust_region():
    motion = motion_at_the_truth()
    start = motion.parameters[4] + [0.0, 0.0, 1.2, -0.9]
    found = register_from(start, anneal=(1.0,), steps=1, trust=0.25)
    transforms = np.stack([motion.matrix(4, one) for one in (start, found)])
    moved = displacements(transforms[:1], transforms[1:], BATCH.frame.corners)[0]
    assert 0.2 < moved <= 0.25


def test_it_ends_where_it_stands_still():
    """Steps that are shorter than ``still`` end a round; the last one is taken all the same."""
    start = motion_at_the_truth().parameters[4] + [0.0, 0.0, 0.3, 0.0]
    once = register_from(start, anneal=(1.0,), steps=1)
    assert np.abs(once - start).max() > 0.01
    ended = register_from(start, anneal=(1.0,), steps=9, still=1e5)
    np.testing.assert_array_equal(ended, once)
    longer = register_from(start, anneal=(1.0,), steps=9, still=0.0)
    assert np.abs(longer - once).max() > 1e-4


def test_the_motion_of_one_picture_is_that_of_all():
    motion = motion_at_the_truth()
    parameters = motion.parameters[3] + 0.01
    one = alone(motion, 3, parameters)
    np.testing.assert_allclose(one.transforms[0], motion.matrix(3, parameters), atol=1e-12)
