"""Contrast features: light does not matter on them, and masked pixels stay out."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import zoom

import rankfold as rf
from rankfold.align.api import complete
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


def in_double(schedule):
    """The same schedule with nothing in single precision."""
    return replace(
        schedule,
        single=False,
        steps=replace(schedule.steps, single=False),
        rough_steps=replace(schedule.rough_steps, single=False),
    )


class TestPrecision:
    @pytest.mark.parametrize("method", ["meadmm", "rasl"])
    def test_single_precision_finds_the_same_places(self, method):
        batch = rendered_heads(24, occluded=0.3, seed=5)
        words = {"frame": batch.frame, "init": batch.start, "features": "contrast"}
        request = request_of(batch.images, **words, method=method)
        single = complete(Job(request, Serial()))
        double = complete(Job(replace(request, schedule=in_double(request.schedule)), Serial()))
        moved = displacements(single.transforms, double.transforms, batch.frame.corners)
        assert 0 < moved.max() < 1e-3
        np.testing.assert_array_equal(single.verdicts, double.verdicts)
        # Whatever it is computed in, the result is in the precision that was asked for.
        assert single.low_rank.dtype == double.low_rank.dtype == np.float64

    @pytest.mark.parametrize(
        ("method", "schedule", "features", "pixels"),
        [
            ("meadmm", "rough", np.float32, np.float32),
            ("rasl", "certified", np.float32, np.float64),
            ("meadmm", "published", np.float64, np.float64),
            ("rasl", "published", np.float64, np.float64),
        ],
    )
    def test_the_schedule_decides_it(self, method, schedule, features, pixels):
        pictures = np.random.default_rng(0).random((4, 40, 40))
        # Nothing has more digits than the caller asked for.
        expected = {np.float64: (features, pixels), np.float32: (np.float32, np.float32)}
        for dtype, (rough, fine) in expected.items():
            request = request_of(pictures, method=method, schedule=schedule, dtype=dtype)
            job = Job(request, Serial())
            assert job.contrast.dtype == job.contrast_at(2.0).dtype == rough
            assert job.blurred(1.0).dtype == rough
            assert job.pixels.dtype == job.full.dtype == fine

    # 4 grey or 2 colour pictures in 16 x 16 px are 1024 or 1536 values.
    @pytest.mark.parametrize(
        ("shape", "values"), [((4, 40, 40), 1024), ((2, 40, 40, 3), 1536)], ids=["grey", "colour"]
    )
    def test_large_batches_are_sampled_in_single_precision(self, shape, values):
        pictures = np.random.default_rng(0).random(shape)
        for most, dtype in ((values, np.float64), (values - 1, np.float32)):
            settings = rf.AlignSettings().changed({"decomposition.single_above": most})
            words = {"method": "rasl", "frame": (16, 16), "settings": settings}
            job = Job(request_of(pictures, **words), Serial())
            assert job.is_large == (dtype is np.float32)
            assert job.full.dtype == dtype
            # As published, the caller's word is kept.
            job = Job(request_of(pictures, schedule="published", **words), Serial())
            assert job.full.dtype == np.float64


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
