"""The protocols on faces: the truth is true, and occluders hide what they should."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.metrics import alignment_error
from rankfold_lab.evaluate.faces import OCCLUDERS, PROTOCOLS, make_batch
from real_data import DATA, needs


@needs("extended_yale_b")
def test_lights_are_selected_and_the_truth_is_true():
    for name, count in (("P1", 64), ("P2", 50), ("P4", 33)):
        batch = make_batch(DATA, 1, PROTOCOLS[name], 0)
        assert len(batch.images) == count
    start = alignment_error(batch.start, batch.truth, batch.points).mean
    assert 1.3 < start < 2.0
    one, two = (make_batch(DATA, 1, PROTOCOLS["P4"], 0).images for _ in range(2))
    np.testing.assert_array_equal(one, two)
    true = rf.align(batch.clean, method="rpca", frame=batch.frame, init=batch.truth)
    false = rf.align(batch.clean, method="rpca", frame=batch.frame, init=batch.start)
    assert true.objective < false.objective


def test_a_folder_without_faces_is_named(tmp_path):
    with pytest.raises(rf.FormatError, match=r"has no folders yaleB01.*ask the University"):
        make_batch(tmp_path, 3, PROTOCOLS["P1"], 0)


@pytest.mark.parametrize("name", list(OCCLUDERS))
def test_occluders_hide_what_they_should(name):
    share = {"rectangle": 0.12, "large": 0.4, "branches": 0.14, "salt": 0.1, "band": 0.22}[name]
    masks = [OCCLUDERS[name]((96, 84), np.random.default_rng(k))[0].mean() for k in range(20)]
    assert np.mean(masks) == pytest.approx(share, rel=0.3)
