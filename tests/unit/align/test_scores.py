"""The cost of a picture where it lies over its cost a little away, against a basis of others."""

import numpy as np
import pytest

from rankfold import AlignSettings
from rankfold.align.agreement import feature_rows
from rankfold.align.job import Job
from rankfold.align.model import fit_model
from rankfold.align.scores import scores_against
from rankfold.align.settings import ScoreSettings
from rankfold.datasets import rendered_heads
from rankfold.families import shift
from rankfold.scale import Serial
from rankfold.warp.linearisation import warp_normalised
from samples import request_of

BATCH = rendered_heads(24, rotation=0, translation=0, seed=2)
LOST = 5


def scores_at(transforms, on="contrast", numbers=None):
    """Scores (n,) of the pictures where they are, each against a basis of the others."""
    settings = AlignSettings()
    job = Job(request_of(BATCH.images, frame=BATCH.frame, init=transforms), Serial())
    if on == "contrast":
        rows, low_rank, valid = feature_rows(job, transforms)
        sampler = job.contrast
        offset = 1.0
    else:
        rows, _, valid = warp_normalised(job.pixels, transforms, Serial())
        low_rank = rows
        sampler = job.pixels
        offset = None
    model = fit_model(rows, low_rank, valid, settings.basis)
    found = []
    for i in range(len(rows)):
        one = np.array([i])
        others = model.others(i, np.float32)
        chosen = numbers or settings.scores
        places = transforms[one]
        found.append(
            scores_against(others, sampler, one, places, rows[one], valid[one], chosen, offset)
        )
    return np.concatenate(found)


@pytest.mark.parametrize("on", ["pixels", "contrast"])
def test_pictures_in_their_place_sit_tight_and_a_lost_one_does_not(on):
    at_home = scores_at(BATCH.truth, on)
    assert at_home.shape == (24,)
    assert at_home.max() < 0.75
    moved = BATCH.truth.copy()
    moved[LOST] = moved[LOST] @ shift(np.array([12.0, 8.0]))
    away = scores_at(moved, on)
    assert np.argmax(away) == LOST
    assert away[LOST] > 0.8
    assert np.delete(away, LOST).max() < 0.75


def test_how_far_away_a_picture_is_tried_is_a_matter_of_the_settings():
    close = scores_at(BATCH.truth, numbers=ScoreSettings(shift=0.5))
    # Half a pixel away a picture fits nearly as well.
    assert np.median(close) > np.median(scores_at(BATCH.truth))
