"""New pictures are placed against pictures that were aligned before."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.job import Job
from rankfold.align.placement import Placement
from rankfold.align.steps import displacements
from rankfold.datasets import rendered_heads
from rankfold.families import shift
from rankfold.metrics import alignment_error
from rankfold.scale import Serial
from samples import request_of

BATCH = rendered_heads(30, seed=4)
NEW = slice(24, 30)


@pytest.fixture(scope="module")
def places():
    request = request_of(
        BATCH.images[:24], method="meadmm", frame=BATCH.frame, init=BATCH.truth[:24]
    )
    return Placement.learn(Job(request, Serial()), BATCH.truth[:24])


def test_one_orthonormal_basis_is_learned_from_all(places):
    np.testing.assert_allclose(places.rows @ places.rows.T, np.eye(len(places.rows)), atol=1e-10)
    assert places.rows.shape[1] == 45 * 42
    assert places.scale > 0


def test_new_pictures_find_their_place_and_score_well(places):
    stack = rf.Stack.of(BATCH.images[NEW])
    transforms, scores = places.place(stack, BATCH.start[NEW])
    before = alignment_error(BATCH.start[NEW], BATCH.truth[NEW], BATCH.points).mean
    after = alignment_error(transforms, BATCH.truth[NEW], BATCH.points).mean
    assert after < 0.5 * before
    assert (scores < 0.9).all()


def test_each_is_placed_by_itself(places):
    stack = rf.Stack.of(BATCH.images[NEW])
    alone = rf.Stack.of(BATCH.images[25:26])
    together, _ = places.place(stack, BATCH.start[NEW])
    by_itself, _ = places.place(alone, BATCH.start[25:26])
    # The floor of the features follows the range of values of the batch.
    np.testing.assert_allclose(by_itself[0], together[1], atol=0.05)


def test_a_picture_that_cannot_be_placed_scores_high(places):
    stack = rf.Stack.of(BATCH.images[NEW])
    start = BATCH.truth[NEW] @ shift(np.array([13.0, -11.0]))
    transforms, scores = places.place(stack, start)
    away = displacements(BATCH.truth[NEW], transforms, BATCH.frame.corners)
    assert away.min() > 3
    assert (scores > 0.9).all()
