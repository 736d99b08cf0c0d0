"""Contrast features: light does not matter on them, and masked pixels stay out."""

import numpy as np
import pytest
from scipy.ndimage import zoom

import rankfold as rf
from rankfold.align.features import check_features, contrast
from rankfold.align.job import Job
from rankfold.align.settings import FeatureSettings
from rankfold.align.steps import displacements
from rankfold.datasets import rendered_heads
from rankfold.scale import Serial
from samples import request_of

RNG = np.random.default_rng(0)
IMAGE = RNG.random((40, 50))
EVERYWHERE = np.ones(IMAGE.shape, bool)
NUMBERS = FeatureSettings()


def test_single_precision_finds_the_same_places():
    batch = rendered_heads(24, occluded=0.3, seed=5)
    found = {}
    for large in (0, 10**9):
        settings = rf.AlignSettings().changed({"features.single_above": large})
        words = {"frame": batch.frame, "init": batch.start, "n_jobs": 2}
        found[large] = rf.align(batch.images, **words, settings=settings)
        assert found[large].low_rank.dtype == np.float64
    single, double = found.values()
    moved = displacements(single.transforms, double.transforms, batch.frame.corners)
    assert 0 < moved.max() < 1e-3


@pytest.mark.parametrize(("n", "dtype"), [(16, np.float64), (17, np.float32)])
def test_single_precision_is_for_large_batches(n, dtype):
    # 4 parameters and 64 x 64 pixels are 2^14 values a picture.
    pictures = np.random.default_rng(0).random((n, 5, 5))
    request = request_of(pictures, family="similarity", frame=(64, 64))
    assert Job(request, Serial()).rough is dtype


def test_brightness_and_contrast_do_not_matter():
    one = contrast(IMAGE, EVERYWHERE, 1.5, 0.0, NUMBERS)
    other = contrast(0.2 * IMAGE + 0.5, EVERYWHERE, 1.5, 0.0, NUMBERS)
    np.testing.assert_allclose(other, one, atol=1e-9)


def test_a_flat_picture_has_flat_features():
    flat = np.full((30, 30), 0.4)
    features = contrast(flat, np.ones((30, 30), bool), 1.0, 0.002, NUMBERS)
    np.testing.assert_allclose(features, 1.0, atol=1e-9)


def test_what_is_masked_does_not_reach_the_rest():
    mask = np.random.default_rng(1).random(IMAGE.shape) > 0.1
    wild = np.where(mask, IMAGE, 1e3)
    np.testing.assert_array_equal(
        contrast(IMAGE, mask, 1.0, 0.002, NUMBERS), contrast(wild, mask, 1.0, 0.002, NUMBERS)
    )


def test_their_length_follows_the_zoom():
    smooth = zoom(IMAGE, 2, order=3)
    one = contrast(IMAGE, EVERYWHERE, 1.0, 0.002, NUMBERS)
    two = contrast(smooth, np.ones(smooth.shape, bool), 2.0, 0.002, NUMBERS)
    inner = np.s_[12:-12, 12:-12]
    enlarged = zoom(one, 2, order=1)
    assert np.corrcoef(enlarged[inner].ravel(), two[inner].ravel())[0, 1] > 0.9


def test_the_settings_reach_them():
    plain = contrast(IMAGE, EVERYWHERE, 1.0, 0.002, NUMBERS)
    wide = contrast(IMAGE, EVERYWHERE, 1.0, 0.002, FeatureSettings(surround=4.0))
    assert np.abs(plain - wide).max() > 0.1


def test_an_unknown_name_is_refused():
    assert check_features("contrast") == "contrast"
    assert check_features(None) is None
    with pytest.raises(rf.InputError, match="unknown features 'edges'; use 'contrast', or None"):
        check_features("edges")
