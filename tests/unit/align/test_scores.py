"""One number an image that says whether it found its place."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.datasets import rendered_heads
from rankfold.families import shift

BATCH = rendered_heads(24, rotation=0, translation=0, seed=2)


def scores_at(transforms, **options):
    """Scores of the pictures where they are: nothing is moved."""
    words = {"method": "rpca", "frame": BATCH.frame, "init": transforms}
    return rf.align(BATCH.images, **words, **options)


@pytest.mark.parametrize("features", [None, "contrast"])
def test_pictures_in_their_place_sit_tight_and_a_lost_one_does_not(features):
    at_home = scores_at(BATCH.truth, features=features)
    assert at_home.scores.shape == (24,)
    assert at_home.scores.max() < 0.75
    assert not at_home.failed.any()
    moved = BATCH.truth.copy()
    moved[5] = moved[5] @ shift(np.array([12.0, 8.0]))
    away = scores_at(moved, features=features)
    assert np.argmax(away.scores) == 5
    assert away.failed[5]
    assert away.failed.sum() == 1


def test_who_failed_is_a_matter_of_the_settings():
    strict = rf.AlignSettings().changed({"scores.failed": 0.01})
    result = scores_at(BATCH.truth, settings=strict)
    assert result.failed.all()
    np.testing.assert_array_equal(result.scores, scores_at(BATCH.truth).scores)


def test_how_far_away_a_picture_is_tried_is_a_matter_of_the_settings_too():
    near = rf.AlignSettings().changed({"scores.shift": 0.5})
    close = scores_at(BATCH.truth, settings=near)
    # Half a pixel away a picture fits nearly as well.
    assert np.median(close.scores) > np.median(scores_at(BATCH.truth).scores)


def test_the_threads_do_not_change_them():
    one = scores_at(BATCH.truth, features="contrast")
    two = scores_at(BATCH.truth, features="contrast", n_jobs=3)
    np.testing.assert_array_equal(one.scores, two.scores)
